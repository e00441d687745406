"""All the files below a folder, in order, found through handles."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from agentloop.packs.workspace.ignoring import IGNORE_FILE, Ignored, read_ignored
from agentloop.packs.workspace.patterns import Glob
from agentloop.packs.workspace.root import FOLDER_FLAGS, Root
from agentloop.packs.workspace.threads import GaveUp, Stop

__all__ = ["Found", "Walk"]

_DEEPEST: Final = 100


@dataclass(frozen=True, kw_only=True)
class Found:
    """A file or a link; `folder` is open until the next one is asked for. `path` is relative to the root."""

    folder: int
    name: str
    path: str
    link: bool


class Walk:
    """One look through the folder of a glob. Links are not followed, hidden folders not entered.

    What .gitignore leaves out is left out, unless `ignored`, or the glob names an ignored folder outright. `left_out`
    tells afterwards whether anything was. Raises `GaveUp` after `most` files or where folders nest too deeply.
    """

    def __init__(self, root: Root, glob: Glob, *, ignored: bool, most: int, stop: Stop) -> None:
        self.left_out = False
        self._root = root
        self._glob = glob
        self._ignored = ignored
        self._most = most
        self._stop = stop
        self._seen = 0

    def files(self) -> Generator[Found]:
        """Those that the glob matches. Nothing when its folder does not exist."""
        try:
            fd, start = self._root.open_folder(self._glob.folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        rules = None if self._ignored else self._rules_of(start)
        skip = len(start) + 1 if start else 0
        try:
            for found in self._below(fd, start, rules, 0):
                if self._glob.matches(found.path[skip:]):
                    yield found
        finally:
            os.close(fd)

    def _rules_of(self, start: str) -> Ignored | None:
        """The rules from above a folder; None when they leave the folder itself out."""
        rules = Ignored()
        path = ""
        for name in start.split("/") if start else ():
            fd, _ = self._root.open_folder(path)
            try:
                rules = read_ignored(rules, fd, path)
            finally:
                os.close(fd)
            path = f"{path}/{name}" if path else name
            if rules(path, folder=True):
                return None
        return rules

    def _below(self, fd: int, path: str, rules: Ignored | None, depth: int) -> Generator[Found]:
        entries = self._entries(fd)
        if rules is not None and any(entry.name == IGNORE_FILE for entry in entries):
            rules = read_ignored(rules, fd, path)
        for entry in entries:
            inner = f"{path}/{entry.name}" if path else entry.name
            folder = entry.is_dir(follow_symlinks=False)
            if rules is not None and rules(inner, folder=folder):
                self.left_out = True
            elif folder:
                yield from self._into(fd, entry.name, inner, rules, depth + 1)
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield Found(folder=fd, name=entry.name, path=inner, link=entry.is_symlink())

    def _into(self, fd: int, name: str, path: str, rules: Ignored | None, depth: int) -> Generator[Found]:
        if self._glob.depth is not None and depth > self._glob.depth:
            return
        if depth > _DEEPEST:
            raise GaveUp(f"gave up: folders nest more than {_DEEPEST} deep")
        try:
            inner = os.open(name, FOLDER_FLAGS, dir_fd=fd)
        except OSError:  # gone, exchanged or closed to us since it was listed
            return
        try:
            yield from self._below(inner, path, rules, depth)
        finally:
            os.close(inner)

    def _entries(self, fd: int) -> list[os.DirEntry[str]]:
        entries = []
        with os.scandir(fd) as listing:
            for entry in listing:
                if entry.name.casefold() not in self._root.hidden:
                    entries.append(entry)
                    self._count()
        return sorted(entries, key=lambda entry: entry.name)

    def _count(self) -> None:
        self._seen += 1
        if self._seen > self._most:
            raise GaveUp(f"gave up after {self._most} files")
        if self._seen % 64 == 0:
            self._stop.check()
