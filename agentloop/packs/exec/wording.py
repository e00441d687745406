"""A command in words: for the person who is asked, and for the record of what was approved."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentloop.guard.grants import Grant, unambiguous
from agentloop.packs.exec.programs import Program

__all__ = ["Wording"]

_MOST_INPUT: Final = 2_000


@dataclass(frozen=True, kw_only=True)
class Wording:
    """All that decides what a command does. `folder` is None where there is no workspace."""

    argv: Sequence[str]
    program: Program
    env: Mapping[str, str]
    folder: str | None
    input: str

    @property
    def line(self) -> str:
        """As a shell would take it, variables before it."""
        words = [f"{name}={_quoted(value)}" for name, value in self.env.items()]
        return _visible(" ".join((*words, *map(_quoted, self.argv))))

    @property
    def question(self) -> str:
        """Everything, a line each."""
        lines = [f"Allow the agent to run: {self.line}?", f"Program: {_quoted(self.program.real)}"]
        if self.folder:
            lines.append(f"Folder: {_quoted(self.folder)}")
        if self.input:
            lines.append(f"Standard input ({len(self.input)} characters): {self._shown_input}")
        return "\n".join(lines)

    @property
    def grant(self) -> Grant:
        """Covers this command and no other: same words, program, variables, folder and input."""
        parts = [self.line, f"program {_quoted(self.program.real)}"]
        if self.folder:
            parts.append(f"folder {_quoted(self.folder)}")
        if self.input:
            parts.append(f"input sha256 {hashlib.sha256(self.input.encode('utf-8', 'surrogatepass')).hexdigest()}")
        return Grant(kind="command", subject="; ".join(parts))

    @property
    def _shown_input(self) -> str:
        text = self.input[:_MOST_INPUT]
        return f'"{_visible(text)}"' + (" …" if len(self.input) > _MOST_INPUT else "")


def _quoted(word: str) -> str:
    """A word as a shell takes it; what does not print as codes, which no other word is written with."""
    return shlex.quote(word) if word.isprintable() else unambiguous(word)


def _visible(text: str) -> str:
    """Controls, direction marks and whatever else does not print as codes, so that no text can pass for another."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
