"""What a script may do: one question per call, answered before anything happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentloop.errors import InvalidInput, RequestRefused, refuse_text
from agentloop.guard.network.pattern import Pattern
from agentloop.guard.network.url import parse_url
from agentloop.records import Json, Scope

__all__ = [
    "SIDE_EFFECTS",
    "URL_TOOLS",
    "AllowAll",
    "Decision",
    "DefaultPolicy",
    "MultiPolicy",
    "Policy",
    "ToolCall",
    "URLAllowlistPolicy",
]

SIDE_EFFECTS = frozenset({"sendEmail", "secret", "writeFile", "editFile", "exec"})
"""Tools that change something outside the run; `DefaultPolicy` denies them unless they are named."""

URL_TOOLS = frozenset({"fetch", "http", "_http", "browser"})
"""Tools whose `url` says where they go. One with `url` "" asks what is allowed and goes nowhere."""


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
    """`reason` is shown to the model and to the person asked; empty only when allowed.

    `patterns` are what a policy with a list of URLs allows; () when it has none.
    """

    allowed: bool
    reason: str = ""
    patterns: tuple[Pattern, ...] = ()


class Policy(Protocol):
    """Decides calls. An exception counts as a denial that names it."""

    async def check(self, call: ToolCall) -> Decision: ...


class AllowAll:
    """Allows everything: the explicit way to fail open."""

    async def check(self, call: ToolCall) -> Decision:
        return Decision(allowed=True)


@dataclass(frozen=True, kw_only=True)
class DefaultPolicy:
    """Denies side effects except the `allow_tools` named, commands except `allow_commands`, and secrets except those
    that the operator bound, which was their leave.

    Addresses are not its business: whatever leaves the process is judged by the network boundary.
    """

    allow_tools: frozenset[str] = frozenset()
    allow_commands: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        refuse_text("allow_tools", self.allow_tools, of="tools")
        refuse_text("allow_commands", self.allow_commands, of="commands")

    async def check(self, call: ToolCall) -> Decision:
        if call.tool not in SIDE_EFFECTS or call.tool in self.allow_tools:
            return Decision(allowed=True)
        if call.tool == "exec" and call.args.get("command") in self.allow_commands:
            return Decision(allowed=True)
        if call.tool == "secret" and call.args.get("bound") is True:
            return Decision(allowed=True)
        return Decision(allowed=False, reason=f"{call.tool} is denied by the default sandbox policy")


class URLAllowlistPolicy:
    """Denies tools that go to a URL unless one of `allow` means it: `[scheme://]host[:port][/path]`.

    Hosts, ports and whole segments of the path are compared, as they are read by a browser. It narrows what
    the network boundary reaches and opens nothing. Raises `InvalidInput` for a pattern that is none.
    """

    def __init__(self, allow: Sequence[str | Pattern]) -> None:
        refuse_text("allow", allow, of="patterns")
        self._patterns = tuple(Pattern.parse(item) if isinstance(item, str) else item for item in allow)

    async def check(self, call: ToolCall) -> Decision:
        """See `Policy`; other tools are allowed."""
        url = call.args.get("url")
        if call.tool not in URL_TOOLS or not url:
            return Decision(allowed=True, patterns=self._patterns)
        try:
            target = parse_url(str(url))
        except (InvalidInput, RequestRefused) as error:
            return Decision(allowed=False, reason=str(error))
        if any(pattern.matches_url(target) for pattern in self._patterns):
            return Decision(allowed=True, patterns=self._patterns)
        return Decision(allowed=False, reason=f"{target.origin} is not in the allowlist of the policy")


class MultiPolicy:
    """Several policies as one: the first denial counts, and all must allow.

    An exception of one is passed on, which whoever asks takes for a denial. The patterns are those of the
    last that has some.
    """

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    async def check(self, call: ToolCall) -> Decision:
        """See `Policy`."""
        patterns: tuple[Pattern, ...] = ()
        for policy in self._policies:
            decision = await policy.check(call)
            if not decision.allowed:
                return decision
            patterns = decision.patterns or patterns
        return Decision(allowed=True, patterns=patterns)
