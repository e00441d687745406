"""Keeps a run fit to be taken up by another process: its counters and its packs' state."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agentloop.records import RunRecord, Status
from agentloop.run.context import RunContext

__all__ = ["STATE_S", "record", "save_state", "save_turn"]

STATE_S = 5.0


def record(
    context: RunContext, *, status: Status = Status.RUNNING, reason: str = "", final_text: str = ""
) -> RunRecord:
    """The run's row as it stands now."""
    spent = context.spending
    return replace(
        context.run,
        status=status,
        reason=reason,
        final_text=final_text,
        iterations=spent.iterations,
        steps=context.journal.steps,
        tokens=spent.tokens,
        cost=spent.cost,
        primitive_calls=spent.calls,
        active_ms=round(context.clock.now() * 1000),
        data_bytes_carried=spent.data_bytes_carried,
    )


async def save_turn(context: RunContext) -> None:
    """Keeps what the turn just over has spent and where its packs are. Raises `StoreError`."""
    context.run = record(context)
    await context.store.save_run(context.run)
    await context.egress.save(context.journal)
    await save_state(context)


async def save_state(context: RunContext) -> None:
    """Keeps what the packs need to go on elsewhere, where the store outlives the process. A failure is a warning."""
    if not context.store.durable:
        return
    for pack in context.packs:
        if pack.save is None:
            continue
        try:
            async with asyncio.timeout(STATE_S):
                state = await pack.save()
        except Exception as error:  # the border: a pack is foreign code, and the run can go on without its state
            why = str(error) or type(error).__name__
            await context.journal.emit("warning", content=f"the state of {pack.name} was not kept: {why}")
            continue
        if state is not None:
            await context.store.save_state(context.run.session_id, state)
