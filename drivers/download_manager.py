"""Files the pages gave: kept in a folder under names that cannot lead out of it, or until the session ends."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Download as PlaywrightDownload
from playwright.async_api import Error as PlaywrightError

from agentloop.browser.base import Download
from agentloop.errors import DriverTimeout, InvalidInput

__all__ = ["DownloadManager", "bare_name"]

_WAIT_S = 30.0
_RUN_S = 600.0
_KEPT = 100
_NAME_LENGTH = 120
_UNSAFE = re.compile(r"[\x00-\x1f\x7f<>:\"|?*]")


@dataclass
class _Entry:
    download: Download
    source: PlaywrightDownload
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def known_as(self) -> tuple[str, str]:
        """What the browser's own report of it has too."""
        return self.source.url, self.source.suggested_filename

    def end(self, state: str) -> None:
        """Ends it, unless it has ended."""
        if self.download.state == "running":
            self.download = replace(self.download, state=state)


class DownloadManager:
    """One session's downloads. Without `folder` they stay where the browser put them and go with its context,
    also when this process is killed.

    A file above `limit` bytes is ended as soon as it is seen to be, its state is too_large; so is one that takes
    above ten minutes, its state is failed, and one that `keeps` says no to, its state is declined. After 100
    downloads further ones are refused.
    """

    def __init__(self, *, folder: str | None, limit: int) -> None:
        self.total = 0
        self.keeps: Callable[[Download], Awaitable[bool]] = _always
        self._begun: dict[str, tuple[str, str]] = {}
        self._folder = None if folder is None else Path(folder)
        self._limit = limit
        self._entries: dict[str, _Entry] = {}
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, page: Page) -> None:
        """Takes what this page gives."""
        page.on("download", self._on_download)

    def measure(self, cdp: CDPSession) -> None:
        """Hears from a page's session how much of each file has arrived: it is not to be found out at its end."""
        cdp.on("Page.downloadWillBegin", self._on_begin)
        cdp.on("Page.downloadProgress", self._on_progress)

    def seen(self, *, after: int = 0) -> tuple[Download, ...]:
        """Downloads, oldest first, without the first `after` of the session."""
        return tuple(entry.download for entry in list(self._entries.values())[after:])

    async def wait(self, download: str) -> Download:
        """The download once it has ended. Raises `InvalidInput` for an unknown id, `DriverTimeout` after 30 s."""
        entry = self._entries.get(download)
        if entry is None:
            raise InvalidInput(f"there is no download {download!r}; downloads() lists them")
        try:
            async with asyncio.timeout(_WAIT_S):
                await entry.done.wait()
        except TimeoutError:
            raise DriverTimeout(f"the download {entry.download.name!r} is not done after {_WAIT_S:g} s") from None
        return entry.download

    async def close(self) -> None:
        """Ends what runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_download(self, download: PlaywrightDownload) -> None:
        self.total += 1
        if len(self._entries) >= _KEPT:
            self._start(_cancel(download))
            return
        identifier = f"d{next(self._numbers)}"
        entry = _Entry(
            Download(id=identifier, name=bare_name(download.suggested_filename), url=download.url, state="running"),
            download,
        )
        self._entries[identifier] = entry
        self._start(self._take(entry))

    def _on_begin(self, event: dict[str, Any]) -> None:
        if len(self._begun) < _KEPT:
            self._begun[event["guid"]] = (event["url"], event["suggestedFilename"])

    def _on_progress(self, event: dict[str, Any]) -> None:
        if event["state"] != "inProgress":
            self._begun.pop(event["guid"], None)
            return
        size = int(max(event["receivedBytes"], event["totalBytes"]))
        known = self._begun.get(event["guid"])
        if known is None or size <= self._limit:
            return
        for entry in self._entries.values():
            # Two alike at once may be taken for each other, and then both go.
            if entry.known_as == known and entry.download.state == "running":
                entry.download = replace(entry.download, state="too_large", size=size)
                self._start(_cancel(entry.source))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take(self, entry: _Entry) -> None:
        download = entry.source
        try:
            if not await self.keeps(entry.download):
                entry.end("declined")
                return await _thrown_away(download)
            async with asyncio.timeout(_RUN_S):
                source = Path(await download.path())
            entry.download = await asyncio.to_thread(self._keep, entry.download, source)
            if entry.download.path != str(source):
                await download.delete()
        except TimeoutError:
            entry.end("failed")
            await _thrown_away(download)
        except (PlaywrightError, OSError):
            entry.end("failed")
        finally:
            entry.done.set()

    def _keep(self, download: Download, source: Path) -> Download:
        size = source.stat().st_size
        if size > self._limit:
            return replace(download, state="too_large", size=size)
        if self._folder is None:
            return replace(download, state="done", size=size, path=str(source))
        self._folder.mkdir(parents=True, exist_ok=True)
        target = _free(self._folder, download.name)
        if target.resolve().parent != self._folder.resolve():
            return replace(download, state="failed", size=size)
        shutil.copyfile(source, target)
        return replace(download, state="done", size=size, path=str(target))


async def _always(_download: Download) -> bool:
    return True


async def _thrown_away(download: PlaywrightDownload) -> None:
    """Also where it was complete before anybody said no."""
    await _cancel(download)
    try:
        await download.delete()
    except PlaywrightError:
        pass  # there is nothing of it, or it goes with the context


async def _cancel(download: PlaywrightDownload) -> None:
    try:
        await download.cancel()
    except PlaywrightError:
        pass  # it ended meanwhile


def bare_name(suggested: str) -> str:
    """A file name without folders, control characters and leading dots, at most 120 characters; never empty."""
    name = PurePosixPath(suggested.replace("\\", "/")).name
    name = _UNSAFE.sub("_", name).strip(" .")[-_NAME_LENGTH:]
    return name or "download"


def _free(folder: Path, name: str) -> Path:
    """A path in the folder that is not taken: "a.txt", "a (2).txt", …"""
    stem, dot, suffix = name.partition(".")
    for number in count(1):
        path = folder / (name if number == 1 else f"{stem} ({number}){dot}{suffix}")
        if not path.exists() and not path.is_symlink():
            return path
    raise AssertionError("unreachable")
