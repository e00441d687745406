"""What the model is told beside a call's result: caps that cut it, files that could not be read."""

from __future__ import annotations

from typing import Final

__all__ = ["Notes"]

_MOST: Final = 20


class Notes:
    """Different lines since they were last taken, the first twenty of them."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add(self, line: str) -> None:
        """Says it once, however often it is so."""
        if line and len(self._lines) < _MOST:
            self._lines[line] = None

    def take(self) -> tuple[str, ...]:
        """The lines, in order; then there are none."""
        lines, self._lines = tuple(self._lines), {}
        return lines
