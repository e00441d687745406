from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from pathlib import Path

import httpx
import pytest
from aiohttp import web

from agentloop.errors import InvalidInput, RequestRefused, WorldError
from agentloop.guard import Boundary, Checked, ClientLimits, GuardedClient, GuardedTransport, NetworkDecision, Url
from agentloop.guard.network.url import parse_url
from tests.packs.web import Names, Site, guarded, served

CERTIFICATE = Path(__file__).with_name("shop.test.pem")
SECRETS = {"Authorization": "Bearer t", "Cookie": "a=b", "X-Api-Key": "k"}


def redirect(site: Site, to: str, status: int = 302) -> str:
    site.routes["/go"] = lambda: web.Response(status=status, headers={"Location": to})
    return f"{site.url}/go"


# Redirects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "method", "after"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
async def test_a_redirect_keeps_or_changes_the_method_as_browsers_do(status: int, method: str, after: str) -> None:
    async with served() as site, guarded(site) as client:
        body = b"" if method == "HEAD" else b"data"
        kind = {"content-type": "text/plain"}
        reply = await client.request(method, redirect(site, "/end", status), body=body, headers=kind)

    assert reply.url == f"{site.url}/end"
    assert site.requests[1].method == after
    assert site.bodies[1] == (b"data" if after == method and method != "HEAD" else b"")
    assert ("content-type" in site.requests[1].headers) == (after == method)


async def test_credentials_stay_with_the_origin_that_they_were_given_for() -> None:
    async with served() as site, served() as other, guarded(site, other) as client:
        headers = {**SECRETS, "Accept": "text/html", "Accept-Language": "de"}
        await client.request("GET", redirect(site, "/same"), headers=headers)
        await client.request("GET", redirect(site, f"{other.url}/elsewhere"), headers=headers)

    assert all(site.requests[1].headers[name] == text for name, text in SECRETS.items())
    assert not SECRETS.keys() & set(other.requests[0].headers)
    assert other.requests[0].headers["accept-language"] == "de"


async def test_another_port_or_scheme_is_another_origin() -> None:
    async with served() as site, served() as other, guarded(site, other) as client:
        await client.request("GET", redirect(site, other.url), headers=SECRETS)

    assert "authorization" not in other.requests[0].headers


async def test_cookies_are_not_kept() -> None:
    async with served() as site, guarded(site) as client:
        site.routes["/set"] = lambda: web.Response(headers={"Set-Cookie": "a=b"})
        assert "a=b" in (await client.request("GET", f"{site.url}/set")).headers["set-cookie"]
        await client.request("GET", site.url)

    assert "cookie" not in site.requests[1].headers


async def test_redirects_without_end_are_left() -> None:
    async with served() as site, guarded(site) as client:
        with pytest.raises(WorldError, match="more than 10 times"):
            await client.request("GET", redirect(site, "/go"))

    assert site.hits["/go"] == 11


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://127.0.0.2/", RequestRefused),
        ("//127.0.0.2/", RequestRefused),
        ("\\\\127.0.0.2/", RequestRefused),
        ("/\\127.0.0.2/", RequestRefused),
        ("file:///etc/passwd", RequestRefused),
        ("http://", WorldError),
        ("http://[", WorldError),
    ],
)
async def test_where_a_redirect_may_not_lead(location: str, error: type[Exception]) -> None:
    async with served() as site, guarded(site) as client:
        with pytest.raises(error):
            await client.request("GET", redirect(site, location))


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("?q", "/go"),
        ("#f", "/go"),
        ("x/../y", "/y"),
        ("/a b", "/a%20b"),
        ("/a?b=\\\\c", "/a"),
    ],
)
async def test_a_relative_redirect_stays_where_it_is(location: str, path: str) -> None:
    async with served() as site, guarded(site, limits=ClientLimits(redirects=1)) as client:
        try:
            reply = await client.request("GET", redirect(site, location), headers=SECRETS)
        except WorldError as error:
            assert path == "/go" and "more than 1" in str(error)
        else:
            assert parse_url(reply.url).path == path
            assert parse_url(reply.url).origin == site.url

    assert all(request.headers["host"] == site.place for request in site.requests)


# Addresses -------------------------------------------------------------------------------------------


async def test_it_connects_to_what_was_checked_and_shows_the_name() -> None:
    async with served() as site:
        names = Names(shop_test=["127.0.0.1"])
        async with guarded(f"http://shop.test:{site.port}", names=names) as client:
            await client.request("GET", f"http://SHOP.test:{site.port}/a%20b?c=d#e")

    assert site.requests[0].headers["host"] == f"shop.test:{site.port}"
    assert site.requests[0].raw_path == "/a%20b?c=d"


