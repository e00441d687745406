"""Standard input, line by line: one reader for whoever asks, so that nobody takes what another was sent."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque

from agentloop.errors import InvalidInput

__all__ = ["StdinLines"]

_CHUNK = 65_536
_LINE_BYTES = 1 << 20


class StdinLines:
    """Implements `Lines` over file descriptor 0.

    A wait that is given up leaves its read behind: the line that comes then goes to the next who asks. Reads are
    made on a daemon thread without Python's own buffer, so that one under way keeps no program from ending.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._ended = False
        self._reading: asyncio.Future[bytes] | None = None

    async def next(self) -> str | None:
        """The next line without its end, None after the last. Raises `InvalidInput` for one beyond a mebibyte."""
        while not self._lines and not self._ended:
            if self._reading is None:
                self._reading = self._begin()
            data = await asyncio.shield(self._reading)
            self._reading = None
            self._take(data)
        if self._lines:
            return self._lines.popleft().decode("utf-8", "replace").rstrip("\r")
        return None

    @property
    def ready(self) -> bool:
        """Whether a line, or the end, is here without waiting."""
        return bool(self._lines) or self._ended or (self._reading is not None and self._reading.done())

    def discard(self) -> None:
        """Forgets what was typed ahead at a terminal: it answers no question that was not there yet."""
        if not os.isatty(self._descriptor):
            return
        self._lines.clear()
        self._rest = b""
        if self._reading is not None and self._reading.done():
            self._reading = None
        if sys.platform != "win32":
            import termios

            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data:
            self._ended = True
            if self._rest:
                lines.append(self._rest)
                self._rest = b""
        if len(self._rest) > _LINE_BYTES:
            raise InvalidInput(f"a line on standard input is longer than {_LINE_BYTES} bytes")
        self._lines.extend(lines)

    def _begin(self) -> asyncio.Future[bytes]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            try:
                data = os.read(self._descriptor, _CHUNK)
            except OSError:  # a terminal that went away reads as its end
                data = b""
            try:
                loop.call_soon_threadsafe(_hand_over, future, data)
            except RuntimeError:
                pass  # the loop was closed meanwhile: nobody waits

        threading.Thread(target=read, name="agentloop-stdin", daemon=True).start()
        return future


def _hand_over(future: asyncio.Future[bytes], data: bytes) -> None:
    if not future.done():
        future.set_result(data)
