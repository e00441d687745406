"""The active page for one bounded call at a time, and what happens when it crashes, hangs or goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agentloop.drivers.faults import translated
from agentloop.drivers.page_session import PageCrashed, PageGone, PageSession
from agentloop.drivers.tab_set import TabSet
from agentloop.errors import BrowserLost, Closed, DriverError, DriverTimeout

__all__ = ["PageKeeper"]

_OPEN_S = 30.0
_CLOSE_S = 5.0
_DEATH_S = 0.5


class PageKeeper:
    """Hands out the active page. A dead page is replaced by an empty one and the call in hand is told so.

    A second crash without a page opened in between is `BrowserLost`, as is the end of the browser.
    """

    def __init__(self, context: BrowserContext, tabs: TabSet) -> None:
        self._context = context
        self._tabs = tabs
        self._closed = False
        self._crashes = 0
        self._notice: DriverError | None = None

    def close(self) -> None:
        """No page is handed out any more."""
        self._closed = True

    def opened(self) -> None:
        """A page was opened well: earlier crashes are forgotten."""
        self._crashes = 0

    @asynccontextmanager
    async def page(self, what: str, seconds: float, *, fresh: bool = False) -> AsyncIterator[PageSession]:
        """The active page for one call of at most `seconds`; `what` names the call in errors.

        `fresh` says that the call does not need what the page showed: a page that crashed earlier is
        replaced without an error.
        """
        session = await self.active(what)
        notice, self._notice = self._notice, None
        if notice is not None and not fresh:
            raise notice
        try:
            async with session.bounded(what, seconds):
                yield session
        except PageCrashed:
            raise await self._after_crash(session, what) from None
        except PageGone:
            raise await self._after_close(what) from None
        except PlaywrightTimeout:
            raise await self._after_timeout(session, f"{what} was not done in time") from None
        except DriverTimeout as error:
            raise await self._after_timeout(session, str(error)) from None
        except PlaywrightError as error:
            raise translated(error, what) from None

    async def active(self, what: str) -> PageSession:
        """The active page, alive as far as is known. That one was replaced is told to the next call in it."""
        if self._closed:
            raise Closed("the driver is closed")
        if not self._connected:
            raise BrowserLost(f"{what}: the browser is gone")
        session = self._tabs.active
        if session is None:
            return await self._replace(None)
        if not session.crashed:
            return session
        lost = await self._after_crash(session, what)
        if isinstance(lost, BrowserLost) or self._tabs.active is None:
            raise lost
        self._notice = lost
        return self._tabs.active

    @property
    def _connected(self) -> bool:
        browser = self._context.browser
        return browser is not None and browser.is_connected()

    async def _replace(self, session: PageSession | None) -> PageSession:
        try:
            async with asyncio.timeout(_OPEN_S):
                fresh = await self._tabs.open()
        except (TimeoutError, PlaywrightError) as error:
            raise BrowserLost(f"the browser no longer opens pages: {error}") from None
        if session is not None:
            await self.discard(session)
        return fresh

    async def discard(self, session: PageSession) -> None:
        """Closes a page that may not answer; what refuses to close goes with its context."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._tabs.close(session)
        except (TimeoutError, PlaywrightError):
            pass

    async def _after_crash(self, session: PageSession, what: str) -> DriverError:
        self._crashes += 1
        if not await self._survives():
            return BrowserLost(f"{what}: the browser died")
        if self._crashes > 1:
            return BrowserLost(f"{what}: the page crashed again right after it had been replaced")
        await self._replace(session)
        return DriverError(f"{what}: the page crashed and was replaced by an empty one; open an address to go on")

    async def _after_close(self, what: str) -> DriverError:
        if not await self._survives():
            return BrowserLost(f"{what}: the browser died")
        if self._closed:
            return BrowserLost(f"{what}: the driver was closed during the call")
        if self._tabs.active is None:
            await self._replace(None)
        return DriverError(f"{what}: the page was closed meanwhile; another one is active now")

    async def _survives(self) -> bool:
        """False when the browser is gone; the end of its pages is reported a little before its own."""
        for _ in range(10):
            if not self._connected:
                return False
            await asyncio.sleep(_DEATH_S / 10)
        return True

    async def _after_timeout(self, session: PageSession, words: str) -> DriverError:
        """A page that hangs is cured by stopping its scripts, else replaced."""
        if await session.answers():
            return DriverTimeout(words)
        if await session.stop_scripts():
            return DriverTimeout(f"{words}: a script of the page ran without end and was stopped")
        if session.crashed:
            return await self._after_crash(session, words)
        await self._replace(session)
        return DriverTimeout(f"{words}: the page did not answer any more and was replaced by an empty one")
