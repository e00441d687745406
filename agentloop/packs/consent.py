"""Deny, then ask: the way from a call to the leave for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentloop.errors import PolicyDenied
from agentloop.guard.grants import Grant
from agentloop.guard.policy import Decision, ToolCall
from agentloop.records import Json

if TYPE_CHECKING:
    from agentloop.capabilities import BuildContext

__all__ = ["require_leave"]


async def require_leave(
    context: BuildContext, tool: str, args: dict[str, Json], *, question: str, grant: Grant
) -> None:
    """Returns when the policy allows the call or a person does. Raises `PolicyDenied` otherwise."""
    decision = await _decided(context, tool, args)
    if decision.allowed:
        return
    reason = decision.reason or f"{tool} is not allowed"
    if context.ask is None:
        raise PolicyDenied(f"{tool}: {reason}")
    if not await context.ask(question, kind="confirm", grant=grant):
        raise PolicyDenied(f"{tool} was declined: {reason}")


async def _decided(context: BuildContext, tool: str, args: dict[str, Json]) -> Decision:
    if context.policy is None:
        return Decision(allowed=True)
    call = ToolCall(tool=tool, args=args, scope=context.scope, session_id=context.session_id, run_id=context.run_id)
    try:
        return await context.policy.check(call)
    except Exception as error:  # the border: a policy is foreign code, and one that fails allows nothing
        return Decision(allowed=False, reason=f"the policy failed: {type(error).__name__}: {error}")
