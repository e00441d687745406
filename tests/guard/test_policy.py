from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentloop.errors import InvalidInput
from agentloop.guard import AllowAll, Decision, DefaultPolicy, MultiPolicy, Policy, ToolCall, URLAllowlistPolicy
from agentloop.guard.policy import SIDE_EFFECTS


async def allowed(policy: Policy, tool: str, **args: str) -> bool:
    decision = await policy.check(ToolCall(tool=tool, args=args))
    assert decision.allowed or decision.reason
    return decision.allowed


@pytest.mark.parametrize("tool", ["sendEmail", "secret", "writeFile", "editFile", "exec"])
async def test_side_effects_are_denied_with_a_reason(tool: str) -> None:
    decision = await DefaultPolicy().check(ToolCall(tool=tool))

    assert not decision.allowed
    assert tool in decision.reason
    assert "denied by the default sandbox policy" in decision.reason


def test_the_list_of_side_effects_is_the_documented_one() -> None:
    assert {"sendEmail", "secret", "writeFile", "editFile", "exec"} == SIDE_EFFECTS


@pytest.mark.parametrize("tool", ["readFile", "listDir", "glob", "grep", "log", "ai", "browser", "fetch", "tomorrow"])
async def test_what_changes_nothing_is_allowed(tool: str) -> None:
    assert await allowed(DefaultPolicy(), tool)


async def test_allow_tools_grants_the_named_tools_alone() -> None:
    policy = DefaultPolicy(allow_tools=frozenset({"writeFile"}))

    assert [tool for tool in sorted(SIDE_EFFECTS) if await allowed(policy, tool)] == ["writeFile"]


async def test_allow_commands_grants_those_commands_and_nothing_else() -> None:
    policy = DefaultPolicy(allow_commands=frozenset({"go", "git"}))
    tried = ["go", "git", "rm", "curl", "sh", "", "gofmt", "gopls", "ago", "go2", "GO", "./git"]

    assert [command for command in tried if await allowed(policy, "exec", command=command)] == ["go", "git"]
    assert not await allowed(policy, "exec")
    assert not await allowed(policy, "writeFile", command="git")


async def test_exec_among_the_tools_allows_any_command() -> None:
    assert await allowed(DefaultPolicy(allow_tools=frozenset({"exec"})), "exec", command="rm")


async def test_addresses_are_left_to_the_boundary() -> None:
    assert await allowed(DefaultPolicy(), "fetch", url="http://169.254.169.254/")


async def test_allow_all_allows_all() -> None:
    for tool in SIDE_EFFECTS:
        assert await allowed(AllowAll(), tool)


# Policies with lists of URLs ------------------------------------------------------------------------

API = URLAllowlistPolicy(["https://api.test/v1", "*.shop.test", "http://127.0.0.1:8080"])


@pytest.mark.parametrize(
    "url",
    [
        "https://api.test/v1",
        "https://API.test/v1/items?x=1",
        "https://api.test./v1/",
        "https://user:pw@api.test/v1",
        "http://www.shop.test/",
        "https://shop.test",
        "http://0x7f.1:8080/",
    ],
)
async def test_what_is_listed_is_allowed(url: str) -> None:
    assert await allowed(API, "fetch", url=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.test/",
        "https://api.test/v1x",
        "https://api.test/v1/../v2",
        "https://api.test/v1/..%2fv2",
        "http://api.test/v1",
        "https://api.test:8443/v1",
        "https://api.test.evil.test/v1",
        "https://api.test@evil.test/v1",
        "https://evil.test/#@api.test/v1",
        "https://evilshop.test/",
        "http://127.0.0.1/",
        "not a url",
        "://missing-scheme",
        "http://",
        "file:///etc/passwd",
    ],
)
async def test_what_is_not_listed_is_denied_with_a_reason(url: str) -> None:
    for tool in ("fetch", "http", "_http", "browser"):
        assert not await allowed(API, tool, url=url)


async def test_the_reason_says_that_there_is_a_list() -> None:
    decision = await API.check(ToolCall(tool="fetch", args={"url": "https://other.test/"}))

    assert decision.reason == "https://other.test is not in the allowlist of the policy"


async def test_a_call_without_a_url_asks_for_the_list() -> None:
    decision = await API.check(ToolCall(tool="fetch", args={"url": ""}))

    assert decision.allowed
    assert [str(pattern) for pattern in decision.patterns] == [
        "https://api.test/v1",
        "*.shop.test",
        "http://127.0.0.1:8080",
    ]


async def test_other_tools_are_not_its_business() -> None:
    assert await allowed(API, "exec", url="https://other.test")


async def test_an_empty_list_allows_nothing() -> None:
    assert not await allowed(URLAllowlistPolicy([]), "fetch", url="https://api.test/")


@pytest.mark.parametrize("wrong", ["https://api.test", ["https://*.com"]])
async def test_what_is_no_list_of_patterns_is_refused(wrong: Sequence[str]) -> None:
    with pytest.raises(InvalidInput):
        URLAllowlistPolicy(wrong)


async def test_of_several_policies_the_first_denial_counts() -> None:
    both = MultiPolicy([DefaultPolicy(), API, URLAllowlistPolicy(["*"])])

    assert await allowed(both, "fetch", url="https://shop.test/")
    assert not await allowed(both, "exec", command="rm")
    decision = await both.check(ToolCall(tool="fetch", args={"url": "https://other.test/"}))
    assert "allowlist" in decision.reason
    assert [str(p) for p in (await both.check(ToolCall(tool="fetch", args={"url": ""}))).patterns] == ["*"]


async def test_none_of_several_may_fail() -> None:
    class Broken:
        async def check(self, call: ToolCall) -> Decision:
            raise LookupError("no table")

    with pytest.raises(LookupError):
        await MultiPolicy([AllowAll(), Broken()]).check(ToolCall(tool="fetch"))


async def test_no_policies_allow_all() -> None:
    assert await allowed(MultiPolicy([]), "exec")
