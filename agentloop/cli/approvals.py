"""Answers what a run asks: at the terminal, or without anybody, as `--approve` says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from agentloop.cli.options import ApproveMode
from agentloop.cli.render import visible
from agentloop.errors import InvalidInput, NobodyThere
from agentloop.guard.grants import ONCE, Answer, Question

__all__ = ["Approvals", "Lines"]


class Lines(Protocol):
    """Where answers come from."""

    async def next(self) -> str | None:
        """The next line, None after the last."""

    def discard(self) -> None:
        """Forgets what was typed before there was a question."""


class Approvals:
    """Implements `OnAsk` for one process.

    A refusal holds as long as this object, for its session only: a script that threw is run again, and asking
    again would teach people to say yes. Approvals are kept by the store. `write` gets the question and `hold`
    keeps moving lines off the screen meanwhile; "auto" and "deny" write nothing.
    """

    def __init__(
        self,
        mode: ApproveMode,
        *,
        lines: Lines,
        write: Callable[[str], None],
        hold: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._mode = mode
        self._lines = lines
        self._write = write
        self._hold = hold
        self._one_at_a_time = asyncio.Lock()
        self._refused: set[tuple[str, str, str]] = set()

    async def __call__(self, question: Question) -> Answer:
        """The answer. Raises `NobodyThere` where nobody can give one, which is no refusal, and `InvalidInput`."""
        if question.kind == "confirm" and self._mode != "prompt":
            # Nobody has read it, so it is no approval that a later run could lean on.
            return ONCE if self._mode == "auto" else False
        if self._mode != "prompt":
            raise NobodyThere(f"this needs an answer in words, and --approve {self._mode} gives none: choose prompt")
        async with self._one_at_a_time:
            with self._hold():
                return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        self._lines.discard()
        if question.kind == "confirm":
            return await self._confirm(question)
        if question.kind == "choice":
            return await self._choose(question)
        return await self._line(f"\n{visible(question.message)}: ")

    async def _confirm(self, question: Question) -> Answer:
        key = _key(question)
        if key in self._refused:
            return False
        given = (await self._line(_prompt(question))).strip().lower()
        if question.options and given in ("a", "always"):
            return question.options[0]
        if given in ("y", "yes"):
            return True
        self._refused.add(key)
        return False

    async def _choose(self, question: Question) -> str:
        listed = "".join(f"  {number}. {visible(option)}\n" for number, option in enumerate(question.options, 1))
        given = (await self._line(f"\n{visible(question.message)}\n{listed}[1] ")).strip() or "1"
        if not given.isdecimal() or not 1 <= int(given) <= len(question.options):
            raise InvalidInput(f"{given!r} is none of the {len(question.options)} options")
        return question.options[int(given) - 1]

    async def _line(self, prompt: str) -> str:
        self._write(prompt)
        line = await self._lines.next()
        if line is None:
            self._write("\n")
            raise NobodyThere("standard input has ended: there is no terminal to answer at")
        return line


def _prompt(question: Question) -> str:
    if not question.options:
        return f"\n{visible(question.message)} [y/N] "
    return f"\n{visible(question.message)}\n  a: {visible(question.options[0])}\n[y/a/N] "


def _key(question: Question) -> tuple[str, str, str]:
    """What a refusal is remembered under: the session, and what the approval would have covered."""
    if question.grant is None:
        return question.session_id, "", question.message
    return question.session_id, question.grant.kind, question.grant.subject
