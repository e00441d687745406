"""Blocking work in threads: a few at a time, told to stop when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["Bench", "GaveUp", "Stop"]

T = TypeVar("T")

_GRACE_S: Final = 4.0


class GaveUp(Exception):
    """Work ended early: nobody waits for it, or it would have been too much. Never an `OSError`, which files have."""


class Stop:
    """Asked between two chunks of work. `seconds` bounds the whole of it."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._set = False

    def set(self) -> None:
        """From any thread: the work is to end at its next `check`."""
        self._set = True

    def check(self) -> None:
        """Raises `GaveUp` after `set` and when the time is over."""
        if self._set:
            raise GaveUp("the call was cancelled")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise GaveUp(f"gave up after {self._seconds:g} s")


class Bench:
    """Room for `most` threads at once."""

    def __init__(self, most: int = 4) -> None:
        self._room = asyncio.Semaphore(most)

    async def run(self, work: Callable[[Stop], T], *, seconds: float | None = None) -> T:
        """What `work` returns or raises. Cancelled, it sets the work's `Stop` and waits a little for its end."""
        async with self._room:
            stop = Stop(seconds)
            task = asyncio.ensure_future(asyncio.to_thread(work, stop))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                stop.set()
                task.add_done_callback(_forget)
                await asyncio.wait([task], timeout=_GRACE_S)
                raise


def _forget(task: asyncio.Future[T]) -> None:
    # Asked for, so that asyncio does not report an error that nobody is left to hear.
    if not task.cancelled():
        task.exception()
