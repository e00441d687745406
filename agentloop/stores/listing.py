"""What the lists of sessions of every store share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentloop.errors import InvalidInput, UnknownSession
from agentloop.records import RunRecord, Session, Step, Usage
from agentloop.stores.base import SessionSummary

__all__ = ["chosen", "summarised"]

_AMBIGUOUS_SHOWN = 5


def chosen(prefix: str, found: Sequence[str]) -> str:
    """The one session that `prefix` means among the sorted ids that begin with it.

    Raises `UnknownSession` when there is none, `InvalidInput` when there are several.
    """
    if not prefix:
        raise InvalidInput("An empty id means no session, though every id begins with it; give one of the ids.")
    if prefix in found:
        return prefix
    if not found:
        raise UnknownSession(f"No session has an id that begins with {prefix!r}.")
    if len(found) > 1:
        shown = ", ".join(found[:_AMBIGUOUS_SHOWN])
        raise InvalidInput(f"{len(found)} sessions have an id that begins with {prefix!r}: {shown}; give more of it.")
    return found[0]


def summarised(session: Session, steps: Sequence[Step], runs: Iterable[RunRecord]) -> SessionSummary:
    """A session's line, from all its steps and runs."""
    runs = list(runs)
    return SessionSummary(
        session=replace(session, carry=None),
        steps=len(steps),
        runs=len(runs),
        tokens=sum((run.tokens for run in runs), Usage()),
        cost=sum(run.cost for run in runs),
        opening=next((step.content for step in steps if step.type == "user"), ""),
    )
