"""A Playwright trace of one session."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import BrowserContext

from agentloop.errors import InvalidInput

__all__ = ["Trace"]


class Trace:
    """Started and stopped once at a time; it ends with its context."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._folder: Path | None = None

    async def start(self, folder: str) -> None:
        """Begins. Raises `InvalidInput` when it is on already."""
        if self._folder is not None:
            raise InvalidInput("a recording is on already; stop_recording() first")
        self._folder = Path(folder)
        await self._context.tracing.start(screenshots=True, snapshots=True)

    async def stop(self) -> tuple[str, ...]:
        """Ends it and gives the path of the file; nothing when none was on."""
        folder, self._folder = self._folder, None
        if folder is None:
            return ()
        path = str(folder / "trace.zip")
        await self._context.tracing.stop(path=path)
        return (path,)
