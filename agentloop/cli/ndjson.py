"""The machine's view of a run: one JSON object a line on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from agentloop.events import RunEvent
from agentloop.records import RunResult

__all__ = ["JsonView", "fatal_line"]


def fatal_line(message: str) -> str:
    """The line that stands for a run that never was."""
    return _line({"type": "fatal", "error": message})


class JsonView:
    """Writes each event as a line and the result as the last one; `chunks` adds `response_chunk`.

    Lines are ASCII: what a page put into a text can neither break a line nor move a terminal's cursor.
    """

    def __init__(self, write: Callable[[str], None], *, chunks: bool = False) -> None:
        self._write = write
        self._chunks = chunks

    def event(self, event: RunEvent) -> None:
        """One event. What cannot be written as JSON becomes a line that says so."""
        if event.type == "response_chunk" and not self._chunks:
            return
        try:
            line = _line(event.to_dict())
        except (TypeError, ValueError) as error:
            line = _line({"type": event.type, "error": f"this event cannot be written as JSON: {error}"})
        self._write(line)

    def result(self, result: RunResult) -> None:
        """The last line."""
        self._write(_line({"type": "result", **result.to_dict()}))

    def hold(self) -> AbstractContextManager[None]:
        """Nothing moves here."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is held back."""


def _line(data: Any) -> str:
    return json.dumps(data, allow_nan=False)