async def test_tls_is_checked_against_the_name() -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    shown: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: shown.append(name)
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    async with served(ssl_context=server) as site:
        names = Names(shop_test=["127.0.0.1"], other_test=["127.0.0.1"])
        allow = [f"https://{name}:{site.port}" for name in ("shop.test", "other.test", "127.0.0.1")]
        async with guarded(*allow, names=names, ssl_context=trusting) as client:
            assert (await client.request("GET", f"https://shop.test:{site.port}/")).status == 200
            for name in ("other.test", "127.0.0.1"):
                with pytest.raises(WorldError, match="certificate"):
                    await client.request("GET", f"https://{name}:{site.port}/")
        async with guarded(*allow, names=names) as client:
            with pytest.raises(WorldError, match="certificate"):
                await client.request("GET", f"https://shop.test:{site.port}/")

    assert shown == ["shop.test", "other.test", None, "shop.test"]
    assert len(site.requests) == 1


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with served() as site:

        async def both(host: str) -> list[str]:
            return ["127.0.0.3", "127.0.0.1"]

        boundary = Boundary(allow=[f"http://two.test:{site.port}"], resolver=both)
        async with GuardedClient(boundary) as client:
            assert (await client.request("GET", f"http://two.test:{site.port}/")).status == 200


async def test_a_connection_is_kept_for_its_place_alone() -> None:
    async with served() as first, served("127.0.0.2", first.port) as second:
        names = Names(moves_test=["127.0.0.1", "127.0.0.1", "127.0.0.2"], twin_test=["127.0.0.1"])
        boundary = Boundary(allow=[], allow_private=True, resolver=names)
        async with GuardedClient(boundary) as client:
            url = f"http://moves.test:{first.port}/"
            await client.request("GET", url)
            await client.request("GET", url)
            assert len(first.sockets) == 1
            await client.request("GET", url)
            assert len(second.requests) == 1
            await client.request("GET", f"http://twin.test:{first.port}/")
            assert len(first.sockets) == 2


async def test_an_open_connection_opens_nothing_for_a_request_that_is_refused() -> None:
    async with served() as site:
        boundary = Boundary(allow=[f"http://127.0.0.1:{site.port}/open"])
        async with GuardedClient(boundary) as client:
            assert (await client.request("GET", f"{site.url}/open/x")).status == 200
            for path in ("/closed", "/open/../closed", "/open/%2e%2e/closed", "/open/..%2fclosed", "/opener"):
                with pytest.raises(RequestRefused):
                    await client.request("GET", site.url + path)

    assert list(site.hits) == ["/open/x"]


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as site, served("127.0.0.2") as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        async with guarded(site) as client:
            assert (await client.request("GET", site.url)).status == 200

    assert not proxy.sockets


async def test_an_admission_for_another_host_is_not_used() -> None:
    async with served() as site, served("127.0.0.2") as other:

        async def wrong(url: Url) -> Checked:
            return Checked(host="127.0.0.2", port=other.port, addresses=("127.0.0.2",), rule="allow")

        async with guarded(site) as client:
            with pytest.raises(RequestRefused, match="not what was checked"):
                await client.request("GET", site.url, admit=wrong)

    assert not site.sockets
    assert not other.sockets


# Bounds ----------------------------------------------------------------------------------------------

TEXT = b"the quick brown fox " * 50
BARE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("encoding", "data", "body", "truncated"),
    [
        ("", TEXT, TEXT, False),
        ("identity", TEXT, TEXT, False),
        ("gzip", gzip.compress(TEXT, mtime=0), TEXT, False),
        ("x-gzip", gzip.compress(TEXT, mtime=0) + gzip.compress(b"more", mtime=0), TEXT + b"more", False),
        ("deflate", zlib.compress(TEXT), TEXT, False),
        ("deflate", BARE.compress(TEXT) + BARE.flush(), TEXT, False),
        ("gzip", gzip.compress(TEXT, mtime=0)[:-8], TEXT, True),
        ("gzip", b"", b"", False),
    ],
)
async def test_what_is_compressed_is_decompressed(encoding: str, data: bytes, body: bytes, truncated: bool) -> None:
    async with served() as site, guarded(site) as client:
        site.routes["/"] = lambda: web.Response(body=data, headers={"Content-Encoding": encoding})
        reply = await client.request("GET", site.url)

    assert (reply.body, reply.truncated) == (body, truncated)


@pytest.mark.parametrize(
    ("encoding", "data"), [("gzip", b"no gzip"), ("br", b"x"), ("gzip, gzip", b"x"), ("zip", b"x")]
)
async def test_what_cannot_be_decompressed_is_an_error(encoding: str, data: bytes) -> None:
    async with served() as site, guarded(site) as client:
        site.routes["/"] = lambda: web.Response(body=data, headers={"Content-Encoding": encoding})
        with pytest.raises(WorldError, match="the response is"):
            await client.request("GET", site.url)


