"""Requests that open documents, held until a judge has decided; so is the keeping of downloads.

What holds by what. The first request of a navigation, in any frame, tab or new window, is held by the context's route,
over http and https alike: it is the one place that sees a new window's before the window is there. A redirect is held
by the page's own protocol session, which a route does not see; a new window has that session from its first document
on, so until then its redirects are held at the proxy, by host. Requests that open no document (fetch, XHR, beacons,
websockets, pictures) are never held.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qsl

from playwright.async_api import BrowserContext, CDPSession, Request, Response, Route
from playwright.async_api import Error as PlaywrightError

from agentloop.browser.abilities import DocumentRequest, Judge
from agentloop.browser.base import Download
from agentloop.clock import Clock
from agentloop.drivers.page_session import PageSession
from agentloop.errors import AgentLoopError, RequestRefused
from agentloop.guard.network.guard import Boundary

__all__ = ["DocumentGate", "field_names"]

_DOCUMENTS: Final = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]
_PATIENCE_S: Final = 86_400.0
_LAST_WORD_S: Final = 1.0
_BODY_READ: Final = 256 * 1024
_NAMES: Final = 100
_PART_NAME: Final = re.compile(rb'content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]*)"', re.IGNORECASE)


class DocumentGate:
    """One context's gate. Until `hold` it lets everything through, and costs nothing.

    The judge may take minutes: `clock`, by which the driver measures its bounds, stands still meanwhile. What
    the boundary refuses anyway is not judged. A judge that fails lets nothing through.
    """

    def __init__(self, context: BrowserContext, *, boundary: Boundary, clock: Clock) -> None:
        self._context = context
        self._boundary = boundary
        self._clock = clock
        self._judge: Judge | None = None
        self._held: set[asyncio.Future[bool]] = set()
        self._hops: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._windows: dict[Request, str] = {}
        self._closed = False

    def patience(self, seconds: float) -> float:
        """The bound of a call of Playwright's, which knows nothing of a clock that stands still: ours is then alone."""
        return seconds if self._judge is None else _PATIENCE_S

    async def hold(self, judge: Judge, sessions: list[PageSession]) -> None:
        """From now on `judge` decides; `sessions` are the pages that are open."""
        fresh = self._judge is None
        self._judge = judge
        if not fresh:
            return
        await self._context.route("**/*", self._on_route)
        self._context.on("response", self._on_response)
        self._context.on("requestfailed", self._on_failed)
        for session in sessions:
            await self.follow(session)

    async def follow(self, session: PageSession) -> None:
        """Holds the redirects of a page too."""
        if self._judge is None:
            return
        cdp = session.cdp
        cdp.on("Fetch.requestPaused", lambda event: self._on_paused(session, cdp, event))
        await cdp.send("Fetch.enable", {"patterns": _DOCUMENTS})

    async def idle(self) -> None:
        """Returns when nothing is held."""
        while not self._idle.is_set():
            await self._idle.wait()
            # Whoever waited for the decision goes on first, and may hold the next request.
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Ends what is held, refused."""
        self._closed = True
        for task in self._held:
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)
        # What the answers let go on still tells the page so, unless it is gone: then nothing comes back.
        if self._hops:
            await asyncio.wait(self._hops, timeout=_LAST_WORD_S)
            for hop in tuple(self._hops):
                hop.cancel()

    async def keeps(self, download: Download) -> bool:
        """Whether a download may be kept."""
        judge = self._judge
        return judge is None or await self._decided(judge.download(download))

    async def connecting(self, host: str, port: int, scheme: str) -> None:
        """Awaited by the proxy before it connects: while a window is being opened, a host may be where it was sent.

        Raises `RequestRefused` for one that was declined.
        """
        judge = self._judge
        if judge is None or not self._windows:
            return
        method = next((method for method in self._windows.values() if method not in ("GET", "HEAD")), "GET")
        name = f"[{host}]" if ":" in host else host
        url = f"{scheme or ('http' if port == 80 else 'https')}://{name}:{port}/"
        request = DocumentRequest(method=method, url=url, main=True, window=True, redirected=True, page="")
        if not await self._decided(judge.document(request)):
            raise RequestRefused(f"{name}:{port} was declined by a person", host=host, rule="declined")

    # events ------------------------------------------------------------------------------------------

    async def _on_route(self, route: Route) -> None:
        request = route.request
        allowed = True
        if request.is_navigation_request():
            asked = _of_route(request)
            allowed = await self._allows(asked)
            if asked.window and allowed:
                self._windows[request] = request.method
        async with _left_alone():
            await (route.continue_() if allowed else route.abort("aborted"))

    def _on_response(self, response: Response) -> None:
        # One that redirects is followed by the next request of its chain.
        if self._windows and not 300 <= response.status < 400:
            self._windows.pop(_first(response.request), None)

    def _on_failed(self, request: Request) -> None:
        if self._windows:
            self._windows.pop(_first(request), None)

    def _on_paused(self, session: PageSession, cdp: CDPSession, event: dict[str, Any]) -> None:
        task = asyncio.create_task(self._on_hop(session, cdp, event))
        # Kept, for the loop alone does not.
        self._hops.add(task)
        task.add_done_callback(self._hops.discard)

    async def _on_hop(self, session: PageSession, cdp: CDPSession, event: dict[str, Any]) -> None:
        """The first request of a chain is the route's to judge; each one after it is judged here."""
        allowed = True
        if event.get("redirectedRequestId"):
            main = session.tree.main is not None and event["frameId"] == session.tree.main.id
            allowed = await self._allows(_of_event(event["request"], main=main))
        name, more = ("continueRequest", {}) if allowed else ("failRequest", {"errorReason": "Aborted"})
        async with _left_alone():
            await cdp.send(f"Fetch.{name}", {"requestId": event["requestId"], **more})

    async def _allows(self, request: DocumentRequest) -> bool:
        judge = self._judge
        if judge is None or not await self._reachable(request.url):
            return True
        return await self._decided(judge.document(request))

    async def _reachable(self, url: str) -> bool:
        """False for what the proxy is about to refuse, and for what goes nowhere: nobody need be asked."""
        if not url.startswith(("http://", "https://")):
            return False
        try:
            await self._boundary.resolve_url(url)
        except RequestRefused:
            return False
        except AgentLoopError:
            pass  # the name may have no address now, and one in a moment
        return True

    async def _decided(self, judging: Awaitable[bool]) -> bool:
        if self._closed:
            return False
        task = asyncio.ensure_future(judging)
        self._held.add(task)
        self._idle.clear()
        try:
            with self._clock.pause():
                await asyncio.wait([task])
        finally:
            self._held.discard(task)
            if not self._held:
                self._idle.set()
        return not task.cancelled() and task.exception() is None and task.result()


