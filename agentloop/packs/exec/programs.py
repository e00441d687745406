"""Which program a word means, and whether that is the one meant when it was approved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Program", "Programs"]

_Identity: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True)
class Program:
    """`path` is executed, `real` is the file behind all links.

    `known_as` is the name under which it can be approved: the bare name, or `real` where a name would
    be a lie, because it was given as a path or the name leads elsewhere than it should.
    """

    path: str
    real: str
    known_as: str


class Programs:
    """Looks names up on one PATH, absolute folders only. What `names` lead to is settled here and now.

    `folder` is where scripts may write: no program in there goes by its name, unless it was there
    under that name when this was made.
    """

    def __init__(self, search_path: str, *, names: Iterable[str] = (), folder: str | None = None) -> None:
        self._path = os.pathsep.join(part for part in search_path.split(os.pathsep) if os.path.isabs(part))
        self._folder = folder
        self._settled = {name: self._identity(name) for name in names}

    def find(self, word: str, *, folder: str) -> Program:
        """The program for `argv[0]`; a path is taken from `folder`. Raises `FileNotFoundError`."""
        if "/" in word:
            real = os.path.realpath(os.path.join(folder, word))
            return Program(path=word, real=real, known_as=real)
        path = shutil.which(word, path=self._path) if word not in (".", "..") else None
        if path is None:
            raise FileNotFoundError(f"there is no program {word!r} on the PATH")
        real = os.path.realpath(path)
        return Program(path=path, real=real, known_as=word if self._is_itself(word, real) else real)

    def _is_itself(self, name: str, real: str) -> bool:
        if name in self._settled:
            return self._settled[name] == self._identity(name)
        return self._folder is None or not _lies_in(self._folder, real)

    def _identity(self, name: str) -> _Identity | None:
        path = shutil.which(name, path=self._path) if "/" not in name else None
        if path is None:
            return None
        found = os.stat(path)
        return os.path.realpath(path), found.st_dev, found.st_ino


def _lies_in(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder
