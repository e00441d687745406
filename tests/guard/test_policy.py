from __future__ import annotations

import pytest

from agentloop.guard import AllowAll, DefaultPolicy, Policy, ToolCall
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