@asynccontextmanager
async def _left_alone() -> AsyncIterator[None]:
    try:
        yield
    except PlaywrightError:
        pass  # the page went on without waiting, or is gone


def _of_route(request: Request) -> DocumentRequest:
    try:
        frame = request.frame
        main, window, page = frame.parent_frame is None, False, frame.page.url
    except PlaywrightError:
        # The page of a new window is not there before its first request has gone out.
        main, window, page = True, True, ""
    return DocumentRequest(
        method=request.method,
        url=request.url,
        main=main,
        window=window,
        redirected=False,
        page=page,
        fields=field_names(request.headers.get("content-type", ""), request.post_data_buffer),
    )


def _first(request: Request) -> Request:
    while request.redirected_from is not None:
        request = request.redirected_from
    return request


def _of_event(request: dict[str, Any], *, main: bool) -> DocumentRequest:
    return DocumentRequest(
        method=request["method"], url=request["url"], main=main, window=False, redirected=True, page="", fields=()
    )


def field_names(kind: str, body: bytes | None) -> tuple[str, ...]:
    """The names of the fields in a form's body, each once, at most 100; never a value."""
    data = (body or b"")[:_BODY_READ]
    if kind.startswith("application/x-www-form-urlencoded"):
        pairs = parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True)
        names = [name for name, _ in pairs]
    elif kind.startswith("multipart/form-data"):
        names = [found.decode("utf-8", "replace") for found in _PART_NAME.findall(data)]
    else:
        names = []
    return tuple(dict.fromkeys(names))[:_NAMES]
