"""What .gitignore files leave out, folder by folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pathspec import GitIgnoreSpec

from agentloop.packs.workspace.patterns import matchable
from agentloop.packs.workspace.root import regular_file

__all__ = ["IGNORE_FILE", "Ignored", "read_ignored"]

IGNORE_FILE: Final = ".gitignore"
"""Where a folder says what to leave out of it."""

_MOST_LINES: Final = 2_000
_MOST_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class Ignored:
    """The rules that hold in one folder: its own first, then those of the folders above it."""

    rules: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def __call__(self, path: str, *, folder: bool) -> bool:
        """Whether this path, relative to the root, is left out. The nearest file with an opinion decides."""
        name = matchable(path) + ("/" if folder else "")
        for start, spec in self.rules:
            verdict = spec.check_file(name[start:]).include
            if verdict is not None:
                return verdict
        return False


def read_ignored(above: Ignored, folder: int, path: str) -> Ignored:
    """The rules of an open directory that has an ignore file; one that cannot be read has none."""
    try:
        with os.fdopen(regular_file(folder, IGNORE_FILE), "rb", buffering=0) as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return above
    spec = _spec(text.splitlines()[:_MOST_LINES])
    start = len(matchable(path)) + 1 if path else 0
    return Ignored(((start, spec), *above.rules))


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines, backend="re2")
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _is_rule(line)], backend="re2")


def _is_rule(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line], backend="re2")
    except ValueError:
        return False
    return True
