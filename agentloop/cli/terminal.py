"""Standard error when a person is looking: colours, and one line that tells what is going on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

__all__ = ["TerminalScreen"]


class TerminalScreen:
    """Implements `Screen`: lines that stay above one progress line."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        self._status: Status | None = None
        self._closed = False
        self._held = False

    def line(self, text: str, style: str = "") -> None:
        """A line that stays."""
        self._console.print(Text(text, style=style), soft_wrap=True)

    def progress(self, text: str) -> None:
        """Replaces the progress line."""
        if self._closed or self._held:
            return
        shown = Text(text, style="dim")
        if self._status is None:
            self._status = self._console.status(shown)
            self._status.start()
        self._status.update(shown)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """See `Screen.hold`."""
        self._held = True
        self._stop()
        try:
            yield
        finally:
            self._held = False

    def close(self) -> None:
        """Removes the progress line for good."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
