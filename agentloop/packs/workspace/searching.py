"""Lines of files that match a pattern, in blocks, so that neither a long file nor a long line matters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any, Final

from agentloop.packs.workspace.reading import HEAD_BYTES, is_binary
from agentloop.packs.workspace.root import regular_file
from agentloop.packs.workspace.threads import Stop

__all__ = ["Hit", "hits"]

_BLOCK: Final = 32 * 1024
_LONGEST_PIECE: Final = 128 * 1024
_SHOWN: Final = 400
_BEFORE: Final = 100


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line, counted from 1; a long one is cut around its match, with … where something is missing."""

    line: int
    text: str


def hits(folder: int, name: str, pattern: Any, stop: Stop) -> Iterator[Hit]:
    """The matching lines of a file of an open directory; none of a binary one.

    A line over 128 KiB is searched in pieces, whose ends count as its own, and is one hit. Raises `OSError`.
    """
    with os.fdopen(regular_file(folder, name), "rb", buffering=0) as file:
        line, last = 1, 0
        for block in _blocks(file, stop):
            for hit in _in_block(block, line, pattern):
                if hit.line > last:  # else another piece of the same long line
                    yield hit
                last = hit.line
            line += block.count(b"\n")


def _blocks(file: FileIO, stop: Stop) -> Iterator[bytes]:
    """Whole lines with \\n behind each, many at a time."""
    rest = file.read(_BLOCK)
    if is_binary(rest[:HEAD_BYTES]):
        return
    while True:
        stop.check()
        end = rest.rfind(b"\n") + 1
        if not end and len(rest) >= _LONGEST_PIECE:
            end = len(rest)
        if end:
            yield rest[:end].replace(b"\r\n", b"\n")
        more = file.read(_BLOCK)
        if not more:
            break
        rest = rest[end:] + more
    if rest[end:]:
        yield rest[end:].removesuffix(b"\r")


def _in_block(block: bytes, line: int, pattern: Any) -> Iterator[Hit]:
    at = counted = 0
    while at < len(block) and (match := pattern.search(block, at)):
        start = block.rfind(b"\n", 0, match.start()) + 1
        end = block.find(b"\n", match.start())
        end = len(block) if end < 0 else end
        line += block.count(b"\n", counted, start)
        counted = start
        if start == len(block):
            return
        yield Hit(line=line, text=_shown(block[start:end], match.start() - start))
        at = end + 1


def _shown(line: bytes, match: int) -> str:
    if len(line) <= _SHOWN:
        return line.decode(errors="replace")
    start = max(0, min(match - _BEFORE, len(line) - _SHOWN))
    text = line[start : start + _SHOWN].decode(errors="ignore")
    return f"{'…' if start else ''}{text}{'…' if start + _SHOWN < len(line) else ''}"
