"""The session's pages: which there are, which one is active, and how many there may be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from playwright.async_api import BrowserContext, Frame, Page
from playwright.async_api import Error as PlaywrightError

from agentloop.clock import Clock
from agentloop.drivers.address import within_reach
from agentloop.drivers.page_session import PageSession
from agentloop.errors import InvalidInput

__all__ = ["TabSet"]

_OPEN_AT_MOST = 10
_ATTACH_S = 10.0
_ARRIVE_S = 1.0


class TabSet:
    """Open pages, oldest first. `on_open` is told of each before anything happens in it, `on_attached` is awaited
    before it is used; `born` counts them, `arrived` also those that were closed at once for being too many."""

    def __init__(
        self,
        context: BrowserContext,
        *,
        on_open: Callable[[PageSession], None],
        on_attached: Callable[[PageSession], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self.sessions: list[PageSession] = []
        self.active: PageSession | None = None
        self._context = context
        self._on_open = on_open
        self._on_attached = on_attached
        self._clock = clock
        self.born = 0
        self.arrived = 0
        self._news = asyncio.Event()
        self._attaching: dict[Page, asyncio.Task[None]] = {}
        context.on("page", self._on_page)

    async def open(self) -> PageSession:
        """Opens an empty page and makes it the active one."""
        page = await self._context.new_page()
        await self.attached()
        session = next((session for session in self.sessions if session.page is page), None)
        if session is None:
            raise PlaywrightError("the new page has been closed")
        self.active = session
        return session

    async def expect(self, arrived: int) -> None:
        """Waits, within a second, until so many pages have arrived: a window is announced before its page comes."""
        try:
            async with self._clock.timeout(_ARRIVE_S):
                while self.arrived < arrived:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pass  # it was blocked, or ended as a download

    async def attached(self) -> None:
        """Waits, within 10 s, for the pages that are being opened now; one that opens others without end adds none."""
        if self._attaching:
            await asyncio.wait(list(self._attaching.values()), timeout=_ATTACH_S)

    def find(self, tab: str) -> PageSession | None:
        """The open page with this tab id."""
        return next((session for session in self.sessions if session.tab == tab), None)

    def named(self, tab: str) -> PageSession:
        """The same. Raises `InvalidInput` where there is none."""
        session = self.find(tab)
        if session is None:
            raise InvalidInput(f"there is no tab {tab!r}; open are {', '.join(each.tab for each in self.sessions)}")
        return session

    async def close(self, session: PageSession) -> None:
        """Closes a page without asking it."""
        self._remove(session)
        await session.page.close()

    async def stop(self) -> None:
        """Ends what is still being opened."""
        self._context.remove_listener("page", self._on_page)
        for task in self._attaching.values():
            task.cancel()
        await asyncio.gather(*self._attaching.values(), return_exceptions=True)

    def _on_page(self, page: Page) -> None:
        self.arrived += 1
        self._news.set()
        # A page may open others without end, and no browser setting stops it from doing so.
        if len(self.sessions) + len(self._attaching) >= _OPEN_AT_MOST:
            self._attaching[page] = asyncio.create_task(self._refuse(page))
            return
        self.born += 1
        session = PageSession(page, self.born, clock=self._clock)
        page.on("close", lambda _: self._remove(session))
        page.on("framenavigated", lambda frame: self._on_navigated(session, frame))
        self._on_open(session)
        self._attaching[page] = asyncio.create_task(self._attach(session))

    def _on_navigated(self, session: PageSession, frame: Frame) -> None:
        page = session.page
        # A page cannot get there, but a person at the window can, and whoever else drives the browser.
        if page in self._attaching or frame != page.main_frame or within_reach(frame.url):
            return
        self._remove(session)
        self._attaching[page] = asyncio.create_task(self._refuse(page))

    async def _attach(self, session: PageSession) -> None:
        try:
            async with self._clock.timeout(_ATTACH_S):
                await session.attach()
                await self._on_attached(session)
            if not session.page.is_closed():
                self.sessions.append(session)
                self.sessions.sort(key=lambda known: known.number)
        except (PlaywrightError, TimeoutError):
            await self._refuse(session.page)
        finally:
            self._attaching.pop(session.page, None)

    async def _refuse(self, page: Page) -> None:
        try:
            async with asyncio.timeout(_ATTACH_S):
                await page.close()
        except (PlaywrightError, TimeoutError):
            pass  # it was closed meanwhile, or goes with its context
        finally:
            self._attaching.pop(page, None)

    def _remove(self, session: PageSession) -> None:
        if session in self.sessions:
            self.sessions.remove(session)
        if self.active is session:
            self.active = self.sessions[-1] if self.sessions else None
