"""Whether a browser's pages are held to the boundary: a page asks for a host that cannot exist, and our proxy must
see it. What a browser was told of a proxy proves nothing: a policy of its machine may say otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError

from agentloop.errors import DriverError, InvalidInput
from agentloop.guard.network.base import OwnPorts
from agentloop.guard.network.egress import BoundaryKind
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.proxy import FilteringProxy

__all__ = ["boundary_kind", "browser_is_held", "page_is_held", "pages_kept_off_port"]

_PROBE_S = 15.0


async def page_is_held(page: Page, proxy: FilteringProxy) -> bool:
    """Whether what an empty page of the proxy's context asks for comes by the proxy. It leaves no trace in the page."""
    try:
        async with asyncio.timeout(_PROBE_S):
            await page.evaluate(_source(), f"http://{proxy.probe_host}/")
    except (TimeoutError, PlaywrightError):
        pass  # an answer is not expected
    return proxy.probed


async def browser_is_held(browser: Browser) -> bool:
    """Whether a new context of the browser goes through a proxy of ours."""
    async with FilteringProxy(Boundary(allow=[])) as proxy:
        credentials = {"server": proxy.url, "username": proxy.username, "password": proxy.password}
        try:
            async with asyncio.timeout(_PROBE_S):
                context = await browser.new_context(proxy=credentials)  # type: ignore[arg-type]
                try:
                    return await page_is_held(await context.new_page(), proxy)
                finally:
                    await context.close()
        except (TimeoutError, PlaywrightError):
            return False


def boundary_kind(kind: BoundaryKind, *, passed: bool, unguarded: bool) -> BoundaryKind:
    """How pages of a mode are held after its probe. Raises `DriverError` when they are not and nobody said so."""
    if passed:
        return kind
    if unguarded:
        return "unguarded"
    raise DriverError(
        "This browser does not send its requests through our proxy, so nothing would hold its pages back. "
        "Start it on this machine and without a proxy policy of its own, or, where every page is trusted, say "
        "--dangerously-unguarded (dangerously_unguarded=True)."
    )


@contextmanager
def pages_kept_off_port(cdp_url: str | None, own_ports: OwnPorts) -> Iterator[None]:
    """Keeps pages off the debugging port of a browser that was connected to, for the block."""
    try:
        port = urlsplit(cdp_url or "").port
    except ValueError as error:
        raise InvalidInput(f"{cdp_url!r} is no address of a browser: {error}") from None
    if port is None:
        yield
        return
    own_ports.add(port)
    try:
        yield
    finally:
        own_ports.discard(port)


@cache
def _source() -> str:
    return files("agentloop.drivers").joinpath("proxy_probe.js").read_text(encoding="utf-8").partition("\n")[2]
