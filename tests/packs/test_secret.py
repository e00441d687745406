"""`secret(name)`: who may have a placeholder, and what a script can make of it."""

from __future__ import annotations

import asyncio

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import EndRun, WorldError
from agentloop.guard.policy import Decision as Verdict
from agentloop.guard.policy import DefaultPolicy, MultiPolicy, Policy, ToolCall
from agentloop.guard.secrets import Secret, Secrets
from agentloop.packs.permission import Permission
from agentloop.packs.secret import SecretBackend, secret_capability, secret_pack
from agentloop.records import Status
from tests.packs.web import outcome, value

VALUE = "correct-horse 7!"
HOST = "https://shop.example"


def made(name: str = "LOGIN", text: str = VALUE) -> Secret:
    return Secret(name=name, value=text, origins=[HOST])


def leave(policy: Policy | None) -> Permission:
    return Permission(BuildContext(policy=policy))


class Denying:
    """A policy that denies all."""

    async def check(self, call: ToolCall) -> Verdict:
        return Verdict(allowed=False, reason="not here")


class Vault:
    """A host's own secrets; counts what it was asked."""

    def __init__(self, *secrets: Secret, error: BaseException | None = None) -> None:
        self.asked: list[str] = []
        self._secrets = {secret.name: secret for secret in secrets}
        self._error = error

    async def __call__(self, name: str) -> Secret | None:
        self.asked.append(name)
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return self._secrets.get(name)


async def thrown(
    script: str, secrets: Secrets, policy: Policy | None = None, backend: SecretBackend | None = None
) -> str:
    pack = secret_pack(secrets, leave(policy), backend=backend)
    told = await value(
        f"(() => {{ try {{ {script}; return 'nothing' }} catch (e) {{ return e.name + ': ' + e.message }} }})()", pack
    )
    return str(told)


async def test_what_the_operator_bound_is_a_placeholder_by_each_name() -> None:
    secrets = Secrets([made()])
    pack = secret_pack(secrets, leave(DefaultPolicy()))
    calls = '[secret("LOGIN"), require("secret").get("LOGIN"), require("secret").secret("LOGIN")]'
    assert await value(calls, pack) == [secrets.get("LOGIN").placeholder] * 3


async def test_nothing_that_a_script_does_with_it_tells_the_value() -> None:
    pack = secret_pack(Secrets([made()]), leave(DefaultPolicy()))
    script = """
    function run() {
      const s = secret("LOGIN");
      log(s, s + "", [...s].reverse().join(""), s.slice(3), btoa(s), JSON.stringify(s), typeof s, s.length);
      log(help("secret"), JSON.stringify(skillList()), String(secret), Object.keys(globalThis).join());
      return { s, parts: s.split("") };
    }"""
    done = await outcome(script, pack)
    assert done.error is None
    assert "horse" not in repr(done) and "esroh" not in repr(done)


@pytest.mark.parametrize("call", ["secret()", 'secret("")', 'secret(" ")', "secret(null)", "secret(7)", "secret({})"])
async def test_a_name_is_required(call: str) -> None:
    assert "a name is required" in await thrown(call, Secrets([made()]))


async def test_an_unknown_name_lists_those_there_are_and_can_be_caught() -> None:
    told = await thrown('secret("PIN")', Secrets([made(), made("OTHER")]))
    assert told == "InvalidInput: secret(\"PIN\"): no secret is called 'PIN'; there are: LOGIN, OTHER"
    assert "none is bound" in await thrown('secret("PIN")', Secrets())


async def test_the_default_policy_denies_what_the_operator_did_not_bind() -> None:
    vault = Vault(made("HOSTS"))
    told = await thrown('secret("HOSTS")', Secrets([made()]), DefaultPolicy(), vault)
    assert told == 'PolicyDenied: secret("HOSTS"): secret denied: secret is denied by the default sandbox policy'
    assert vault.asked == []


async def test_a_policy_of_ones_own_may_deny_what_was_bound_too() -> None:
    secrets = Secrets([made()])
    assert "not here" in await thrown('secret("LOGIN")', secrets, Denying())
    assert "not here" in await thrown('secret("LOGIN")', secrets, MultiPolicy([DefaultPolicy(), Denying()]))
    assert "not here" in await thrown('require("secret").get("LOGIN")', secrets, Denying())


async def test_what_a_backend_finds_is_bound_from_then_on_and_taken_out_of_texts() -> None:
    vault, secrets = Vault(made("HOSTS")), Secrets([made(text="another-value")])
    fed = secrets.extend(secrets.redactor)
    pack = secret_pack(secrets, leave(DefaultPolicy(allow_tools=frozenset({"secret"}))), backend=vault)
    got = await value('secret.all(["HOSTS", "HOSTS", "LOGIN"])', pack)
    assert got == [secrets.get("HOSTS").placeholder] * 2 + [secrets.get("LOGIN").placeholder]
    assert vault.asked == ["HOSTS"]
    assert fed.text(VALUE) == got[0]


@pytest.mark.parametrize(
    ("vault", "told"),
    [
        (Vault(), "no secret is called 'X'"),
        (Vault(error=WorldError("the safe is shut")), 'WorldError: secret("X"): the safe is shut'),
        (Vault(error=RuntimeError("bug")), 'WorldError: secret("X"): RuntimeError: bug'),
    ],
)
async def test_a_lookup_that_fails_is_an_error_to_catch(vault: Vault, told: str) -> None:
    assert told in await thrown('secret("X")', Secrets(), backend=vault)


async def test_a_backend_must_give_the_secret_of_that_name() -> None:
    async def wrong(name: str) -> Secret:
        return made("OTHER")

    assert "something else" in await thrown('secret("X")', Secrets(), backend=wrong)


async def test_a_backend_may_end_the_run() -> None:
    pack = secret_pack(Secrets(), backend=Vault(error=EndRun(Status.REFUSED, "locked")))
    with pytest.raises(EndRun, match="locked"):
        await outcome('function run() { return secret("X") }', pack)


async def test_the_declarations_name_the_secrets_and_where_they_may_go() -> None:
    [pack] = await secret_capability().build(BuildContext(secrets=Secrets([made(), made("OTHER")])))
    assert '// secret("LOGIN") is for https://shop.example\n// secret("OTHER") is for' in pack.declarations
    assert set(pack.help) == set(pack.primitives) == {"secret"}
    assert VALUE not in repr(pack)
