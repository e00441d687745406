"""One page: its protocol sessions, its frames, and our scripts in their isolated worlds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame as PlaywrightFrame

from agentloop.browser.abilities import Frame, PageScript
from agentloop.clock import Clock
from agentloop.drivers.faults import DOCUMENT_GONE, first_line, is_closed
from agentloop.drivers.file_chooser_handler import FileChooserHandler
from agentloop.drivers.frame_tree import FrameRecord, FrameTree
from agentloop.drivers.hidden_parts import teach_closed_roots, teach_listeners
from agentloop.drivers.installed import Installed, value_of
from agentloop.errors import DriverError, DriverTimeout, TargetError
from agentloop.records import Json

__all__ = ["PageCrashed", "PageGone", "PageSession"]

T = TypeVar("T")

_WORLD = "agentloop"
_GROUP = "agentloop-frames"
_ANSWERS_S = 0.5
_STOP_S = 1.0


class PageCrashed(DriverError):
    """The page's renderer died; the driver replaces the page before anyone outside sees this."""


class PageGone(DriverError):
    """The page, its context or the browser was closed during a call; the driver finds out which."""


class PageSession:
    """A page and the session that was opened with it.

    The session is opened at the page's birth because one opened later gets no answer from a page whose
    script never ends, and `Runtime.terminateExecution` is the only cure for such a page.
    """

    def __init__(self, page: Page, number: int, *, clock: Clock | None = None) -> None:
        self.page = page
        self._clock = clock or Clock()
        self.number = number
        self.tab = f"t{number}"
        self.tree = FrameTree()
        self.choosers = FileChooserHandler()
        self.crashed = False
        self.pointer: tuple[float, float] | None = None
        self._cdp: CDPSession | None = None
        self._remote: dict[PlaywrightFrame, CDPSession] = {}
        self._local: set[PlaywrightFrame] = set()
        self._scopes: set[asyncio.Timeout] = set()

    @property
    def cdp(self) -> CDPSession:
        """The page's own protocol session."""
        if self._cdp is None:
            raise PageGone("the page was closed before it could be used")
        return self._cdp

    async def attach(self) -> None:
        """Opens the session and learns the frames there are."""
        page = self.page
        page.on("crash", self._on_crash)
        page.on("framenavigated", self._ask_again)
        page.on("framedetached", self._forget_frame)
        self.choosers.attach(page)
        cdp = await page.context.new_cdp_session(page)
        self.tree.watch(cdp)
        await cdp.send("Page.enable")
        self.tree.load(cdp, (await cdp.send("Page.getFrameTree"))["frameTree"])
        self._cdp = cdp

    @asynccontextmanager
    async def bounded(self, what: str, seconds: float) -> AsyncIterator[None]:
        """Ends what runs in its block after `seconds` of the clock, or at once when the renderer crashes.

        Raises `DriverTimeout`, `PageCrashed` or `PageGone`; other errors of Playwright pass.
        """
        if self.crashed:
            raise PageCrashed(what)
        try:
            async with self._clock.timeout(seconds) as scope:
                self._scopes.add(scope)
                yield
        except TimeoutError:
            if self.crashed:
                raise PageCrashed(what) from None
            raise DriverTimeout(f"{what} was not done within {seconds:g} s") from None
        except PlaywrightError as error:
            if self.crashed or "Target crashed" in str(error):
                raise PageCrashed(what) from None
            if is_closed(error) or self.page.is_closed():
                raise PageGone(f"{what}: {first_line(error)}") from None
            raise
        finally:
            self._scopes.discard(scope)

    async def answers(self) -> bool:
        """False when a script that never ends keeps the main frame from answering."""
        try:
            async with asyncio.timeout(_ANSWERS_S):
                await self.cdp.send("Runtime.evaluate", {"expression": "1", "returnByValue": True})
        except (TimeoutError, PlaywrightError):
            return False
        return True

    async def stop_scripts(self) -> bool:
        """Ends a script that never ends, in whatever frame; True when one was stopped and the page answers again."""
        if self.crashed or await self.answers():
            return False
        for session in [self.cdp, *self._remote.values()]:
            try:
                async with asyncio.timeout(_STOP_S):
                    await session.send("Runtime.terminateExecution")
            except (TimeoutError, PlaywrightError):
                continue
        return await self.answers()

    # frames ------------------------------------------------------------------------------------------

    async def frames(self) -> tuple[Frame, ...]:
        """The page's frames, the main frame first; asks the pages nothing."""
        await self._find_remote_frames()
        return self.tree.listed()

    async def _find_remote_frames(self) -> None:
        """Opens a session for every frame that lives in another process.

        Playwright does not say which frames those are: asking for a session fails for the others,
        and a frame that failed is asked again once it has navigated.
        """
        known = self.page.frames
        if len(known) == len(self.tree) and not self.tree.incomplete:
            return
        for frame in known[1:]:
            if frame not in self._remote and frame not in self._local:
                await self._reach(frame)

    async def _reach(self, frame: PlaywrightFrame) -> None:
        try:
            session = await self.page.context.new_cdp_session(frame)
        except PlaywrightError:
            self._local.add(frame)
            return
        self._remote[frame] = session
        session.on("close", lambda *_: self._lost_session(frame, session))
        self.tree.watch(session)
        try:
            await session.send("Page.enable")
            self.tree.load(session, (await session.send("Page.getFrameTree"))["frameTree"])
        except PlaywrightError:
            self._lost_session(frame, session)

    def _lost_session(self, frame: PlaywrightFrame, session: CDPSession) -> None:
        if self._remote.get(frame) is session:
            del self._remote[frame]
        self.tree.lose(session)

    def _ask_again(self, frame: PlaywrightFrame) -> None:
        self._local.discard(frame)

    def _forget_frame(self, frame: PlaywrightFrame) -> None:
        self._local.discard(frame)
        self._remote.pop(frame, None)

    # scripts -----------------------------------------------------------------------------------------

    async def run_script(self, frame: str, script: PageScript, argument: Json) -> Json:
        """The JSON value of `script(argument)` in the frame's isolated world."""
        return await self._with_script(frame, script, lambda installed: installed.ask(argument))

    async def child_frame(self, frame: str, script: PageScript, argument: Json) -> str | None:
        """The id of the frame inside the element that `script(argument)` returns."""
        return await self._with_script(frame, script, lambda installed: _frame_inside(installed, argument))

    async def listeners(self, frame: str, script: PageScript) -> int:
        """Tells the script of the elements that listen for clicks; gives the number of new ones."""
        return await self._with_script(frame, script, teach_listeners)

    async def closed_roots(self, frame: str, script: PageScript) -> int:
        """Tells the script of the closed shadow roots it suspects; gives their number."""
        return await self._with_script(frame, script, teach_closed_roots)

    async def _record(self, frame: str) -> FrameRecord:
        record = self.tree.get(frame)
        if record is None or record.session is None:
            await self._find_remote_frames()
            record = self.tree.get(frame)
        if record is None or record.session is None:
            raise TargetError("the frame is gone: its page has changed", reason="stale")
        return record

    async def _with_script(self, frame: str, script: PageScript, use: Callable[[Installed], Awaitable[T]]) -> T:
        """What `use` makes of the installed script. Tried again, once, when its document was replaced meanwhile."""
        for last in (False, True):
            record = await self._record(frame)
            session = record.session or self.cdp
            try:
                function = record.functions.get(script.name) or await self._install(record, session, script)
                return await use(Installed(record=record, cdp=session, function=function, name=script.name))
            except PlaywrightError as error:
                if not any(words in str(error) for words in DOCUMENT_GONE):
                    raise self._stale_or(error, frame) from None
                record.forget()
                if last:
                    raise TargetError("the frame's document changed while it was read", reason="stale") from None
        raise AssertionError("unreachable")

    def _stale_or(self, error: PlaywrightError, frame: str) -> Exception:
        if "No frame for given id" in str(error) or (frame and is_closed(error) and not self.page.is_closed()):
            return TargetError("the frame is gone: its page has changed", reason="stale")
        return error

    async def _install(self, record: FrameRecord, session: CDPSession, script: PageScript) -> str:
        if record.context is None:
            world = await session.send("Page.createIsolatedWorld", {"frameId": record.id, "worldName": _WORLD})
            record.context = world["executionContextId"]
        expression = "(" + script.source.strip().rstrip(";") + "\n)"
        answer = await session.send("Runtime.evaluate", {"expression": expression, "contextId": record.context})
        function: str = value_of(answer, script.name)["objectId"]
        record.functions[script.name] = function
        return function

    # events ------------------------------------------------------------------------------------------

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True
        for scope in self._scopes:
            scope.reschedule(0)


async def _frame_inside(installed: Installed, argument: Json) -> str | None:
    element = await installed.ask_for_object(argument, group=_GROUP)
    if element is None:
        return None
    node = (await installed.cdp.send("DOM.describeNode", {"objectId": element}))["node"]
    await installed.cdp.send("Runtime.releaseObject", {"objectId": element})
    child: str | None = node.get("frameId")
    return child
