"""What is kept of a stream: how it began and how it ended."""

from __future__ import annotations

import codecs

__all__ = ["Kept"]


class Kept:
    """Takes any number of bytes and keeps at most `most`, half from the beginning and half from the end."""

    def __init__(self, most: int) -> None:
        self._head_most = most // 2
        self._tail_most = most - self._head_most
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """The next bytes."""
        self._total += len(data)
        room = self._head_most - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 4 * self._tail_most:
            del self._tail[: -self._tail_most]

    @property
    def truncated(self) -> bool:
        """Whether anything was left out."""
        return self._total > self._head_most + self._tail_most

    def text(self) -> str:
        """Head and tail, with a line between them that says how much is missing. What is no UTF-8 is replaced."""
        if not self.truncated:
            return (self._head + self._tail).decode(errors="replace")
        tail = self._tail[-self._tail_most :] if self._tail_most else b""
        missing = self._total - len(self._head) - len(tail)
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        whole = tail.lstrip(bytes(range(0x80, 0xC0)))
        return f"{head}\n[truncated: {missing} bytes left out]\n{whole.decode(errors='replace')}"
