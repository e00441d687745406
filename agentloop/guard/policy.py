"""What a script may do: one question per call, answered before anything happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agentloop.records import Json, Scope

__all__ = ["SIDE_EFFECTS", "AllowAll", "Decision", "DefaultPolicy", "Policy", "ToolCall"]

SIDE_EFFECTS = frozenset({"sendEmail", "secret", "writeFile", "editFile", "exec"})
"""Tools that change something outside the run; `DefaultPolicy` denies them unless they are named."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A call about to be made. `args` carries what the decision needs, never a secret's value."""

    tool: str
    args: Mapping[str, Json] = field(default_factory=dict)
    scope: Scope = Scope()
    session_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`reason` is shown to the model and to the person asked; empty only when allowed."""

    allowed: bool
    reason: str = ""


class Policy(Protocol):
    """Decides calls. An exception counts as a denial that names it."""

    async def check(self, call: ToolCall) -> Decision: ...


class AllowAll:
    """Allows everything: the explicit way to fail open."""

    async def check(self, call: ToolCall) -> Decision:
        return Decision(allowed=True)


@dataclass(frozen=True, kw_only=True)
class DefaultPolicy:
    """Denies side effects except the `allow_tools` named, and commands except `allow_commands`.

    Addresses are not its business: whatever leaves the process is judged by the network boundary.
    """

    allow_tools: frozenset[str] = frozenset()
    allow_commands: frozenset[str] = frozenset()

    async def check(self, call: ToolCall) -> Decision:
        if call.tool not in SIDE_EFFECTS or call.tool in self.allow_tools:
            return Decision(allowed=True)
        if call.tool == "exec" and call.args.get("command") in self.allow_commands:
            return Decision(allowed=True)
        return Decision(allowed=False, reason=f"{call.tool} is denied by the default sandbox policy")
