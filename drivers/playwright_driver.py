"""The driver for Chromium through Playwright: one browser context, all abilities."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from playwright.async_api import BrowserContext, Locator
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agentloop.browser.base import Frame, MouseButton, PageScript
from agentloop.drivers.address import checked_address
from agentloop.drivers.chords import chord, is_chord
from agentloop.drivers.evaluation import evaluate
from agentloop.drivers.faults import navigation_error, target_error, translated
from agentloop.drivers.page_session import PageCrashed, PageGone, PageSession
from agentloop.drivers.picture import take_picture
from agentloop.drivers.tab_set import TabSet
from agentloop.drivers.typing import send_keys
from agentloop.errors import BrowserLost, Closed, DriverError, DriverTimeout, TargetError
from agentloop.records import Json

__all__ = ["PlaywrightDriver"]

_GOTO_S = 30.0
_ACT_S = 5.0
_WAIT_S = 30.0
_READ_S = 5.0
_PICTURE_S = 10.0
_OPEN_S = 30.0
_CLOSE_S = 5.0
_MARGIN_S = 1.0
_DRAG_STEPS = 10


class PlaywrightDriver:
    """One session in a browser: made by `BrowserHost.driver()` or `PlaywrightDriver.launch()`."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._tabs = TabSet(context, on_open=self._on_open)
        self._closed = False
        self._crashes = 0

    async def open(self) -> None:
        """Opens the first page. Called once by whoever made the driver."""
        async with asyncio.timeout(_OPEN_S):
            await self._tabs.open()

    async def close(self) -> None:
        """Closes the context and all its pages, within 5 s. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._tabs.stop()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._context.close()
        except (TimeoutError, PlaywrightError):
            pass  # the browser is gone, or goes with its host

    # the ten methods ---------------------------------------------------------------------------------

    async def navigate(self, url: str) -> None:
        """Opens `url` and returns once its DOM is parsed."""
        address = checked_address(url)
        async with self._page(f"opening {address}", _GOTO_S + _MARGIN_S, fresh=True) as session:
            await session.stop_scripts()
            await self._goto(session, address)
        self._crashes = 0

    async def click(self, selector: str) -> None:
        """Clicks the first match with trusted input."""
        async with self._element(selector, "click", _ACT_S) as (element, timeout):
            await element.click(timeout=timeout)

    async def send_keys(self, selector: str, text: str) -> None:
        """Types after what the field holds; dates, colours and ranges are set as a whole."""
        async with self._element(selector, "send_keys", _ACT_S) as (element, timeout):
            await send_keys(element, text, timeout=timeout)

    async def wait_visible(self, selector: str) -> None:
        """Returns when a match can be seen."""
        async with self._page(f"waiting to see {selector!r}", _WAIT_S + _MARGIN_S) as session:
            visible = session.page.locator(f"css={selector}").filter(visible=True).first
            await visible.wait_for(state="attached", timeout=_WAIT_S * 1000)

    async def wait_ready(self, selector: str) -> None:
        """Returns when there is a match."""
        async with self._page(f"waiting for {selector!r}", _WAIT_S + _MARGIN_S) as session:
            await session.page.locator(f"css={selector}").first.wait_for(state="attached", timeout=_WAIT_S * 1000)

    async def text(self, selector: str) -> str:
        """The rendered text of the first match."""
        async with self._element(selector, "text", _READ_S) as (element, timeout):
            return await element.inner_text(timeout=timeout)

    async def value(self, selector: str) -> str:
        """The current value of the form control that matches first."""
        async with self._element(selector, "value", _READ_S) as (element, timeout):
            return await element.input_value(timeout=timeout)

    async def eval(self, expression: str) -> Json:
        """The JSON value of an expression in the page's main world."""
        async with self._page("eval", _READ_S + _MARGIN_S) as session:
            return await evaluate(session.cdp, expression, seconds=_READ_S)

    async def key_event(self, text: str) -> None:
        """Presses a named key or types `text` into whatever has the focus."""
        async with self._page("key_event", _ACT_S) as session:
            keyboard = session.page.keyboard
            await (keyboard.press(chord(text)) if is_chord(text) else keyboard.type(text))

    async def screenshot(self) -> bytes:
        """The viewport as PNG."""
        return await self.capture()

    # Frames ------------------------------------------------------------------------------------------

    async def frames(self) -> tuple[Frame, ...]:
        """All frames of the active page, the main frame first."""
        async with self._page("listing frames", _READ_S) as session:
            return await session.frames()

    async def run_script(self, frame: str, script: PageScript, argument: Json) -> Json:
        """The JSON value of `script(argument)` in the frame's isolated world."""
        async with self._page(script.name, _READ_S) as session:
            return await session.run_script(frame, script, argument)

    async def child_frame(self, frame: str, script: PageScript, argument: Json) -> str | None:
        """The id of the frame inside the element that `script(argument)` returns."""
        async with self._page(script.name, _READ_S) as session:
            return await session.child_frame(frame, script, argument)

    # Pointer -----------------------------------------------------------------------------------------

    async def pointer_click(
        self, x: float, y: float, *, button: MouseButton = "left", count: int = 1, modifiers: Sequence[str] = ()
    ) -> None:
        """Moves to the point and clicks there with trusted input."""
        held = [chord(name) for name in modifiers]
        async with self._page(f"click at {x:g}, {y:g}", _ACT_S) as session, _held(session, held):
            await session.page.mouse.click(x, y, button=button, click_count=count)

    async def pointer_move(self, x: float, y: float) -> None:
        """Moves the pointer there."""
        async with self._page(f"move to {x:g}, {y:g}", _ACT_S) as session:
            await session.page.mouse.move(x, y)

    async def pointer_drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drags from one point to another, in steps."""
        async with self._page("drag", _ACT_S) as session:
            mouse = session.page.mouse
            await mouse.move(*start)
            await mouse.down()
            try:
                await mouse.move(*end, steps=_DRAG_STEPS)
            finally:
                await mouse.up()

    async def wheel(self, x: float, y: float, dx: float, dy: float) -> None:
        """Turns the wheel over a point."""
        async with self._page("wheel", _ACT_S) as session:
            await session.page.mouse.move(x, y)
            await session.page.mouse.wheel(dx, dy)

    # Keys --------------------------------------------------------------------------------------------

    async def press(self, keys: str) -> None:
        """Presses one chord in whatever has the focus."""
        pressed = chord(keys)
        async with self._page(f"press {keys}", _ACT_S) as session:
            await session.page.keyboard.press(pressed)

    async def insert_text(self, text: str) -> None:
        """Puts text in at the caret in one go."""
        async with self._page("inserting text", _ACT_S) as session:
            await session.page.keyboard.insert_text(text)

    async def type_text(self, text: str) -> None:
        """Types character by character with key events."""
        async with self._page("typing", _ACT_S) as session:
            await session.page.keyboard.type(text)

    # Capture -----------------------------------------------------------------------------------------

    async def capture(
        self,
        *,
        clip: tuple[float, float, float, float] | None = None,
        scale: float = 1.0,
        format: Literal["png", "jpeg"] = "png",
        full_page: bool = False,
    ) -> bytes:
        """A picture of the viewport, of a part of it, or of the whole page."""
        async with self._page("screenshot", _PICTURE_S) as session:
            return await take_picture(session.cdp, clip=clip, scale=scale, format=format, full_page=full_page)

    # inside ------------------------------------------------------------------------------------------

    def _on_open(self, session: PageSession) -> None:
        pass

    async def _goto(self, session: PageSession, url: str) -> None:
        try:
            await session.page.goto(url, wait_until="domcontentloaded", timeout=_GOTO_S * 1000)
        except PlaywrightTimeout:
            raise DriverTimeout(f"{url} did not load within {_GOTO_S:g} s") from None
        except PlaywrightError as error:
            if "net::" not in str(error):
                raise
            raise navigation_error(error, url) from None

    @asynccontextmanager
    async def _page(self, what: str, seconds: float, *, fresh: bool = False) -> AsyncIterator[PageSession]:
        """The active page for one bounded call, and what to do when it dies or hangs in it.

        `fresh` says that the call does not need what the page showed: a crashed page is replaced silently.
        """
        session = await self._active(what, fresh=fresh)
        try:
            async with session.bounded(what, seconds):
                yield session
        except PageCrashed:
            raise await self._after_crash(session, what) from None
        except PageGone:
            raise await self._after_close(session, what) from None
        except PlaywrightTimeout:
            raise await self._after_timeout(session, f"{what} was not done in time") from None
        except DriverTimeout as error:
            raise await self._after_timeout(session, str(error)) from None
        except PlaywrightError as error:
            raise translated(error, what) from None

    async def _active(self, what: str, *, fresh: bool) -> PageSession:
        if self._closed:
            raise Closed("the driver is closed")
        if not self._connected:
            raise BrowserLost(f"{what}: the browser is gone")
        session = self._tabs.active
        if session is None:
            return await self._replace(None)
        if session.crashed:
            lost = await self._after_crash(session, what)
            if not fresh or isinstance(lost, BrowserLost):
                raise lost
            return await self._active(what, fresh=False)
        return session

    @property
    def _connected(self) -> bool:
        browser = self._context.browser
        return browser is not None and browser.is_connected()

    async def _replace(self, session: PageSession | None) -> PageSession:
        """An empty page in place of a dead one."""
        try:
            async with asyncio.timeout(_OPEN_S):
                fresh = await self._tabs.open()
        except (TimeoutError, PlaywrightError) as error:
            raise BrowserLost(f"the browser no longer opens pages: {error}") from None
        if session is not None:
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await self._tabs.close(session)
            except (TimeoutError, PlaywrightError):
                pass  # a dead page may refuse to close; it goes with its context
        return fresh

    async def _after_crash(self, session: PageSession, what: str) -> DriverError:
        self._crashes += 1
        if self._crashes > 1 or not self._connected:
            return BrowserLost(f"{what}: the page crashed again right after it had been replaced")
        await self._replace(session)
        return DriverError(f"{what}: the page crashed and was replaced by an empty one; open an address to go on")

    async def _after_close(self, session: PageSession, what: str) -> DriverError:
        # The end of the pages is reported before the end of the browser.
        for _ in range(10):
            if not self._connected:
                return BrowserLost(f"{what}: the browser died")
            await asyncio.sleep(0.05)
        if self._closed:
            return BrowserLost(f"{what}: the driver was closed during the call")
        if self._tabs.active is None:
            await self._replace(None)
        return DriverError(f"{what}: the page was closed meanwhile; another one is active now")

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

    @asynccontextmanager
    async def _element(self, selector: str, verb: str, seconds: float) -> AsyncIterator[tuple[Locator, float]]:
        """The first match of a selector and the time-out, in milliseconds, for a call on it."""
        async with self._page(f"{verb} {selector!r}", seconds + _MARGIN_S) as session:
            element = session.page.locator(f"css={selector}").first
            try:
                yield element, seconds * 1000
            except PlaywrightTimeout as error:
                if await session.answers() and not await element.count():
                    raise TargetError(f"nothing matches {selector!r}", reason="missing") from None
                raise target_error(error, selector) or error from None
            except PlaywrightError as error:
                if "Node is not" not in str(error):
                    raise
                raise TargetError(f"{selector!r} is no element that {verb} works on", reason="unfit") from None

    @classmethod
    def launch(
        cls,
        *,
        headless: bool = True,
        allow: Sequence[str] | None = None,
        allow_private: bool = False,
        start_url: str | None = None,
        viewport: tuple[int, int] = (1280, 720),
        browser_sandbox: Literal["auto", "on", "off"] = "auto",
        slow_mo_ms: float = 0,
        storage_state: bytes | None = None,
    ) -> AbstractAsyncContextManager[PlaywrightDriver]:
        """A browser of its own with one session in it; both are closed at the end of the block."""
        from agentloop.drivers.host import one_session

        return one_session(
            headless=headless,
            allow=allow,
            allow_private=allow_private,
            start_url=start_url,
            viewport=viewport,
            browser_sandbox=browser_sandbox,
            slow_mo_ms=slow_mo_ms,
            storage_state=storage_state,
        )


@asynccontextmanager
async def _held(session: PageSession, modifiers: Sequence[str]) -> AsyncIterator[None]:
    keyboard = session.page.keyboard
    pressed: list[str] = []
    try:
        for name in modifiers:
            await keyboard.down(name)
            pressed.append(name)
        yield
    finally:
        for name in reversed(pressed):
            await keyboard.up(name)
