"""What a script has logged: all of it while it is short, else its head and its tail."""

from __future__ import annotations

import asyncio
from typing import Final

from agentloop.capabilities import Emit
from agentloop.sandbox.values import readable

__all__ = ["LiveLog", "LogKeeper"]

_LIVE_LINES: Final = 100
_LIVE_CHARS: Final = 2_000
_LIVE_S: Final = 5.0


class LogKeeper:
    """Keeps lines up to `limit` bytes of UTF-8; beyond, three quarters from the head and the rest from the tail.

    A negative limit keeps everything. The line between head and tail, which says how much is
    missing, comes on top.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_size = limit * 3 // 4
        self._all = bytearray()
        self._head = b""
        self._total = 0

    def add(self, line: str) -> None:
        """Adds a line; it may hold line feeds itself."""
        data = readable(line).encode()
        self._all += (b"\n" if self._total else b"") + data
        self._total = self._total + len(data) + (1 if self._total else 0) or 1
        if self._limit >= 0 and len(self._all) > 2 * self._limit + 65_536:
            self._trim()

    def _trim(self) -> None:
        if not self._head:
            self._head = bytes(self._all[: self._head_size])
        del self._all[: len(self._all) - (self._limit - self._head_size)]

    def text(self) -> str:
        """The lines so far, joined."""
        if self._limit < 0 or (self._total <= self._limit and not self._head):
            return self._all.decode(errors="replace")
        self._trim()
        omitted = self._total - self._limit
        marker = f"\n… [{omitted:,} bytes of log omitted: log less, or return the data from run()] …\n"
        return self._head.decode(errors="ignore") + marker + _tail(self._all)


def _tail(data: bytearray) -> str:
    # A cut may fall inside a character: its continuation bytes lead nowhere.
    start = next((i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 4)
    return data[start:].decode(errors="replace")


class LiveLog:
    """Emits a script's first lines while it runs, in order, without holding the script up."""

    def __init__(self, emit: Emit | None) -> None:
        self._emit = emit
        self._left = _LIVE_LINES if emit is not None else 0
        self._lines: list[str] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, line: str) -> None:
        """Queues a line; the hundred-and-first and later ones are only in the log itself."""
        if not self._left:
            return
        self._left -= 1
        self._lines.append(readable(line[:_LIVE_CHARS]))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        while self._lines and self._emit is not None:
            await self._emit("sandbox_event", content=self._lines.pop(0), args={"kind": "log"})

    def cancel(self) -> None:
        """Drops what is not out yet."""
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        """Waits until all queued lines are out, at most five seconds; passes on what `emit` raised."""
        if self._task is None:
            return
        async with asyncio.timeout(_LIVE_S):
            await self._task
