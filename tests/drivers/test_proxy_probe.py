"""Every way to get a browser: its pages are held to the boundary, or it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest

from agentloop.browser.base import Driver
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import DriverError, InvalidInput, RequestRefused
from agentloop.guard import Egress, OwnPorts
from tests.drivers.cdp_relay import without_proxies
from tests.guard.network.origin import Origin, origin

MODES = ["host", "host again", "launch", "cdp", "cdp policy", "cdp unguarded"]
"""How a session can be had: of a launched browser, of one that took another's place, alone, and of a browser that runs
already; one whose machine has a proxy policy of its own, without and with leave."""


@pytest.fixture
async def site() -> AsyncIterator[Origin]:
    async with origin("127.0.0.1") as served:
        yield served


@pytest.fixture
async def forbidden() -> AsyncIterator[Origin]:
    async with origin("127.0.0.2") as served:
        yield served


@asynccontextmanager
async def session(mode: str, running: str, *, allow: list[str], egress: Egress) -> AsyncIterator[Driver]:
    async with AsyncExitStack() as stack:
        if mode == "launch":
            yield await stack.enter_async_context(PlaywrightDriver.launch(allow=allow, egress=egress))
            return
        address = running if mode.startswith("cdp") else None
        if address and mode != "cdp":
            address = await stack.enter_async_context(without_proxies(address))
        host = await stack.enter_async_context(
            BrowserHost.launch(cdp_url=address, dangerously_unguarded=mode == "cdp unguarded")
        )
        if mode == "host again":
            await (await host.browser()).close()
        yield await stack.enter_async_context(host.driver(allow=allow, egress=egress))


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_holds_its_pages_or_refuses_to_start(
    mode: str, running: str, site: Origin, forbidden: Origin
) -> None:
    egress = Egress()
    site.pages["/"] = f"<img src='{forbidden.url}/pixel'>"
    if mode == "cdp policy":
        with pytest.raises(DriverError, match="--dangerously-unguarded"):
            async with session(mode, running, allow=[site.url], egress=egress):
                pass
        assert site.hits == {}
        return

    async with session(mode, running, allow=[site.url], egress=egress) as driver:
        await driver.navigate(site.url)
        if mode != "cdp unguarded":
            with pytest.raises(RequestRefused):
                await driver.navigate(forbidden.url)

    kinds = {"cdp": "tcp-only", "cdp unguarded": "unguarded"}
    assert egress.boundary == kinds.get(mode, "proxy")
    assert bool(forbidden.hits) is (mode == "cdp unguarded")
    assert site.hits["/"] == 1
    if mode != "cdp unguarded":
        told = egress.to_dict()
        assert [place["host"] for place in told["contacted"]] == ["127.0.0.1"]
        assert [place["host"] for place in told["refused"]] == ["127.0.0.2"]


async def test_the_host_says_how_its_pages_are_held(host: BrowserHost, running: str) -> None:
    assert host.boundary == "proxy"
    async with BrowserHost.launch(cdp_url=running) as other:
        assert other.boundary == "tcp-only"
    async with (
        without_proxies(running) as address,
        BrowserHost.launch(cdp_url=address, dangerously_unguarded=True) as last,
    ):
        assert last.boundary == "unguarded"


async def test_leave_that_is_not_needed_changes_nothing(running: str) -> None:
    async with BrowserHost.launch(cdp_url=running, dangerously_unguarded=True) as host:
        assert host.boundary == "tcp-only"


async def test_the_probe_is_told_to_nobody(host: BrowserHost) -> None:
    egress = Egress()
    async with host.driver(egress=egress) as driver:
        assert driver.decisions == ()
        assert await driver.eval("[location.href, history.length]") == ["about:blank", 1]
    assert (egress.to_dict()["contacted"], egress.to_dict()["refused"]) == ([], [])


async def test_pages_are_kept_off_the_debugging_port(running: str) -> None:
    ports = OwnPorts()
    port = int(running.split(":")[2].split("/")[0])
    async with BrowserHost.launch(cdp_url=running, own_ports=ports) as host:
        assert port in ports
        async with host.driver(allow_private=True) as driver:
            with pytest.raises(RequestRefused, match="own-port"):
                await driver.navigate(f"http://127.0.0.1:{port}/json")
    assert port not in ports


@pytest.mark.parametrize("address", ["file:///etc/passwd", "file:///proc/"])
async def test_a_tab_that_somebody_leads_to_another_scheme_is_closed(running: str, site: Origin, address: str) -> None:
    async with BrowserHost.launch(cdp_url=running) as host, host.driver(allow=[site.url]) as driver:
        await driver.navigate(f"{site.url}/mine")
        await lead(running, f"{site.url}/mine", address)
        await until_only_an_empty_page(driver)
        await driver.navigate(f"{site.url}/again")
        assert await driver.eval("document.body.innerText") == "127.0.0.1 /again"


async def lead(running: str, page: str, address: str) -> None:
    """Opens an address in a page as somebody else who is connected to the browser."""
    origin = running.replace("ws://", "http://").partition("/devtools")[0]
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{origin}/json/list") as answer:
            [target] = [each for each in await answer.json() if each["url"] == page]
        async with session.ws_connect(target["webSocketDebuggerUrl"]) as socket:
            await socket.send_json({"id": 1, "method": "Page.navigate", "params": {"url": address}})
            async with asyncio.timeout(20):
                await socket.receive()


async def until_only_an_empty_page(driver: PlaywrightDriver) -> None:
    async with asyncio.timeout(20):
        while [tab.url for tab in await driver.tabs()] != ["about:blank"]:  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.01)


async def test_an_address_that_is_none() -> None:
    with pytest.raises(InvalidInput):
        async with BrowserHost.launch(cdp_url="http://127.0.0.1:99999"):
            pass


async def test_a_request_narrows_what_the_operator_allowed(host: BrowserHost, site: Origin, forbidden: Origin) -> None:
    both = [site.url, forbidden.url]
    async with host.driver(allow=both, narrow=["127.0.0.1:1", forbidden.url, "http://127.0.0.3:1"]) as driver:
        await driver.navigate(forbidden.url)
        with pytest.raises(RequestRefused, match="not-allowed"):
            await driver.navigate(site.url)
    async with host.driver(allow=[site.url], narrow=["*", forbidden.url]) as driver:
        with pytest.raises(RequestRefused, match="not-allowed"):
            await driver.navigate(forbidden.url)
