"""File choosers of a page: taken from its birth on, answered when somebody waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import FileChooser, Page

from agentloop.errors import InvalidInput, TargetError

__all__ = ["FileChooserHandler", "check_files", "taken"]


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


def check_files(paths: Sequence[str]) -> None:
    """Raises `InvalidInput` for what is no file."""
    if missing := [path for path in paths if not Path(path).is_file()]:
        raise InvalidInput(f"no such file: {', '.join(missing)}")


async def taken(opening: asyncio.Future[FileChooser], paths: Sequence[str], *, seconds: float) -> FileChooser:
    """The chooser once it has opened and takes so many files. Raises `TargetError(reason="unfit")`."""
    try:
        async with asyncio.timeout(seconds):
            chooser = await opening
    except TimeoutError:
        raise TargetError("that opened no file chooser", reason="unfit") from None
    if len(paths) > 1 and not chooser.is_multiple():
        raise TargetError("the page takes one file only", reason="unfit")
    return chooser
