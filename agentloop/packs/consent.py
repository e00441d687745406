"""Deny, then ask: leave for calls whose whole scope a person can read in one question."""

from __future__ import annotations

from agentloop.errors import PolicyDenied
from agentloop.guard.grants import Grant
from agentloop.packs.permission import Permission
from agentloop.records import Json

__all__ = ["need_leave"]


async def need_leave(permission: Permission, tool: str, *, question: str, grant: Grant, **args: Json) -> None:
    """Returns when the policy allows the call or a person does. Raises `PolicyDenied` with the policy's reason."""
    decision = await permission.decision(tool, **args)
    if decision.allowed:
        return
    reason = decision.reason or "the policy does not allow it"
    if permission.ask is None:
        raise PolicyDenied(f"{tool} denied: {reason}")
    if not await permission.granted(question, grant):
        raise PolicyDenied(f"{tool} was declined: {reason}")
