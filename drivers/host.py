"""One browser for many sessions."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from playwright.async_api import Browser, BrowserContext, Playwright
from playwright.async_api import Error as PlaywrightError

from agentloop.browser.settle import SettleLimits
from agentloop.drivers.download_manager import DownloadManager
from agentloop.drivers.faults import first_line
from agentloop.drivers.locate import BrowserBinary, find_browser
from agentloop.drivers.playwright_driver import PlaywrightDriver
from agentloop.drivers.playwright_process import start_playwright
from agentloop.drivers.processes import end_processes_with
from agentloop.drivers.proxy_probe import boundary_kind, browser_is_held, page_is_held, pages_kept_off_port
from agentloop.drivers.refusals import Refusals
from agentloop.errors import BrowserLost, BrowserNotFound, Closed, DriverError, DriverTimeout, InvalidInput
from agentloop.guard.network.base import OwnPorts, Resolver
from agentloop.guard.network.egress import BoundaryKind, Egress
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.proxy import FilteringProxy, RefusingProxy

__all__ = ["BrowserHost", "BrowserSandbox", "LaunchOptions", "one_session"]

BrowserSandbox = Literal["auto", "on", "off"]
T = TypeVar("T")

_OPEN_S = 30.0
_CLOSE_S = 5.0
_HANDED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY", "XAUTHORITY")
_HANDED_ON_KINDS = ("LC_", "XDG_", "WAYLAND_", "DBUS_", "FONTCONFIG_", "LD_LIBRARY_", "GTK_", "CHROME_", "PULSE_")
_NO_SANDBOX = ("sandboxing failed", "No usable sandbox", "without --no-sandbox is not supported")
_ARGS = (
    "--site-per-process",  # a headless shell has no site isolation of its own accord
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # names are resolved by the proxies alone
)


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """How a host gets its browser: it starts `binary`, or connects to the one at `cdp_url`."""

    binary: BrowserBinary | None
    sandboxed: bool
    headless: bool
    slow_mo_ms: float
    cdp_url: str | None = None
    unguarded: bool = False


class BrowserHost:
    """A running browser in which sessions are opened; made by `BrowserHost.launch()`.

    `binary` is what was started, None for a browser that was connected to. `sandboxed` tells whether
    it has been started with Chromium's sandbox; of another's browser that is not known. `boundary` tells how its
    pages are held: "proxy"; "tcp-only" in a browser that was connected to, whose WebRTC can still send UDP past the
    proxy; or "unguarded".
    """

    def __init__(
        self,
        playwright: Playwright,
        nowhere: RefusingProxy,
        *,
        own_ports: OwnPorts,
        resolver: Resolver | None,
        options: LaunchOptions,
    ) -> None:
        self.own_ports = own_ports
        self.boundary: BoundaryKind = "proxy" if options.cdp_url is None else "tcp-only"
        self.binary = options.binary
        self.sandboxed = options.sandboxed
        self.version = ""
        self._options = options
        self._resolver = resolver
        self._playwright = playwright
        self._nowhere = nowhere
        self._browser: Browser | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        # An argument that Chromium ignores tells its process from every other one.
        self._tag = f"--agentloop-host={secrets.token_hex(8)}"

    @classmethod
    @asynccontextmanager
    async def launch(
        cls,
        *,
        headless: bool = True,
        browser_sandbox: BrowserSandbox = "auto",
        slow_mo_ms: float = 0,
        executable: str | None = None,
        cdp_url: str | None = None,
        dangerously_unguarded: bool = False,
        own_ports: OwnPorts | None = None,
        resolver: Resolver | None = None,
    ) -> AsyncIterator[BrowserHost]:
        """Starts a browser for the block; it is closed at the end, within 5 s.

        The browser itself is behind a proxy that refuses all: only sessions reach anything. `own_ports` are those
        of this process that pages must never reach; `resolver` turns names into addresses, by default the system's.
        `browser_sandbox`: "auto" is on, and off for root, for whom Chromium has none. `cdp_url` connects to a
        running browser instead, in which sessions get contexts of their own. Whatever the browser, it is refused
        when its contexts do not go through our proxy, unless `dangerously_unguarded`. Raises `BrowserNotFound` when
        there is no browser or it cannot have the sandbox that was asked for, `DriverTimeout` after 30 s, and
        `DriverError` for a browser that cannot be held.
        """
        options = LaunchOptions(
            binary=None if cdp_url else _binary(executable, headed=not headless),
            sandboxed=_wants_sandbox(browser_sandbox) and not cdp_url,
            headless=headless,
            slow_mo_ms=slow_mo_ms,
            cdp_url=cdp_url,
            unguarded=dangerously_unguarded,
        )
        ports = OwnPorts() if own_ports is None else own_ports
        async with AsyncExitStack() as stack:
            playwright = await _started(stack)
            nowhere = await stack.enter_async_context(RefusingProxy(own_ports=ports))
            stack.enter_context(pages_kept_off_port(cdp_url, ports))
            host = cls(playwright, nowhere, own_ports=ports, resolver=resolver, options=options)
            stack.push_async_callback(host.close)
            await host.browser()
            yield host

    async def browser(self) -> Browser:
        """The running browser; a new one when the last one died."""
        if self._closed:
            raise Closed("the browser host is closed")
        async with self._opening:
            if self._browser is None or not self._browser.is_connected():
                self._browser = await self._start()
                self.version = self._browser.version
            return self._browser

    async def close(self) -> None:
        """Closes the browser, within 5 s. A second call does nothing."""
        self._closed = True
        browser, self._browser = self._browser, None
        if browser is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_S):
                await browser.close()
        except (TimeoutError, PlaywrightError):
            await asyncio.to_thread(end_processes_with, self._tag)

    @asynccontextmanager
    async def driver(
        self,
        *,
        allow: Sequence[str] | None = None,
        narrow: Sequence[str] | None = None,
        allow_private: bool = False,
        start_url: str | None = None,
        egress: Egress | None = None,
        viewport: tuple[int, int] = (1280, 720),
        storage_state: bytes | None = None,
        locale: str = "en-US",
        downloads: str | None = None,
        download_bytes: int = 256 * 1024 * 1024,
        settle: SettleLimits | None = None,
    ) -> AsyncIterator[PlaywrightDriver]:
        """A session of its own: cookies, cache and storage are shared with no other one.

        It reaches what `allow` (patterns), `allow_private` and the origin of `start_url` open, by the rule of
        `agentloop.guard.network`, and of it only what `narrow` (patterns, a request's) allows as well. `egress` is
        told of what passes, and caps it. Downloads are kept in the folder `downloads`, else they go with the session;
        what is larger than `download_bytes` is thrown away. `settle` bounds the wait for what an act causes.
        Raises `InvalidInput` for a pattern that a browser cannot be held to, `DriverTimeout`, `BrowserLost`,
        `DriverError` when the session's pages turn out not to be held.
        """
        boundary = Boundary(
            allow=allow,
            start_url=start_url,
            allow_private=allow_private,
            own_ports=self.own_ports,
            resolver=self._resolver,
        )
        boundary = boundary.narrowed(narrow).for_browser()
        refusals = Refusals()
        door = (egress or Egress()).door("page")
        async with FilteringProxy(boundary, on_decision=refusals, door=door) as proxy:
            context = await self._context(
                viewport={"width": viewport[0], "height": viewport[1]},
                locale=locale,
                service_workers="block",
                proxy={"server": proxy.url, "username": proxy.username, "password": proxy.password},
                storage_state=None if storage_state is None else _state(storage_state),
            )
            manager = DownloadManager(folder=downloads, limit=download_bytes)
            driver = PlaywrightDriver(
                context, boundary=boundary, refusals=refusals, downloads=manager, log=proxy, limits=settle
            )
            try:
                await _opened(driver)
                passed = await page_is_held(context.pages[0], proxy)
                door.egress.opened(boundary_kind(self.boundary, passed=passed, unguarded=self._options.unguarded))
                yield driver
            finally:
                await driver.close()

    async def _context(self, **options: Any) -> BrowserContext:
        browser = await self.browser()
        try:
            async with asyncio.timeout(_OPEN_S):
                return await _whole(browser.new_context(**options), _let_go)
        except TimeoutError:
            raise DriverTimeout(f"a browser context was not opened within {_OPEN_S:g} s") from None
        except PlaywrightError as error:
            raise BrowserLost(f"the browser opened no context: {first_line(error)}") from None

    async def _start(self) -> Browser:
        options = self._options
        try:
            async with asyncio.timeout(_OPEN_S):
                if options.cdp_url is not None:
                    return await _whole(self._connect(options.cdp_url), _let_go)
                return await _whole(self._launch(), _let_go)
        except TimeoutError:
            raise DriverTimeout(f"the browser did not start within {_OPEN_S:g} s") from None
        except PlaywrightError as error:
            raise _launch_error(error, options) from None

    async def _connect(self, url: str) -> Browser:
        browser = await self._playwright.chromium.connect_over_cdp(url, slow_mo=self._options.slow_mo_ms)
        try:
            passed = await browser_is_held(browser)
            self.boundary = boundary_kind("tcp-only", passed=passed, unguarded=self._options.unguarded)
        except BaseException:
            await browser.close()
            raise
        return browser

    async def _launch(self) -> Browser:
        options = self._options
        return await self._playwright.chromium.launch(
            executable_path=options.binary.path if options.binary else None,
            headless=options.headless,
            chromium_sandbox=options.sandboxed,
            slow_mo=options.slow_mo_ms,
            proxy={"server": self._nowhere.url},
            args=[*_ARGS, self._tag],
            env=_environment(os.environ),
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )


@asynccontextmanager
async def one_session(
    *,
    headless: bool,
    allow: Sequence[str] | None,
    narrow: Sequence[str] | None,
    allow_private: bool,
    start_url: str | None,
    egress: Egress | None,
    own_ports: OwnPorts | None,
    resolver: Resolver | None,
    viewport: tuple[int, int],
    browser_sandbox: BrowserSandbox,
    slow_mo_ms: float,
    storage_state: bytes | None,
) -> AsyncIterator[PlaywrightDriver]:
    """A host with one driver; see `PlaywrightDriver.launch`."""
    async with (
        BrowserHost.launch(
            headless=headless,
            browser_sandbox=browser_sandbox,
            slow_mo_ms=slow_mo_ms,
            own_ports=own_ports,
            resolver=resolver,
        ) as host,
        host.driver(
            allow=allow,
            narrow=narrow,
            allow_private=allow_private,
            start_url=start_url,
            egress=egress,
            viewport=viewport,
            storage_state=storage_state,
        ) as driver,
    ):
        yield driver


async def _started(stack: AsyncExitStack) -> Playwright:
    try:
        async with asyncio.timeout(_OPEN_S):
            playwright = await _whole(start_playwright(), _stopped)
    except TimeoutError:
        raise DriverTimeout(f"Playwright did not start within {_OPEN_S:g} s") from None
    stack.push_async_callback(_stopped, playwright)
    return playwright


async def _whole(opening: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[None]]) -> T:
    """What `opening` opens. Cancelled half-way, it is let through and undone: else nobody could close what it left."""
    task = asyncio.create_task(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_CLOSE_S)
        if not task.done():
            task.cancel()
        elif not task.cancelled() and task.exception() is None:
            await undo(task.result())
        raise


async def _let_go(opened: Browser | BrowserContext) -> None:
    try:
        async with asyncio.timeout(_CLOSE_S):
            await opened.close()
    except (TimeoutError, PlaywrightError):
        pass  # it goes with what holds it


async def _stopped(playwright: Playwright) -> None:
    try:
        async with asyncio.timeout(_CLOSE_S):
            await playwright.stop()
    except TimeoutError:
        pass  # its process ends with ours, and its browser was ended before


def _binary(executable: str | None, *, headed: bool) -> BrowserBinary:
    environ = None if executable is None else {"AGENTLOOP_CHROMIUM": executable}
    return find_browser(headed=headed, environ=environ)


def _environment(environ: Mapping[str, str]) -> dict[str, str | float | bool]:
    """What a browser needs to know of ours: keys and passwords are not among it."""
    return {name: value for name, value in environ.items() if name in _HANDED_ON or name.startswith(_HANDED_ON_KINDS)}


def _wants_sandbox(choice: str) -> bool:
    if choice not in ("auto", "on", "off"):
        raise InvalidInput(f"browser_sandbox is {choice!r}; it can be auto, on or off")
    if choice == "auto":
        return not (hasattr(os, "geteuid") and os.geteuid() == 0)
    return choice == "on"


def _launch_error(error: PlaywrightError, options: LaunchOptions) -> DriverError:
    text = str(error)
    if options.binary is None:
        return BrowserNotFound(f"no browser answers at {options.cdp_url}: {first_line(error)}")
    path = options.binary.path
    if any(words in text for words in _NO_SANDBOX):
        return BrowserNotFound(
            f"{path} has no sandbox here. Three ways on: run as an ordinary user on a system with user "
            "namespaces switched on; in a container, use the seccomp profile that ships with agentloop; or, where the "
            "pages are trusted, give --browser-sandbox off."
        )
    if "Missing X server" in text or "$DISPLAY" in text:
        return BrowserNotFound(f"{path} has no display to show windows on. Leave --headed out or use xvfb-run.")
    lines = [line for line in text.splitlines() if line.strip()]
    return BrowserNotFound(f"{path} did not start: {' '.join(lines[:3])[:400]}")


async def _opened(driver: PlaywrightDriver) -> None:
    try:
        await driver.open()
    except TimeoutError:
        raise DriverTimeout(f"a page was not opened within {_OPEN_S:g} s") from None
    except PlaywrightError as error:
        raise BrowserLost(f"the browser opened no page: {first_line(error)}") from None


def _state(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise InvalidInput("the storage state is not what storage_state() gave: it is no JSON") from None
