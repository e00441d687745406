"""What an act causes in the session, and when that is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from agentloop.browser.abilities import Watched
from agentloop.browser.base import Effects, Tab
from agentloop.browser.settle import Settled, SettleLimits
from agentloop.clock import Clock
from agentloop.drivers.dialog_handler import DialogHandler
from agentloop.drivers.document_gate import DocumentGate
from agentloop.drivers.download_manager import DownloadManager
from agentloop.drivers.page_activity import PageActivity
from agentloop.drivers.page_session import PageSession
from agentloop.drivers.refusals import Refusals
from agentloop.drivers.tab_set import TabSet

__all__ = ["ActWatch", "as_tab"]

_POPUP_S = 10.0
_TITLE_S = 1.0


@dataclass(frozen=True, kw_only=True)
class _Before:
    url: str
    born: int
    arrived: int
    windows: int
    dialogs: int
    downloads: int
    at: float


class ActWatch:
    """Makes the `Effects` of one act after the other; a watch inside of a watch adds nothing."""

    def __init__(
        self,
        *,
        tabs: TabSet,
        dialogs: DialogHandler,
        downloads: DownloadManager,
        refusals: Refusals,
        limits: SettleLimits,
        gate: DocumentGate,
        clock: Clock,
    ) -> None:
        self._tabs = tabs
        self._dialogs = dialogs
        self._downloads = downloads
        self._refusals = refusals
        self._limits = limits
        self._gate = gate
        self._clock = clock
        self._activities: dict[PageSession, PageActivity] = {}
        self.watching = False

    def follow(self, session: PageSession) -> None:
        """Watches a page from its birth."""
        self._activities[session] = PageActivity(session, now=self._clock.now)
        session.page.on("close", lambda _: self._leave(session))

    @asynccontextmanager
    async def watch(self, session: PageSession) -> AsyncIterator[Watched]:
        """One act in the page `session`; leaving the block waits for what it caused and fills the effects."""
        watched = Watched()
        activity = self._activities[session]
        before = self._before(session)
        documents = activity.documents
        settle = await activity.begin(self._limits)
        self.watching = True
        try:
            yield watched
            settled = await settle.wait()
            await self._gate.idle()
            await self._tabs.expect(before.arrived + session.tree.windows - before.windows)
            opened = await self._opened(before.born)
        finally:
            self.watching = False
            activity.end()
        replaced = activity.documents > documents
        status = activity.status if replaced else None
        watched.effects = self._effects(session, before, settled, opened, replaced=replaced, status=status)

    def _leave(self, session: PageSession) -> None:
        self._activities.pop(session, None)

    def _before(self, session: PageSession) -> _Before:
        return _Before(
            url=_address(session),
            born=self._tabs.born,
            arrived=self._tabs.arrived,
            windows=session.tree.windows,
            dialogs=self._dialogs.total,
            downloads=self._downloads.total,
            at=self._refusals.now(),
        )

    async def _opened(self, born: int) -> tuple[Tab, ...]:
        """The pages that opened meanwhile, parsed; the newest becomes the active one."""
        await self._tabs.attached()
        fresh = [session for session in self._tabs.sessions if session.number > born]
        if not fresh:
            return ()
        await asyncio.gather(*(self._parsed(session) for session in fresh))
        fresh = [session for session in fresh if session in self._tabs.sessions]
        if fresh:
            self._tabs.active = fresh[-1]
        return tuple([await as_tab(session, self._tabs.active) for session in fresh])

    async def _parsed(self, session: PageSession) -> None:
        try:
            async with self._clock.timeout(_POPUP_S):
                await session.page.wait_for_load_state("domcontentloaded", timeout=0)
        except (TimeoutError, PlaywrightError):
            pass  # it is shown as far as it got

    def _effects(
        self,
        session: PageSession,
        before: _Before,
        settled: Settled,
        opened: tuple[Tab, ...],
        *,
        replaced: bool,
        status: int | None,
    ) -> Effects:
        url = _address(session)
        return Effects(
            url=url if url != before.url or replaced else None,
            document=replaced,
            status=status,
            opened=opened,
            dialogs=self._dialogs.seen(after=before.dialogs),
            downloads=self._downloads.seen(after=before.downloads),
            requests=settled.requests,
            mutations=settled.changes,
            refused=self._refusals.places(before.at),
            refusals=self._refusals.counted(before.at),
            timed_out=settled.timed_out,
            settle_ms=round(settled.seconds * 1000),
        )


async def as_tab(session: PageSession, active: PageSession | None) -> Tab:
    """The page as a tab; the title of one that does not answer is empty."""
    try:
        async with asyncio.timeout(_TITLE_S):
            title = await session.page.title()
    except (TimeoutError, PlaywrightError):
        title = ""
    return Tab(id=session.tab, url=_address(session), title=title, active=session is active)


def _address(session: PageSession) -> str:
    return session.tree.main.url if session.tree.main else session.page.url
