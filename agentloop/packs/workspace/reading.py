"""Text files read by line, however long they are."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from io import FileIO
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.packs.resources import say
from agentloop.packs.workspace.root import Root
from agentloop.packs.workspace.threads import Stop

__all__ = ["HEAD_BYTES", "Text", "is_binary", "read_text"]

HEAD_BYTES: Final = 8_000
"""A NUL among so many first bytes makes a file binary; git's rule."""

_WORDS: Final = "workspace.md"
_CHUNK: Final = 256 * 1024
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class Text:
    """What was read. `note` says what the text does not: that bytes were replaced, that there is no such line."""

    path: str
    text: str
    note: str = ""


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text."""
    return b"\0" in head[:HEAD_BYTES]


def read_text(root: Root, path: str, *, offset: int, limit: int | None, cap: int, stop: Stop) -> Text:
    """Lines of a file from `offset` (from 1) on, at most `limit` of them and `cap` bytes.

    What the cap cuts off is announced in the text itself, with the call that goes on. Raises `InvalidInput` for a
    binary file, `OSError`.
    """
    with root.find(path) as place, os.fdopen(place.open_file(), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD_BYTES)
        if is_binary(head):
            raise InvalidInput(f"{path!r} is binary ({size} bytes with NUL among them): only text can be read")
        reader = _Reader(file, head.removeprefix(_BOM), stop)
        if not reader.skip(offset - 1):
            return Text(path=place.path, text="", note=say(_WORDS, "ends_before", path=repr(path), line=offset))
        return _decoded(place.path, *_cut(reader, path, offset, limit, cap, size))


class _Reader:
    """Bytes of a file, in order, the first of them read already."""

    def __init__(self, file: FileIO, head: bytes, stop: Stop) -> None:
        self._file = file
        self._stop = stop
        self.ahead = head

    def skip(self, lines: int) -> bool:
        """Goes past so many line ends; whether there were so many."""
        while lines:
            found = self.ahead.count(b"\n")
            if found >= lines:
                self.ahead = self.ahead[_end_of_line(self.ahead, lines) + 1 :]
                return True
            lines -= found
            self.ahead = b""
            if not self._more():
                return False
        return True

    def take(self, limit: int | None, cap: int) -> bytes:
        """At least `limit` lines or more than `cap` bytes, if there are so many."""
        lines = self.ahead.count(b"\n")
        while len(self.ahead) <= cap and (limit is None or lines < limit):
            before = len(self.ahead)
            if not self._more():
                break
            lines += self.ahead.count(b"\n", before)
        return self.ahead

    def _more(self) -> bool:
        self._stop.check()
        chunk = self._file.read(_CHUNK)
        self.ahead += chunk
        return bool(chunk)


def _end_of_line(data: bytes, number: int) -> int:
    at = -1
    for _ in range(number):
        at = data.index(b"\n", at + 1)
    return at


def _cut(reader: _Reader, path: str, offset: int, limit: int | None, cap: int, size: int) -> tuple[bytes, str]:
    """The bytes to show, and the marker behind them."""
    if limit == 0:
        return b"", ""
    data = reader.take(limit, cap)
    if limit is not None and data.count(b"\n") >= limit:
        data = data[: _end_of_line(data, limit)]
    if len(data) <= cap:
        return data, ""
    end = data.rfind(b"\n", 0, cap + 1)
    if end < 0:
        what = say(_WORDS, "long_line", line=offset, cap=cap)
        return _whole_characters(data[:cap]), _marker(what, path, offset + 1, size)
    last = offset + data.count(b"\n", 0, end)
    return data[:end], _marker(say(_WORDS, "these_lines", first=offset, last=last), path, last + 1, size)


def _marker(what: str, path: str, onward: int, size: int) -> str:
    written = json.dumps(path, ensure_ascii=False)
    return "\n" + say(_WORDS, "truncated", what=what, size=size, path=written, onward=onward)


def _whole_characters(data: bytes) -> bytes:
    for back in range(1, 4):
        if data[-back:] and data[-back] >= 0xC0:
            return data[:-back]
        if data[-back:] and data[-back] < 0x80:
            break
    return data


def _decoded(path: str, data: bytes, marker: str) -> Text:
    try:
        return Text(path=path, text=data.decode() + marker)
    except UnicodeDecodeError:
        note = say(_WORDS, "not_utf", path=repr(path))
        return Text(path=path, text=data.decode(errors="replace") + marker, note=note)
