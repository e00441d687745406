"""File choosers of a page: taken from its birth on, answered when somebody waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.async_api import FileChooser, Page

__all__ = ["FileChooserHandler"]


class FileChooserHandler:
    """Hears every file chooser of a page.

    The listener is there from the start because the browser is told of it in a message of its own: one that is
    added just before a click can come too late, and the chooser then opens for nobody.
    """

    def __init__(self) -> None:
        self._waiting: asyncio.Future[FileChooser] | None = None

    def attach(self, page: Page) -> None:
        """Begins to listen."""
        page.on("filechooser", self._opened)

    @contextmanager
    def expected(self) -> Iterator[asyncio.Future[FileChooser]]:
        """The chooser that opens from now on."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            yield self._waiting
        finally:
            self._waiting.cancel()
            self._waiting = None

    def _opened(self, chooser: FileChooser) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(chooser)
