"""What a real Chromium can reach from behind the proxy, counted by the servers it should not reach."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Error, Page, async_playwright

from agentloop.drivers import find_browser
from agentloop.errors import AgentLoopError
from agentloop.guard import Boundary, FilteringProxy, NetworkDecision, OwnPorts, RefusingProxy, parse_url
from tests.guard.network.origin import Origin, origin, say, until
from tests.guard.network.test_url import CANONICAL, NO_URL

ARGS = [
    "--site-per-process",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
]
VECTORS = Path(__file__).with_name("vectors.html")
MEASURED = {
    "img", "fetch", "xhr", "beacon", "socket", "events", "iframe", "iframe-redirect", "fetch-redirect", "form-post",
    "popup", "worker", "shared-worker", "service-worker", "background", "font", "preload", "prefetch", "ping", "object",
    "embed", "meta-refresh", "speculation",
}  # fmt: skip
"""The 23 ways of which docs/adr/0005 tells how each kind of enforcement fared."""
LOOPBACK = [
    "127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "localhost", "localhost.",
    "0.0.0.0", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "foo.localhost", "[::1]", "[::]",
]  # fmt: skip


@pytest_asyncio.fixture(scope="module")
async def launch_proxy() -> AsyncIterator[RefusingProxy]:
    async with RefusingProxy() as proxy:
        yield proxy


@pytest_asyncio.fixture(scope="module")
async def browser(launch_proxy: RefusingProxy) -> AsyncIterator[Browser]:
    async with launched(ARGS, launch_proxy) as browser:
        yield browser


@asynccontextmanager
async def launched(args: list[str], launch_proxy: RefusingProxy) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser().path, args=args, proxy={"server": launch_proxy.url}
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def context_behind(browser: Browser, proxy: FilteringProxy) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(
        proxy={"server": proxy.url, "username": proxy.username, "password": proxy.password}
    )
    try:
        yield context
    finally:
        await context.close()


@asynccontextmanager
async def page_behind(browser: Browser, proxy: FilteringProxy) -> AsyncIterator[Page]:
    async with context_behind(browser, proxy) as context:
        yield await context.new_page()


async def try_everything(page: Page, site: Origin, target: Origin) -> set[str]:
    """Sets every way of `vectors.html` off against `target`; returns their names."""
    site.pages["/vectors"] = await asyncio.to_thread(VECTORS.read_text, "utf-8")
    await page.goto(f"{site.url}/vectors?to={target.url}")
    names: list[str] = await page.evaluate("names")
    await page.evaluate("go()")
    return set(names)


async def test_a_page_reaches_the_allowed_host_by_every_way_and_the_other_by_none(
    browser: Browser, site: Origin, forbidden: Origin
) -> None:
    async with origin("127.0.0.1") as allowed:
        refused: list[NetworkDecision] = []

        def note(decision: NetworkDecision) -> None:
            if not decision.allowed:
                refused.append(decision)

        async with FilteringProxy(Boundary(allow=[site.place, allowed.place]), on_decision=note) as proxy:
            async with page_behind(browser, proxy) as page:
                names = await try_everything(page, site, allowed)
                await until(lambda: {path.removeprefix("/v/") for path in allowed.hits} >= names)
            assert names >= MEASURED
            assert not refused

            async with page_behind(browser, proxy) as page:
                await try_everything(page, site, forbidden)
                # Behind a proxy a browser does not even try to prefetch from another site.
                await until(lambda: len(refused) >= len(names - {"speculation"}))

    assert forbidden.hits == {}
    assert {(decision.host, decision.port) for decision in refused} == {("127.0.0.2", forbidden.port)}


async def test_a_websocket_works_through_the_proxy(browser: Browser, site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.url])) as proxy, page_behind(browser, proxy) as page:
        await page.goto(site.url)
        said = await page.evaluate(
            "url => new Promise(done => { const socket = new WebSocket(url);"
            " socket.onopen = () => socket.send('hello'); socket.onmessage = message => done(message.data); })",
            f"ws://{site.place}/ws",
        )
    assert said == "echo hello"


async def test_a_refused_page_says_so(browser: Browser, site: Origin, forbidden: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.url])) as proxy, page_behind(browser, proxy) as page:
        for url in (forbidden.url, f"{site.url}/redirect?to={forbidden.url}/after"):
            response = await page.goto(url)
            assert response is not None
            assert (response.status, response.headers["x-agentloop-blocked"]) == (403, "1")
        with pytest.raises(Error, match="ERR_TUNNEL_CONNECTION_FAILED"):
            await page.goto(f"https://{forbidden.place}/")
    assert forbidden.hits == {}
    assert {count.rule for count in proxy.decisions if not count.allowed} == {"not-allowed"}


async def test_no_spelling_of_loopback_gets_through(browser: Browser, site: Origin) -> None:
    async with origin("127.0.0.1") as hidden, origin("::1", hidden.port) as hidden_v6:
        open_boundary = Boundary(allow=[site.url], allow_private=True)
        for boundary, arrives in ((Boundary(allow=[site.url]), False), (open_boundary, True)):
            async with FilteringProxy(boundary) as proxy, page_behind(browser, proxy) as page:
                await page.goto(site.url)
                for number, spelling in enumerate(LOOPBACK):
                    url = f"http://{spelling}:{hidden.port}/{number}"
                    await page.evaluate("url => fetch(url, {mode: 'no-cors'}).then(() => 1, () => 0)", url)
            arrived = len(hidden.hits) + len(hidden_v6.hits)
            assert arrived == (len(LOOPBACK) if arrives else 0)


async def test_two_contexts_have_two_boundaries(browser: Browser, site: Origin, forbidden: Origin) -> None:
    async with (
        FilteringProxy(Boundary(allow=[site.url])) as one,
        FilteringProxy(Boundary(allow=[forbidden.url])) as two,
        page_behind(browser, one) as first,
        page_behind(browser, two) as second,
    ):
        statuses = []
        for page in (first, second):
            for url in (site.url, forbidden.url):
                response = await page.goto(url)
                statuses.append(response.status if response else 0)
    assert statuses == [200, 403, 403, 200]


async def test_wrong_credentials_reach_nothing(browser: Browser, site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.url])) as proxy:
        wrong = {"server": proxy.url, "username": proxy.username, "password": "wrong"}
        context = await browser.new_context(proxy=wrong)  # type: ignore[arg-type]
        try:
            page = await context.new_page()
            response = await page.goto(site.url)
            assert response is not None
            assert response.status == 407
        finally:
            await context.close()
    assert site.hits == {}


async def test_a_context_without_a_proxy_reaches_nothing(
    browser: Browser, launch_proxy: RefusingProxy, site: Origin
) -> None:
    context = await browser.new_context()
    try:
        page = await context.new_page()
        response = await page.goto(site.url)
        assert response is not None
        assert response.status == 403
    finally:
        await context.close()
    assert site.hits == {}
    assert "outside-session" in {count.rule for count in launch_proxy.decisions}


async def test_our_own_ports_are_closed_to_pages(browser: Browser) -> None:
    own = OwnPorts()
    async with RefusingProxy(own_ports=own) as other:
        boundary = Boundary(allow_private=True, own_ports=own)
        async with FilteringProxy(boundary) as proxy, page_behind(browser, proxy) as page:
            for port in (proxy.port, other.port):
                response = await page.goto(f"http://localhost:{port}/")
                assert response is not None
                assert response.status == 403
    assert {count.rule for count in proxy.decisions} == {"own-port"}


class Datagrams(asyncio.DatagramProtocol):
    """Counts what arrives."""

    def __init__(self) -> None:
        self.count = 0

    def datagram_received(self, data: bytes, address: object) -> None:
        self.count += 1


@pytest.mark.parametrize("guarded", [True, False])
async def test_webrtc_stays_inside(launch_proxy: RefusingProxy, site: Origin, guarded: bool) -> None:
    loop = asyncio.get_running_loop()
    transport, datagrams = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.2", 0))
    try:
        port = transport.get_extra_info("sockname")[1]
        async with (
            launched(ARGS if guarded else ARGS[:-1], launch_proxy) as browser,
            FilteringProxy(Boundary(allow=[site.url])) as proxy,
            page_behind(browser, proxy) as page,
        ):
            await page.goto(site.url)
            gathering = page.evaluate(
                "url => new Promise(done => { const peer = new RTCPeerConnection({iceServers: [{urls: url}]});"
                " peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done();"
                " peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)); })",
                f"stun:127.0.0.2:{port}",
            )
            task = asyncio.ensure_future(gathering)
            try:
                await until(lambda: task.done() or datagrams.count > 0)
            finally:
                task.cancel()
                await asyncio.wait([task])
    finally:
        transport.close()
    assert (datagrams.count == 0) is guarded


async def test_urls_are_read_as_chromium_reads_them(browser: Browser) -> None:
    texts = [text for text, _ in CANONICAL] + NO_URL
    context = await browser.new_context()
    try:
        page = await context.new_page()
        theirs = await page.evaluate(
            "texts => texts.map(text => { try {"
            " const {protocol, hostname, port, pathname, search, hash} = new URL(text);"
            " return [protocol, hostname, port, pathname, search, hash]; } catch { return null; } })",
            texts,
        )
    finally:
        await context.close()

    for text, their in zip(texts, theirs, strict=True):
        try:
            url = parse_url(text)
        except AgentLoopError:
            continue
        assert their is not None, text
        protocol, host, port, path, query, fragment = their
        assert (f"{url.scheme}:", url.host) == (protocol, host.strip("[]").removesuffix(".")), text
        assert url.authority.removeprefix(f"[{url.host}]").removeprefix(url.host) == (f":{port}" if port else ""), text
        assert (url.path, url.query, url.fragment) == (path, query[1:], fragment[1:]), text


async def test_nobody_learns_the_credentials(browser: Browser, site: Origin) -> None:
    site.pages["/"] = "<p>shop"
    async with FilteringProxy(Boundary(allow=[site.url])) as proxy, page_behind(browser, proxy) as page:
        await page.goto(site.url)
        asked = await page.evaluate("fetch('/challenge').then(answer => answer.status, () => 0)")
        after = await page.goto(f"{site.url}/after")
        secrets = [proxy.password.encode(), base64.b64encode(f"{proxy.username}:{proxy.password}".encode())]
        commands = await asyncio.to_thread(command_lines)

    assert asked != 200
    assert site.hits["/challenge"] == 1
    assert after is not None and after.status == 200
    for request in site.requests:
        assert "proxy-authorization" not in {name.lower() for name in request.headers}
    assert commands
    assert not [secret for secret in secrets if secret in commands]


def command_lines() -> bytes:
    """Those of all processes of this machine, which any of its users can read."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


async def test_another_process_is_refused_without_the_credentials(browser: Browser, site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.url])) as proxy, page_behind(browser, proxy) as page:
        await page.goto(f"{site.url}/mine")
        for request in (f"GET {site.url}/theirs HTTP/1.1", f"CONNECT {site.place} HTTP/1.1"):
            answer = await say(proxy.port, f"{request}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 407 ")
    assert set(site.hits) <= {"/mine", "/favicon.ico"}


async def test_webtransport_stays_inside(browser: Browser, site: Origin) -> None:
    loop = asyncio.get_running_loop()
    transport, datagrams = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.2", 0))
    try:
        port = transport.get_extra_info("sockname")[1]
        async with FilteringProxy(Boundary(allow=[site.url])) as proxy, page_behind(browser, proxy) as page:
            await page.goto(site.url)
            done = await page.evaluate(
                "url => { try { const there = new WebTransport(url); there.closed.catch(() => {});"
                " return there.ready.then(() => 'open', () => 'failed'); } catch (error) { return error.name; } }",
                f"https://127.0.0.2:{port}/",
            )
    finally:
        transport.close()
    assert done != "open"
    assert datagrams.count == 0
