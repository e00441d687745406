"""A clock that stands still while a question to a person is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Clock", "utc_now", "utc_text"]


def utc_text(seconds: float) -> str:
    """A Unix time as sortable RFC 3339 text in UTC with six fractional digits: 2026-01-31T08:00:00.000000Z."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1_000_000):06d}Z"


def utc_now() -> str:
    """Now, as `utc_text`."""
    return utc_text(time.time())


class Clock:
    """Seconds of active time, from `spent` on; `pause()` stops it, nested pauses count once.

    The run's deadline and the sandbox's are both measured on the run's one clock,
    so that time spent waiting for a person belongs to neither.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, *, spent: float = 0.0) -> None:
        self._now = now
        self._origin = now() - spent
        self._depth = 0
        self._paused_at = 0.0
        self._running = asyncio.Event()
        self._running.set()

    def now(self) -> float:
        """Active seconds, those spent before the clock was made included."""
        return (self._paused_at if self._depth else self._now()) - self._origin

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stops the clock for the block."""
        if self._depth == 0:
            self._paused_at = self._now()
            self._running.clear()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._origin += self._now() - self._paused_at
                self._running.set()

    async def until(self, deadline: float) -> None:
        """Returns when `now()` has reached `deadline`; waits longer while paused."""
        while True:
            await self._running.wait()
            left = deadline - self.now()
            if left <= 0:
                return
            await asyncio.sleep(left)
