"""Turns a run that reports its events into an iterator over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from agentloop.events import RunEvent
from agentloop.journal import OnEvent
from agentloop.run.ending import FINISH_S

__all__ = ["streamed"]


async def streamed(run: Callable[[OnEvent], Coroutine[Any, Any, Any]]) -> AsyncIterator[RunEvent]:
    """The events of `run`, which starts at once. Leaving early cancels it; its error is raised at the end.

    The wait for the next event has the run's own bounds: however the run ends, its end comes out of the queue.
    """
    queue: asyncio.Queue[RunEvent | None] = asyncio.Queue()
    task = asyncio.create_task(run(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=2 * FINISH_S)
