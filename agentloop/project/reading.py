"""Text of files below a root, and never of any other."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.packs.workspace.root import Root

__all__ = ["MOST_BYTES", "FileText", "beginning", "one_line", "open_root", "read_text"]

MOST_BYTES: Final = 16 * 1024 * 1024
"""What is read of a file when there is no other bound."""

_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class FileText:
    """`text` without a byte-order mark, lines ended by \\n alone; `size` in bytes is the file's own."""

    text: str
    size: int
    complete: bool


@contextmanager
def open_root(folder: str, errors: list[str]) -> Iterator[Root | None]:
    """The folder for the block; None, and a line in `errors`, where it cannot be opened."""
    try:
        root = Root(folder)
    except InvalidInput as error:
        errors.append(f"what {folder} says is left out: {error}")
        yield None
        return
    try:
        yield root
    finally:
        root.close()


def read_text(root: Root, path: str, *, most: int) -> FileText | None:
    """The first `most` bytes of a file (negative: all), None where there is none; a cut falls between characters.

    Raises `InvalidInput` for what is no file of the root, and for one that cannot be read.
    """
    try:
        with root.find(path) as place:
            descriptor = place.open_file()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path!r} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        bound = MOST_BYTES if most < 0 else min(most, MOST_BYTES)
        data = file.read(bound)
        more = bool(file.read(1))
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not more)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return FileText(text=lines, size=max(size, len(data)), complete=not more)


def beginning(text: str, most: int) -> str:
    """At most `most` bytes of the text, cut between characters."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= most else data[: max(most, 0)].decode("utf-8", "ignore")


def one_line(text: str) -> str:
    """The text in one line, without characters that are not printed."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
