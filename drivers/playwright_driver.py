"""The driver for Chromium through Playwright: one browser context, nearly all abilities."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from agentloop.browser.abilities import Frame, Judge, PageScript, Watched
from agentloop.browser.base import Dialog, DialogAnswer, Download, MouseButton, Tab
from agentloop.browser.settle import SettleLimits
from agentloop.clock import Clock
from agentloop.drivers import pressing
from agentloop.drivers.act_watch import ActWatch, as_tab
from agentloop.drivers.address import check_reachable, checked_address
from agentloop.drivers.dialog_handler import DialogHandler
from agentloop.drivers.document_gate import DocumentGate
from agentloop.drivers.download_manager import DownloadManager
from agentloop.drivers.elements import first_match
from agentloop.drivers.evaluation import evaluate
from agentloop.drivers.file_chooser_handler import check_files, taken
from agentloop.drivers.navigation import goto
from agentloop.drivers.page_keeper import PageKeeper
from agentloop.drivers.page_session import PageSession
from agentloop.drivers.picture import take_picture
from agentloop.drivers.refusals import Refusals
from agentloop.drivers.tab_set import TabSet
from agentloop.drivers.trace import Trace
from agentloop.drivers.typing import insert_text, send_keys
from agentloop.errors import InvalidInput
from agentloop.guard.network.base import DecisionCount, OwnPorts, Resolver
from agentloop.guard.network.egress import Egress
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.proxy import FilteringProxy
from agentloop.records import Json

__all__ = ["PlaywrightDriver"]

_GOTO_S = 30.0
_ACT_S = 5.0
_WAIT_S = 30.0
_READ_S = 5.0
_PICTURE_S = 10.0
_STATE_S = 10.0
_OPEN_S = 30.0
_CLOSE_S = 5.0
_MARGIN_S = 0.3


class PlaywrightDriver:
    """One session in a browser: made by `BrowserHost.driver()` or `PlaywrightDriver.launch()`.

    Acts of the ten methods wait for what they cause by themselves, unless they happen inside `watch()`.
    """

    def __init__(
        self,
        context: BrowserContext,
        *,
        boundary: Boundary,
        refusals: Refusals,
        downloads: DownloadManager,
        log: FilteringProxy,
        limits: SettleLimits | None = None,
    ) -> None:
        self._context = context
        self._boundary = boundary
        self._refusals = refusals
        self._log = log
        # Stands still while somebody decides about what is held.
        self._clock = Clock()
        self._gate = DocumentGate(context, boundary=boundary, clock=self._clock)
        self._tabs = TabSet(context, on_open=self._on_open, on_attached=self._on_attached, clock=self._clock)
        self._keeper = PageKeeper(context, self._tabs)
        self._dialogs = DialogHandler(context)
        self._downloads = downloads
        downloads.keeps = self._gate.keeps
        log.before_connect = self._gate.connecting
        self._acts = ActWatch(
            tabs=self._tabs,
            dialogs=self._dialogs,
            downloads=self._downloads,
            refusals=refusals,
            limits=limits or SettleLimits(),
            gate=self._gate,
            clock=self._clock,
        )
        self._trace = Trace(context)
        self._closed = False

    @classmethod
    def launch(
        cls,
        *,
        headless: bool = True,
        allow: Sequence[str] | None = None,
        narrow: Sequence[str] | None = None,
        allow_private: bool = False,
        start_url: str | None = None,
        egress: Egress | None = None,
        own_ports: OwnPorts | None = None,
        resolver: Resolver | None = None,
        viewport: tuple[int, int] = (1280, 720),
        browser_sandbox: Literal["auto", "on", "off"] = "auto",
        slow_mo_ms: float = 0,
        storage_state: bytes | None = None,
    ) -> AbstractAsyncContextManager[PlaywrightDriver]:
        """A browser of its own with one session in it; both are closed at the end of the block.

        The arguments are those of `BrowserHost.launch` and `BrowserHost.driver`.
        """
        from agentloop.drivers.host import one_session

        return one_session(
            headless=headless,
            allow=allow,
            narrow=narrow,
            allow_private=allow_private,
            start_url=start_url,
            egress=egress,
            own_ports=own_ports,
            resolver=resolver,
            viewport=viewport,
            browser_sandbox=browser_sandbox,
            slow_mo_ms=slow_mo_ms,
            storage_state=storage_state,
        )

    @property
    def decisions(self) -> tuple[DecisionCount, ...]:
        """How often the session's boundary allowed and refused each host, in the order of first sight; bounded."""
        return self._log.decisions

    async def open(self) -> None:
        """Opens the first page. Called once, by whoever made the driver."""
        async with asyncio.timeout(_OPEN_S):
            await self._tabs.open()

    async def close(self) -> None:
        """Closes the context and all its pages, within 5 s. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._keeper.close()
        await self._gate.close()
        await self._tabs.stop()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._context.close()
        except (TimeoutError, PlaywrightError):
            pass  # the browser is gone, or goes with its host
        await self._downloads.close()

    # the ten methods ---------------------------------------------------------------------------------

    async def navigate(self, url: str) -> None:
        """Opens `url` and returns once its DOM is parsed and what it loads has settled."""
        address = checked_address(url)
        await check_reachable(address, self._boundary)
        bound = _GOTO_S + _MARGIN_S
        async with self.watch(), self._keeper.page(f"opening {address}", bound, fresh=True) as session:
            await session.stop_scripts()
            await goto(session.page, address, refusals=self._refusals, seconds=self._gate.patience(_GOTO_S))
        self._keeper.opened()

    async def click(self, selector: str) -> None:
        """Clicks the first match with trusted input."""
        async with self.watch(), first_match(self._keeper, selector, "click", _ACT_S) as match:
            match.session.pointer = None
            await match.element.click(timeout=match.timeout)

    async def send_keys(self, selector: str, text: str) -> None:
        """Types after what the field holds; dates, colours and ranges are set as a whole."""
        async with self.watch(), first_match(self._keeper, selector, "send_keys", _ACT_S) as match:
            await send_keys(match.session, match.element, text, timeout=match.timeout)

    async def wait_visible(self, selector: str) -> None:
        """Returns when a match can be seen."""
        async with self._keeper.page(f"waiting to see {selector!r}", _WAIT_S + _MARGIN_S) as session:
            visible = session.page.locator(f"css={selector}").filter(visible=True).first
            await visible.wait_for(state="attached", timeout=_WAIT_S * 1000)

    async def wait_ready(self, selector: str) -> None:
        """Returns when there is a match."""
        async with self._keeper.page(f"waiting for {selector!r}", _WAIT_S + _MARGIN_S) as session:
            await session.page.locator(f"css={selector}").first.wait_for(state="attached", timeout=_WAIT_S * 1000)

    async def text(self, selector: str) -> str:
        """The rendered text of the first match."""
        async with first_match(self._keeper, selector, "text", _READ_S) as match:
            return await match.element.inner_text(timeout=match.timeout)

    async def value(self, selector: str) -> str:
        """The current value of the form control that matches first."""
        async with first_match(self._keeper, selector, "value", _READ_S) as match:
            return await match.element.input_value(timeout=match.timeout)

    async def eval(self, expression: str) -> Json:
        """The JSON value of an expression in the page's main world."""
        async with self._keeper.page("eval", _READ_S + _MARGIN_S) as session:
            return await evaluate(session.cdp, expression, seconds=_READ_S)

    async def key_event(self, text: str) -> None:
        """Presses a named key or types `text` into whatever has the focus."""
        name = pressing.pressed_key(text)
        async with self.watch(), self._keeper.page("key_event", _ACT_S) as session:
            keyboard = session.page.keyboard
            await (keyboard.press(name) if name is not None else keyboard.type(text))

    async def screenshot(self) -> bytes:
        """The viewport as PNG."""
        return await self.capture()

    # Frames ------------------------------------------------------------------------------------------

    async def frames(self) -> tuple[Frame, ...]:
        """All frames of the active page, the main frame first."""
        async with self._keeper.page("listing frames", _READ_S) as session:
            return await session.frames()

    async def run_script(self, frame: str, script: PageScript, argument: Json) -> Json:
        """The JSON value of `script(argument)` in the frame's isolated world."""
        async with self._keeper.page(script.name, _READ_S) as session:
            return await session.run_script(frame, script, argument)

    async def child_frame(self, frame: str, script: PageScript, argument: Json) -> str | None:
        """The id of the frame inside the element that `script(argument)` returns."""
        async with self._keeper.page(script.name, _READ_S) as session:
            return await session.child_frame(frame, script, argument)

    # Hidden ------------------------------------------------------------------------------------------

    async def listeners(self, frame: str, script: PageScript) -> int:
        """Tells the script of the elements that listen for clicks."""
        async with self._keeper.page(script.name, _READ_S) as session:
            return await session.listeners(frame, script)

    async def closed_roots(self, frame: str, script: PageScript) -> int:
        """Tells the script of closed shadow roots."""
        async with self._keeper.page(script.name, _READ_S) as session:
            return await session.closed_roots(frame, script)

    # Pointer -----------------------------------------------------------------------------------------

    async def pointer_click(
        self, x: float, y: float, *, button: MouseButton = "left", count: int = 1, modifiers: Sequence[str] = ()
    ) -> None:
        """Moves to the point and clicks there with trusted input."""
        async with self._keeper.page(f"click at {x:g}, {y:g}", _ACT_S) as session:
            await pressing.click(session, x, y, button=button, count=count, modifiers=modifiers)

    async def pointer_move(self, x: float, y: float) -> None:
        """Moves the pointer there."""
        async with self._keeper.page(f"move to {x:g}, {y:g}", _ACT_S) as session:
            await pressing.move(session, x, y)

    async def pointer_drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drags from one point to another, in steps."""
        async with self._keeper.page("drag", _ACT_S) as session:
            await pressing.drag(session, start, end)

    async def wheel(self, x: float, y: float, dx: float, dy: float) -> None:
        """Turns the wheel over a point."""
        async with self._keeper.page("wheel", _ACT_S) as session:
            await pressing.move(session, x, y)
            await session.page.mouse.wheel(dx, dy)

    # Keys --------------------------------------------------------------------------------------------

    async def press(self, keys: str) -> None:
        """Presses one chord in whatever has the focus."""
        name = pressing.key_name(keys)
        async with self._keeper.page(f"press {keys}", _ACT_S) as session:
            await session.page.keyboard.press(name)

    async def insert_text(self, text: str) -> None:
        """Puts text in at the caret in one go."""
        async with self._keeper.page("inserting text", _ACT_S) as session:
            await insert_text(session, text)

    async def type_text(self, text: str) -> None:
        """Types character by character with key events."""
        async with self._keeper.page("typing", _ACT_S) as session:
            await session.page.keyboard.type(text)

    # Activity ----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[Watched]:
        """Opened around an act; see `Activity.watch`. Inside of another watch it waits for nothing."""
        if self._acts.watching:
            yield Watched()
            return
        session = await self._keeper.active("watching")
        async with self._acts.watch(session) as watched:
            yield watched

    # Tabs --------------------------------------------------------------------------------------------

    async def tabs(self) -> tuple[Tab, ...]:
        """Open tabs, oldest first; at most ten, a page that opens more finds them closed."""
        active = await self._keeper.active("tabs")
        await self._tabs.attached()
        return tuple(await asyncio.gather(*(as_tab(session, active) for session in self._tabs.sessions)))

    async def switch_tab(self, tab: str) -> None:
        """Makes a tab the active one."""
        session = self._tabs.named(tab)
        self._tabs.active = session
        async with self._keeper.page(f"switching to tab {tab}", _ACT_S):
            await session.page.bring_to_front()

    async def close_tab(self, tab: str) -> None:
        """Closes a tab; the last one left is replaced by an empty page."""
        await self._keeper.discard(self._tabs.named(tab))
        await self._keeper.active("closing a tab")

    # Dialogs, downloads, files -----------------------------------------------------------------------

    async def dialogs(self) -> tuple[Dialog, ...]:
        """Dialogs of this session, oldest first, the newest 100."""
        return self._dialogs.seen()

    async def on_dialog(self, answer: DialogAnswer | None) -> None:
        """How to answer from now on; pages that ask whether to leave are always left."""
        self._dialogs.answer = answer

    async def downloads(self) -> tuple[Download, ...]:
        """Downloads of this session, oldest first."""
        return self._downloads.seen()

    async def wait_download(self, download: str) -> Download:
        """The download once it has ended."""
        return await self._downloads.wait(download)

    @asynccontextmanager
    async def choose_files(self, paths: Sequence[str]) -> AsyncIterator[None]:
        """Answers the file chooser that opens inside the block."""
        check_files(paths)
        session = await self._keeper.active("choosing files")
        with session.choosers.expected() as opening:
            yield
            chooser = await taken(opening, paths, seconds=_ACT_S)
        async with self._keeper.page("choosing files", _ACT_S):
            await chooser.set_files(list(paths))

    # StorageState, Capture, Recorder, Interception --------------------------------------------------------

    async def storage_state(self) -> bytes:
        """Cookies, local storage and IndexedDB, as JSON for `BrowserHost.driver(storage_state=…)`."""
        async with self._keeper.page("storage state", _STATE_S):
            return json.dumps(await self._context.storage_state(indexed_db=True)).encode()

    async def capture(
        self,
        *,
        clip: tuple[float, float, float, float] | None = None,
        scale: float = 1.0,
        format: Literal["png", "jpeg"] = "png",
        full_page: bool = False,
    ) -> bytes:
        """A picture of the viewport, of a part of it, or of the whole page."""
        async with self._keeper.page("screenshot", _PICTURE_S) as session:
            return await take_picture(session.cdp, clip=clip, scale=scale, format=format, full_page=full_page)

    async def start_recording(self, folder: str, *, trace: bool = False) -> None:
        """Begins a Playwright trace, the only recording there is so far."""
        if not trace:
            raise InvalidInput("this driver records traces only: start_recording(folder, trace=True)")
        async with self._keeper.page("start of the trace", _STATE_S):
            await self._trace.start(folder)

    async def stop_recording(self) -> tuple[str, ...]:
        """Ends it and returns the path of the trace."""
        async with self._keeper.page("end of the trace", _OPEN_S):
            return await self._trace.stop()

    async def hold(self, judge: Judge) -> None:
        """Requests for documents, and downloads, wait for the judge from now on; see `DocumentGate`."""
        await self._tabs.attached()
        await self._gate.hold(judge, self._tabs.sessions)

    async def settled(self) -> None:
        """Returns when nothing is held."""
        await self._gate.idle()

    # inside ------------------------------------------------------------------------------------------

    def _on_open(self, session: PageSession) -> None:
        self._acts.follow(session)
        self._downloads.watch(session.page)

    async def _on_attached(self, session: PageSession) -> None:
        self._downloads.measure(session.cdp)
        await self._gate.follow(session)