@pytest.mark.parametrize("size", [999, 1000, 1001, 100_000])
async def test_a_body_is_cut_at_its_limit(size: int) -> None:
    async with served() as site, guarded(site, limits=ClientLimits(body_bytes=1000)) as client:
        for headers, data in (({}, b"x" * size), ({"Content-Encoding": "gzip"}, gzip.compress(b"x" * size, mtime=0))):
            site.routes["/"] = lambda data=data, headers=headers: web.Response(body=data, headers=headers)  # type: ignore[misc]
            reply = await client.request("GET", site.url)
            assert (len(reply.body), reply.truncated) == (min(size, 1000), size > 1000)


async def test_a_body_that_is_too_long_is_not_sent() -> None:
    async with served() as site, guarded(site, limits=ClientLimits(sent_bytes=10)) as client:
        with pytest.raises(InvalidInput, match="11 bytes"):
            await client.request("POST", site.url, body=b"x" * 11)

    assert not site.sockets


async def test_the_time_that_judging_takes_is_not_the_requests() -> None:
    passed = [0.0]
    async with served() as site, guarded(site, now=lambda: passed[0]) as client:

        async def slowly(url: Url) -> Checked:
            passed[0] += client.limits.timeout_s + 1
            return await client.boundary.resolve_url(url)

        assert (await client.request("GET", site.url, admit=slowly)).status == 200


async def test_the_time_of_all_hops_counts_together() -> None:
    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        passed[0] += 20
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    passed = [0.0]
    async with await asyncio.start_server(slowly, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with guarded(url, limits=ClientLimits(redirects=3), now=lambda: passed[0]) as client:
            with pytest.raises(WorldError, match="did not answer within 30 s"):
                await client.request("GET", url)


async def test_who_gives_no_answer_is_named() -> None:
    async with served() as site:
        closed = site.url
    async with guarded(closed) as client:
        with pytest.raises(WorldError, match=closed):
            await client.request("GET", closed)


async def test_more_requests_than_connections_wait_their_turn() -> None:
    async with served() as site, guarded(site, limits=ClientLimits(connections=2)) as client:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.request("GET", f"{site.url}/{n}")) for n in range(10)]
        assert {task.result().status for task in tasks} == {200}

    assert len(site.sockets) <= 2


async def test_a_cancelled_request_leaves_nothing_open() -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        while await reader.read(1024):
            pass
        writer.close()
        gone.set()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with guarded(url) as client:
            task = asyncio.create_task(client.request("GET", url))
            async with asyncio.timeout(20):
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await gone.wait()


# What is remembered ----------------------------------------------------------------------------------


async def test_every_hop_is_counted_and_told() -> None:
    told: list[NetworkDecision] = []
    async with served() as site, guarded(site, on_decision=told.append) as client:
        await client.request("GET", redirect(site, "/end"))
        with pytest.raises(RequestRefused):
            await client.request("GET", "http://127.0.0.2/")
        with pytest.raises(RequestRefused):
            await client.request("GET", "http://127.0.0.2/")

    counts = {(count.host, count.allowed, count.rule): count.count for count in client.decisions}
    assert counts == {("127.0.0.1", True, "allow"): 2, ("127.0.0.2", False, "not-allowed"): 2}
    assert [decision.allowed for decision in told] == [True, True, False, False]


async def test_a_server_that_fails_is_told_as_an_error_and_counted_once() -> None:
    told: list[NetworkDecision] = []
    async with served() as site:
        closed = site.url
    async with guarded(closed, on_decision=told.append) as client:
        with pytest.raises(WorldError):
            await client.request("GET", closed)

    assert [bool(decision.error) for decision in told] == [False, True]
    assert [count.count for count in client.decisions] == [1]


async def test_a_closed_client_may_be_closed_again() -> None:
    async with served() as site, guarded(site) as client:
        await client.request("GET", site.url)
        await client.aclose()


# The transport alone ---------------------------------------------------------------------------------


async def test_an_httpx_client_is_held_on_every_hop() -> None:
    async with served() as site, served("127.0.0.2") as forbidden:
        transport = GuardedTransport(Boundary(allow=[f"http://{site.place}"]))
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            reply = await client.post(site.url, json={"a": 1}, headers={"Host": "other.test"})
            assert reply.text == "POST /"
            assert (await client.get(redirect(site, "/end"))).text == "GET /end"
            with pytest.raises(RequestRefused):
                await client.get(redirect(site, forbidden.url))

    assert site.bodies[0] == b'{"a":1}'
    assert site.requests[0].headers["host"] == site.place
    assert not forbidden.sockets


async def test_an_httpx_client_reads_its_own_errors() -> None:
    async with served() as site:
        closed = site.url
    async with httpx.AsyncClient(transport=GuardedTransport(Boundary(allow=[closed]))) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(closed)
