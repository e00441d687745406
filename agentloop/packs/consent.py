"""Deny, then ask: approval of calls whose whole scope a person can read in one question."""

from __future__ import annotations

from collections.abc import Mapping

from agentloop.guard.grants import Grant
from agentloop.packs.permission import Permission
from agentloop.records import Json

__all__ = ["require_approval"]


async def require_approval(
    permission: Permission,
    tool: str,
    *,
    question: str,
    grant: Grant,
    other: Mapping[str, Grant] | None = None,
    **args: Json,
) -> None:
    """Returns when the policy allows the call or a person does. Raises `PolicyDenied` with the policy's reason.

    `other` offers yeses of another scope; see `agentloop.guard.grants.Ask`.
    """
    decision = await permission.decision(tool, **args)
    if not decision.allowed:
        reason = decision.reason or "the policy does not allow it"
        await permission.confirm(tool, reason, question=question, grant=grant, other=other)
