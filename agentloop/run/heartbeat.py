"""Tells other processes that this one still has its run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentloop.errors import AgentLoopError
from agentloop.records import RunRecord
from agentloop.stores.base import RunStore

__all__ = ["BEAT_S", "beating"]

BEAT_S = 5.0
"""Seconds between two heartbeats; a run whose heartbeat is 20 s old may be taken over from another host."""


@asynccontextmanager
async def beating(store: RunStore, run: RunRecord) -> AsyncIterator[None]:
    """Renews the run's heartbeat for the block."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await store.heartbeat(run.run_id, run.epoch)
            except AgentLoopError:
                return  # another process has the run, or the store is gone: the next write says so

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=BEAT_S)
