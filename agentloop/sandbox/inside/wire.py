"""The frames that host and child exchange, used by both.

A frame is a header (u32 length of the body, u8 kind, u32 id, big-endian) and a body of UTF-8 text.
Ids pair a call with its reply; everything else has id 0. Values and arguments are JSON text that
only the two ends parse: the JavaScript engine in the child, `json` in the host.
"""

import socket
import struct
from typing import Final

__all__ = [
    "ANSWER",
    "ARGS",
    "BATCH",
    "CALL",
    "DONE",
    "ERROR",
    "FAIL",
    "HEADER",
    "INIT",
    "LOG",
    "RAISE",
    "READY",
    "SPENT",
    "START",
    "VALUE",
    "Wire",
    "frame",
]

HEADER: Final = struct.Struct(">IBI")

INIT: Final = ord("I")
"""Host to child, once: JSON of limits, names, help, skills and modules."""
START: Final = ord("S")
"""Host to child: the script; an ARGS frame follows."""
ARGS: Final = ord("J")
"""Host to child: the JSON text of `args`."""
VALUE: Final = ord("V")
"""Host to child: the JSON text of what a call returned."""
RAISE: Final = ord("R")
"""Host to child: JSON of `{name, message, code?}` that a call ends with."""

READY: Final = ord("r")
"""Child to host, once: JSON of `{engine, isolation, soft, pid}`, with a pidfd where there are such; or `{error}`."""
CALL: Final = ord("c")
"""Child to host: a primitive's name, a line feed, the JSON array of its arguments."""
BATCH: Final = ord("b")
"""Child to host: the same with an array of argument arrays, to be run in parallel."""
LOG: Final = ord("l")
"""Child to host: a JSON string."""
ANSWER: Final = ord("a")
"""Child to host: a JSON string; the child waits to be killed."""
FAIL: Final = ord("f")
"""Child to host: JSON of `{reason, kind}`; the child waits to be killed."""
DONE: Final = ord("d")
"""Child to host: a JSON array of warnings, a line feed, the JSON text of the value (empty = none)."""
ERROR: Final = ord("e")
"""Child to host: JSON of `{name, message, stack, where}`."""
SPENT: Final = 1
"""The id of a DONE or ERROR after which the child should be replaced: it has used most of its memory."""


def frame(kind: int, body: bytes, id: int = 0) -> bytes:
    """The bytes of one frame."""
    return HEADER.pack(len(body), kind, id) + body


class Wire:
    """The child's end: blocking, and gone for good once the host has closed it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, kind: int, body: bytes, id: int = 0) -> None:
        """Sends one frame; blocks while the host does not read."""
        self._sock.sendall(frame(kind, body, id))

    def receive(self) -> tuple[int, int, bytes]:
        """The next frame as (kind, id, body). Raises `EOFError` when the host is gone."""
        length, kind, id = HEADER.unpack(self._exactly(HEADER.size))
        return kind, id, self._exactly(length) if length else b""

    def _exactly(self, size: int) -> bytes:
        first = self._sock.recv(size)
        if len(first) == size:
            return first
        whole = bytearray(first)
        while len(whole) < size:
            piece = self._sock.recv(min(1 << 20, size - len(whole)))
            if not piece:
                raise EOFError
            whole += piece
        return bytes(whole)
