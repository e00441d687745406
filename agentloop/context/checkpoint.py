"""Summaries kept in a session's history, and where the history goes on behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentloop.records import Json, Step

__all__ = ["Checkpoint", "marker", "newest_checkpoint"]

_RETAIN = "retain_from_step"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """`step` stands for all steps of the session before `retain_from`."""

    step: Step
    retain_from: int


def marker(retain_from: int) -> dict[str, Json]:
    """The `tool_args` that make a `summary` step a checkpoint."""
    return {_RETAIN: retain_from}


def newest_checkpoint(steps: Sequence[Step]) -> Checkpoint | None:
    """The last usable one.

    A summary that is blank, or whose marker is missing or points nowhere behind it, is passed over for
    an older one: to summarise twice costs less than to lose history.
    """
    for step in reversed(steps):
        if step.type == "summary" and step.content.strip():
            retain_from = _retain_from(step.tool_args)
            if 0 < retain_from <= step.index:
                return Checkpoint(step=step, retain_from=retain_from)
    return None


def _retain_from(tool_args: Mapping[str, Json]) -> int:
    value = tool_args.get(_RETAIN)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
