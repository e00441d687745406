from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import EndRun, PolicyDenied, Refused
from agentloop.guard import Boundary, Decision, Grant, ToolCall, parse_url
from agentloop.packs.base import Pack
from agentloop.packs.permission import Permission, WebPermission
from agentloop.records import Scope, Status
from tests.packs.web import Names, Person, outcome, value

GRANT = Grant(kind="host", subject="a.test:443")
PUBLIC = "93.184.215.14"


class Denying:
    """Denies the tools named, and remembers every call."""

    def __init__(self, *tools: str, reason: str = "not today") -> None:
        self.tools = tools
        self.reason = reason
        self.calls: list[ToolCall] = []

    async def check(self, call: ToolCall) -> Decision:
        self.calls.append(call)
        denied = call.tool in self.tools
        return Decision(allowed=not denied, reason=self.reason if denied else "")


# The policy ------------------------------------------------------------------------------------------


async def test_without_a_policy_nothing_is_denied() -> None:
    assert (await Permission().decision("anything")).allowed


async def test_a_call_carries_whose_it_is() -> None:
    policy, scope = Denying(), Scope()
    context = BuildContext(policy=policy, scope=scope, session_id="s", run_id="r")
    await Permission(context).need("ai", prompt="p")

    assert policy.calls == [ToolCall(tool="ai", args={"prompt": "p"}, scope=scope, session_id="s", run_id="r")]


@pytest.mark.parametrize(("reason", "says"), [("not today", "ai denied: not today"), ("", "the policy does not allow")])
async def test_a_denial_says_why(reason: str, says: str) -> None:
    with pytest.raises(PolicyDenied, match=says):
        await Permission(BuildContext(policy=Denying("ai", reason=reason))).need("ai")


# Modules ---------------------------------------------------------------------------------------------


async def with_modules(policy: Denying, **modules: str) -> Pack:
    permitted = await Permission(BuildContext(policy=policy)).modules(modules)
    return Pack(name="modules", description="", kind="module", modules=permitted)


async def test_a_denied_module_cannot_be_required_and_its_source_is_not_there() -> None:
    policy = Denying("secret", reason='say "please"\u2028now')
    pack = await with_modules(policy, secret="exports.key = 'k'", open="exports.n = 1")
    done = await outcome("function run() { require('secret') }", pack)

    assert done.error is not None
    assert done.error.message == 'require(secret): denied: say "please"\u2028now'
    assert await value("require('open').n", pack) == 1
    assert "key" not in pack.modules["secret"]


async def test_a_module_is_evaluated_once_and_an_unknown_one_is_named() -> None:
    source = "globalThis.n = (globalThis.n || 0) + 1; exports.n = () => globalThis.n"
    pack = await with_modules(Denying(), counted=source)

    assert await value("[require('counted').n(), require('counted').n()]", pack) == [1, 1]
    done = await outcome("function run() { require('other') }", pack)
    assert done.error is not None
    assert "not found" in done.error.message


# A person --------------------------------------------------------------------------------------------


async def test_with_nobody_there_the_answer_is_no() -> None:
    assert await Permission().granted("May I?", GRANT) is False


@pytest.mark.parametrize("answer", ["yes", 1, None])
async def test_only_true_is_a_yes(answer: Any) -> None:
    async def ask(message: str, **fields: Any) -> Any:
        return answer

    assert await Permission(BuildContext(ask=ask)).granted("May I?", GRANT) is False


async def test_one_question_is_open_at_a_time() -> None:
    open_now = most = 0

    async def ask(message: str, **fields: Any) -> bool:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        return True

    permission = Permission(BuildContext(ask=ask))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(permission.granted("May I?", GRANT))

    assert most == 1


async def test_a_failing_question_is_told_and_is_no() -> None:
    told: list[str] = []

    async def ask(message: str, **fields: Any) -> bool:
        raise LookupError("nobody home")

    async def emit(type: str, **fields: Any) -> None:
        told.append(f"{type}: {fields['content']}")

    assert await Permission(BuildContext(ask=ask, emit=emit)).granted("May I?", GRANT) is False
    assert told == ["warning: a question could not be asked: nobody home"]


async def test_what_ends_the_run_passes() -> None:
    async def ask(message: str, **fields: Any) -> bool:
        raise EndRun(Status.CANCELLED, "api")

    with pytest.raises(EndRun):
        await Permission(BuildContext(ask=ask)).granted("May I?", GRANT)


# The web ---------------------------------------------------------------------------------------------


async def test_what_was_granted_opens_that_host_and_port_and_nothing_beside_it() -> None:
    person = Person(True)
    names = Names(a_test=[PUBLIC], www_a_test=[PUBLIC])
    web = WebPermission(Boundary(allow=["only.test"], resolver=names), await person.permission())

    assert (await web.admit(parse_url("https://a.test/x"))).addresses == (PUBLIC,)
    assert (await web.admit(parse_url("https://a.test/y"))).rule == "allow"
    for url in ("https://a.test:8443/", "http://a.test/", "https://www.a.test/"):
        with pytest.raises(Refused, match="denied"):
            await web.admit(parse_url(url))

    assert [grant.subject for grant in await person.grants()] == ["a.test:443"]
    assert len(person.messages) == 4


async def test_a_revoked_grant_is_asked_for_again() -> None:
    person = Person(True, False)
    boundary = Boundary(allow=["only.test"], resolver=Names(a_test=[PUBLIC]))
    web = WebPermission(boundary, await person.permission())
    await web.admit(parse_url("https://a.test/"))
    await person.store.revoke_grants("s")

    with pytest.raises(Refused, match="denied"):
        await web.admit(parse_url("https://a.test/"))
    assert len(person.messages) == 2


async def test_a_grant_of_one_session_is_none_of_another() -> None:
    first, second = Person(True), Person(False)
    boundary = Boundary(allow=["only.test"], resolver=Names(a_test=[PUBLIC]))
    await WebPermission(boundary, await first.permission()).admit(parse_url("https://a.test/"))

    with pytest.raises(Refused, match="denied"):
        await WebPermission(boundary, await second.permission()).admit(parse_url("https://a.test/"))


async def test_a_yes_overrules_the_policy_but_opens_nothing_that_is_never_reached() -> None:
    person = Person(True, True)
    boundary = Boundary(resolver=Names(a_test=[PUBLIC], cloud_test=["169.254.169.254"]))
    web = WebPermission(boundary, await person.permission(Denying("fetch")))

    assert (await web.admit(parse_url("https://a.test/"))).host == "a.test"
    with pytest.raises(Refused, match="rule metadata"):
        await web.admit(parse_url("https://cloud.test/"))
    assert len(person.messages) == 2


async def test_that_a_name_was_turned_to_another_place_is_not_asked_about() -> None:
    person = Person(True, True)
    names = Names(moves_test=["127.0.0.1", "127.0.0.2"])
    web = WebPermission(Boundary(allow=["http://moves.test"], resolver=names), await person.permission())
    await web.admit(parse_url("http://moves.test/"))

    with pytest.raises(Refused, match="rule rebinding"):
        await web.admit(parse_url("http://moves.test/"))
    assert not person.messages
