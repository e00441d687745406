"""A clock that stands still while a question to a person is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

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
        self._bounds: dict[asyncio.Timeout, float] = {}

    def now(self) -> float:
        """Active seconds, those spent before the clock was made included."""
        return (self._paused_at if self._depth else self._now()) - self._origin

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stops the clock for the block."""
        if self._depth == 0:
            self._paused_at = self._now()
            self._running.clear()
            for bound in self._bounds:
                _reschedule(bound, None)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._origin += self._now() - self._paused_at
                self._running.set()
                for bound in self._bounds:
                    _reschedule(bound, self._due(bound))

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """`asyncio.timeout` in this clock's seconds: it raises TimeoutError too, and stands still while paused."""
        return self._timeout(seconds)

    @asynccontextmanager
    async def _timeout(self, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        async with asyncio.timeout(None) as bound:
            self._bounds[bound] = self.now() + seconds
            try:
                if not self._depth:
                    _reschedule(bound, self._due(bound))
                yield bound
            finally:
                del self._bounds[bound]

    def _due(self, bound: asyncio.Timeout) -> float:
        return asyncio.get_running_loop().time() + self._bounds[bound] - self.now()

    async def until(self, deadline: float) -> None:
        """Returns when `now()` has reached `deadline`; waits longer while paused."""
        while True:
            await self._running.wait()
            left = deadline - self.now()
            if left <= 0:
                return
            await asyncio.sleep(left)


def _reschedule(bound: asyncio.Timeout, when: float | None) -> None:
    # One that has fired is about to end its block, and can be moved no more.
    if not bound.expired():
        bound.reschedule(when)
