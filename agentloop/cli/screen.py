"""Which view a run gets, by the flags and by who is looking."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TextIO

from agentloop.cli.ndjson import JsonView
from agentloop.cli.options import TaskOptions
from agentloop.cli.render import HumanView, QuietView, Screen, View, visible

__all__ = ["PlainScreen", "view_for", "write_answer"]


class PlainScreen:
    """Implements `Screen` with lines and nothing that moves."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def line(self, text: str, style: str = "") -> None:
        """A line."""
        with suppress(OSError):  # what cannot be told on the way must not end the run
            print(text, file=self._stream, flush=True)

    def progress(self, text: str) -> None:
        """Shows nothing: it would stay."""

    def hold(self) -> AbstractContextManager[None]:
        """Nothing moves here."""
        return nullcontext()

    def close(self) -> None:
        """Nothing to remove."""


def view_for(options: TaskOptions) -> View:
    """JSON lines, the answer alone, or the answer with a line a turn."""
    if options.json:
        return JsonView(_write_line, chunks=options.json_stream)
    if options.settings.quiet:
        return QuietView(write_answer)
    return HumanView(_screen(), write_answer, denied=_denied(options))


def _denied(options: TaskOptions) -> str:
    """What a no is called, by who gave it."""
    if options.approve != "deny":
        return "denied"
    if options.settings.approve is not None:
        return f"denied by {options.settings.origins['approve']} deny"
    return "denied: there is no terminal to ask at; --approve auto says yes, --allow-exec NAMES for programs only"


def write_answer(text: str) -> None:
    """The answer on standard output: as it is into a file or pipe, made harmless on a terminal."""
    _write_line(visible(text, keep="\n\t") if sys.stdout.isatty() else text)


def _screen() -> Screen:
    if not sys.stderr.isatty():
        return PlainScreen(sys.stderr)
    from agentloop.cli.terminal import TerminalScreen

    return TerminalScreen()


def _write_line(text: str) -> None:
    print(text, flush=True)
