"""Reads back what of a session a new run must know."""

from __future__ import annotations

from agentloop.context.checkpoint import newest_checkpoint
from agentloop.context.history import LOOK_BACK
from agentloop.context.settings import LoopSettings
from agentloop.records import Step
from agentloop.stores.base import StepStore

__all__ = ["past_steps"]

_SUMMARIES = 8


async def past_steps(store: StepStore, session_id: str, settings: LoopSettings) -> tuple[Step, ...]:
    """The newest checkpoint, however old, and the newest `history_window` steps.

    With a compactor it is all steps since the point where the checkpoint lets the history go on, at most
    `LOOK_BACK`: what no summary stands for yet must not be lost to the window.
    """
    steps = await store.last_steps(session_id, settings.history_window)
    checkpoint = newest_checkpoint(await store.last_summaries(session_id, _SUMMARIES))
    if checkpoint is None:
        return steps
    since = steps[-1].index - checkpoint.retain_from + 1
    if settings.compactor is not None and since > len(steps):
        steps = await store.last_steps(session_id, min(since, LOOK_BACK))
    return steps if checkpoint.step.index >= steps[0].index else (checkpoint.step, *steps)
