"""A page's events as the signals that settling is decided by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Request

from agentloop.browser.scripts import small_script
from agentloop.browser.settle import Quiet, RequestHabits, Settle, SettleLimits
from agentloop.drivers.page_session import PageSession
from agentloop.errors import DriverError, DriverTimeout

__all__ = ["PageActivity"]

_FRAMES_LOOKED_AT = 10
_EXTRA_S = 1.0


class PageActivity:
    """One page's requests and documents, from its birth; feeds the `Settle` that is open, if one is."""

    def __init__(self, session: PageSession, *, now: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._now = now
        self._habits = RequestHabits()
        self._settle: Settle | None = None
        self._document: Request | None = None
        self.documents = 0
        page = session.page
        page.on("request", self._started)
        page.on("requestfinished", self._finished)
        page.on("requestfailed", self._failed)
        page.on("domcontentloaded", self._parsed)
        page.on("load", self._loaded)
        session.tree.on_document = self._committed

    @property
    def status(self) -> int | None:
        """The HTTP status of the main document, where it came by HTTP."""
        response = self._document.existing_response if self._document else None
        return response.status if response else None

    async def begin(self, limits: SettleLimits) -> Settle:
        """Opens the period of one act."""
        try:
            await self._look("begin", limits)
        except DriverTimeout:
            await self._session.stop_scripts()
        except DriverError:
            pass  # the act itself will meet what is wrong with the page
        self._settle = Settle(lambda: self._look("wait", limits), habits=self._habits, limits=limits, now=self._now)
        return self._settle

    def end(self) -> None:
        """Closes the period."""
        self._settle = None

    async def _look(self, op: str, limits: SettleLimits) -> Quiet:
        """Looks into all frames at once; frames that go meanwhile, or do not answer, have no say."""
        script, argument = small_script("quiet"), {"op": op, "quiet": limits.quiet_s * 1000, "cap": limits.dom_s * 1000}
        frames = (await self._session.frames())[:_FRAMES_LOOKED_AT]
        async with self._session.bounded("looking for changes", limits.dom_s + _EXTRA_S):
            found = await asyncio.gather(
                *(self._session.run_script(frame.id, script, argument) for frame in frames),
                return_exceptions=True,
            )
        for error in found:
            if isinstance(error, BaseException) and not isinstance(error, DriverError | PlaywrightError):
                raise error
        return Quiet(changes=sum(each["changes"] for each in found if isinstance(each, dict)))

    # events ------------------------------------------------------------------------------------------

    def _started(self, request: Request) -> None:
        navigation = self._opens_document(request)
        if navigation:
            self._document = request
        key = f"{request.method} {request.url.partition('?')[0]}"
        settle = self._settle
        if settle is not None and request.redirected_from is not None:
            settle.request_ended(request.redirected_from, failed=True)
        if settle is None or not settle.request_started(
            request, key=key, kind=request.resource_type, navigation=navigation
        ):
            self._habits.note(key, self._now())

    def _opens_document(self, request: Request) -> bool:
        if not request.is_navigation_request():
            return False
        try:
            return request.frame == self._session.page.main_frame
        except PlaywrightError:
            return True  # the page is not born yet, so its first document it is

    def _finished(self, request: Request) -> None:
        if self._settle is not None:
            self._settle.request_ended(request)

    def _failed(self, request: Request) -> None:
        if self._settle is not None:
            self._settle.request_ended(request, failed=True)

    def _committed(self) -> None:
        self.documents += 1
        self._habits = RequestHabits()
        if self._settle is not None:
            self._settle.document_committed(self._habits)

    def _parsed(self, _page: Page) -> None:
        if self._settle is not None:
            self._settle.document_parsed()

    def _loaded(self, _page: Page) -> None:
        if self._settle is not None:
            self._settle.document_loaded()
