from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import aiohttp
import pytest

from agentloop.errors import Closed, InvalidInput
from agentloop.guard import (
    Boundary,
    DecisionCount,
    FilteringProxy,
    NetworkDecision,
    OwnPorts,
    ProxyLimits,
    RefusingProxy,
)
from tests.guard.network.origin import Origin, proxy_address, say, until

LIMITS = ProxyLimits()


def credentials(proxy: FilteringProxy, *, password: str | None = None) -> bytes:
    pair = f"{proxy.username}:{proxy.password if password is None else password}"
    return b"Proxy-Authorization: Basic " + base64.b64encode(pair.encode()) + b"\r\n"


def get(proxy: FilteringProxy, url: str, *headers: str) -> bytes:
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"GET {url} HTTP/1.1\r\nHost: x\r\n{lines}".encode() + credentials(proxy) + b"\r\n"


# Plain HTTP ---------------------------------------------------------------------------------------


async def test_requests_pass_on_kept_connections(site: Origin, client: aiohttp.ClientSession) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        for number in range(5):
            async with client.get(f"{site.url}/p{number}?q=%20a", proxy=proxy_address(proxy)) as response:
                assert (response.status, await response.text()) == (200, f"127.0.0.1 /p{number}")
        assert proxy.connections == 1

    assert len(site.sockets) == 1
    assert site.requests[0].raw_path == "/p0?q=%20a"
    assert site.requests[0].headers["Host"] == site.place


@pytest.mark.parametrize("size", [0, 1, 70_000, 900_000])
@pytest.mark.parametrize("chunked", [False, True])
async def test_bodies_pass_both_ways(site: Origin, client: aiohttp.ClientSession, size: int, chunked: bool) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        for _ in range(2):
            async with client.post(
                f"{site.url}/echo", data=body, chunked=chunked or None, proxy=proxy_address(proxy)
            ) as response:
                assert await response.read() == body


async def test_answers_without_a_body_leave_the_connection_usable(site: Origin, client: aiohttp.ClientSession) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        address = proxy_address(proxy)
        async with client.get(f"{site.url}/empty", proxy=address) as response:
            assert response.status == 204
        async with client.head(f"{site.url}/head", proxy=address) as response:
            assert response.headers["Content-Length"] != "0"
        async with client.get(f"{site.url}/after", proxy=address) as response:
            assert response.status == 200
        assert proxy.connections == 1


async def test_a_stream_is_not_held_back(site: Origin, client: aiohttp.ClientSession) -> None:
    async with (
        FilteringProxy(Boundary(allow=[site.place])) as proxy,
        client.get(f"{site.url}/events", proxy=proxy_address(proxy)) as response,
    ):
        assert await response.content.readuntil(b"\n\n") == b"data: first\n\n"
        site.go_on.set()
        assert await response.content.read() == b"data: second\n\n"


async def test_a_client_that_leaves_a_stream_is_noticed(site: Origin, client: aiohttp.ClientSession) -> None:
    limits = replace(LIMITS, linger_s=0.05)
    async with FilteringProxy(Boundary(allow=[site.place]), limits=limits) as proxy:
        async with client.get(f"{site.url}/events", proxy=proxy_address(proxy)) as response:
            await response.content.readuntil(b"\n\n")
        await until(lambda: proxy.connections == 0)


async def test_headers_that_concern_only_one_hop_are_dropped(site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        await say(
            proxy.port,
            get(
                proxy, f"{site.url}/a#frag", "Proxy-Connection: keep-alive", "Connection: close, X-Mine", "X-Mine: 1"
            ).replace(b"Host: x", b"Host: evil.test\r\nX-Theirs: 2\r\nKeep-Alive: 1\r\nTE: trailers"),
        )

    (request,) = site.requests
    assert {name.lower() for name in request.headers} == {"host", "x-theirs"}
    assert request.headers["Host"] == site.place
    assert request.raw_path == "/a"


async def test_a_server_cannot_pretend_to_be_the_boundary(site: Origin, client: aiohttp.ClientSession) -> None:
    async with (
        FilteringProxy(Boundary(allow=[site.place])) as proxy,
        client.get(f"{site.url}/imposter", proxy=proxy_address(proxy)) as response,
    ):
        assert response.headers["X-Kept"] == "1"
        assert not [name for name in response.headers if name.startswith("X-Agentloop")]


async def test_a_half_closed_client_still_gets_its_answer(site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        answer = await say(proxy.port, get(proxy, f"{site.url}/half"), close_half=True)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"127.0.0.1 /half")


async def test_requests_sent_ahead_are_answered_in_order(site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        ahead = get(proxy, f"{site.url}/one") + get(proxy, f"{site.url}/two", "Connection: close")
        answer = await say(proxy.port, ahead)

    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.index(b"/one") < answer.index(b"/two")


async def test_a_kept_connection_that_died_is_replaced(client: aiohttp.ClientSession) -> None:
    served = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request, promises to keep the connection, and drops it on the next."""
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, FilteringProxy(Boundary(allow=[f"127.0.0.1:{port}"])) as proxy:
        for _ in range(3):
            async with client.get(f"http://127.0.0.1:{port}/", proxy=proxy_address(proxy)) as response:
                assert await response.text() == "ok"
    assert served == 3


# Tunnels ------------------------------------------------------------------------------------------


async def test_a_tunnel_carries_bytes_and_half_closes(site: Origin) -> None:
    async def upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    server = await asyncio.start_server(upper, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, FilteringProxy(Boundary(allow=[f"https://127.0.0.1:{port}"])) as proxy:
        head = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n".encode() + credentials(proxy) + b"\r\n"
        answer = await say(proxy.port, head + b"early " + b"late" * 50_000, close_half=True)

    head_end = answer.index(b"\r\n\r\n") + 4
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer[head_end:] == b"EARLY " + b"LATE" * 50_000
    assert proxy.decisions == (DecisionCount(host="127.0.0.1", port=port, allowed=True, rule="allow", count=1),)


async def test_websockets_pass(site: Origin, client: aiohttp.ClientSession) -> None:
    async with (
        FilteringProxy(Boundary(allow=[site.place])) as proxy,
        client.ws_connect(f"{site.url}/ws", proxy=proxy_address(proxy)) as socket,
    ):
        for word in ("one", "two"):
            await socket.send_str(word)
            assert await socket.receive_str() == f"echo {word}"
    assert site.hits["/ws"] == 1


# Refusals -----------------------------------------------------------------------------------------


async def test_a_refused_request_never_arrives(site: Origin, forbidden: Origin, client: aiohttp.ClientSession) -> None:
    decided: list[NetworkDecision] = []
    async with FilteringProxy(Boundary(allow=[site.place]), on_decision=decided.append) as proxy:
        address = proxy_address(proxy)
        for _ in range(2):
            async with client.post(f"{forbidden.url}/secret", data=b"x" * 1000, proxy=address) as response:
                assert (response.status, response.headers["X-Agentloop-Blocked"]) == (403, "1")
                assert f"--allow {forbidden.url}" in await response.text()
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await client.ws_connect(f"{forbidden.url}/ws", proxy=address)
        tunnel = f"CONNECT {forbidden.place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode()
        answer = await say(proxy.port, tunnel + credentials(proxy) + b"\r\n")

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"X-Agentloop-Blocked: 1" in answer
    assert not forbidden.requests
    assert proxy.decisions == (
        DecisionCount(host="127.0.0.2", port=forbidden.port, allowed=False, rule="not-allowed", count=4),
    )
    assert [decision.scheme for decision in decided] == ["http", "http", "http", "tunnel"]
    assert all("--allow" in decision.reason and decision.at > 0 for decision in decided)


async def test_a_refusal_leaves_the_connection_usable(
    site: Origin, forbidden: Origin, client: aiohttp.ClientSession
) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        for url, status in ((forbidden.url, 403), (site.url, 200), (forbidden.url, 403), (site.url, 200)):
            async with client.get(url, proxy=proxy_address(proxy)) as response:
                assert response.status == status
    assert not forbidden.requests


@pytest.mark.parametrize(
    ("request_line", "rule"),
    [
        (b"GET /path HTTP/1.1", "malformed"),
        (b"GET https://127.0.0.1/ HTTP/1.1", "scheme"),
        (b"GET ftp://127.0.0.1/ HTTP/1.1", "scheme"),
        (b"GET http:///path HTTP/1.1", "not-allowed"),
        (b"GET http://a..b/ HTTP/1.1", "malformed"),
        (b"CONNECT 127.0.0.1 HTTP/1.1", "malformed"),
        (b"CONNECT http://127.0.0.1:80 HTTP/1.1", "malformed"),
        (b"CONNECT [fe80::1]:80 HTTP/1.1", "link-local"),
        (b"CONNECT 169.254.169.254:80 HTTP/1.1", "metadata"),
    ],
)
async def test_what_cannot_be_a_destination(request_line: bytes, rule: str) -> None:
    async with FilteringProxy(Boundary(allow=[])) as proxy:
        data = request_line + b"\r\nHost: x\r\nConnection: close\r\n" + credentials(proxy) + b"\r\n"
        answer = await say(proxy.port, data)

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert [count.rule for count in proxy.decisions] == [rule]


async def test_a_name_that_changes_its_address_is_refused(
    site: Origin, forbidden: Origin, client: aiohttp.ClientSession
) -> None:
    answers = ["127.0.0.1", "127.0.0.2", "127.0.0.1"]

    async def resolver(host: str) -> Sequence[str]:
        return [answers.pop(0)]

    boundary = Boundary(allow=[f"rebind.test:{site.port}"], resolver=resolver)
    statuses = []
    async with FilteringProxy(boundary) as proxy:
        for _ in range(3):
            url = f"http://rebind.test:{site.port}/"
            headers = {"Connection": "close"}
            async with client.get(url, proxy=proxy_address(proxy), headers=headers) as response:
                statuses.append((response.status, response.headers.get("X-Agentloop-Blocked")))

    assert statuses == [(200, None), (403, "1"), (200, None)]
    assert [count.rule for count in proxy.decisions] == ["allow", "rebinding"]
    assert site.requests[0].headers["Host"] == f"rebind.test:{site.port}"


async def test_a_kept_connection_stays_on_the_checked_address(site: Origin, client: aiohttp.ClientSession) -> None:
    answers = ["127.0.0.1", "127.0.0.2"]

    async def resolver(host: str) -> Sequence[str]:
        return [answers.pop(0)]

    async with FilteringProxy(Boundary(allow=[f"rebind.test:{site.port}"], resolver=resolver)) as proxy:
        for _ in range(3):
            async with client.get(f"http://rebind.test:{site.port}/", proxy=proxy_address(proxy)) as response:
                assert response.status == 200
    assert answers == ["127.0.0.2"]
    assert len(site.sockets) == 1


# What cannot be reached ---------------------------------------------------------------------------


async def test_an_allowed_host_that_does_not_answer_is_not_a_refusal(client: aiohttp.ClientSession) -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.close()

    server = await asyncio.start_server(rude, "127.0.0.1", 0)
    rude_port = server.sockets[0].getsockname()[1]
    closed = await asyncio.start_server(rude, "127.0.0.1", 0)
    closed_port = closed.sockets[0].getsockname()[1]
    closed.close()
    await closed.wait_closed()

    async def resolver(host: str) -> Sequence[str]:
        raise OSError("no such name")

    decided: list[NetworkDecision] = []
    allow = [f"127.0.0.1:{rude_port}", f"127.0.0.1:{closed_port}", "gone.test"]
    async with server, FilteringProxy(Boundary(allow=allow, resolver=resolver), on_decision=decided.append) as proxy:
        for place in (f"127.0.0.1:{closed_port}", f"127.0.0.1:{rude_port}", "gone.test"):
            async with client.get(f"http://{place}/", proxy=proxy_address(proxy)) as response:
                assert response.status == 502
                assert response.headers["X-Agentloop-Unreachable"] == "1"
                assert "X-Agentloop-Blocked" not in response.headers
        for place in (f"127.0.0.1:{closed_port}", "gone.test:443"):
            head = (
                f"CONNECT {place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode() + credentials(proxy) + b"\r\n"
            )
            assert (await say(proxy.port, head)).startswith(b"HTTP/1.1 502 ")

    assert all(decision.allowed for decision in decided)
    assert [bool(decision.error) for decision in decided] == [True, False, True, True, True, True]


async def test_the_next_address_is_tried(site: Origin, client: aiohttp.ClientSession) -> None:
    async def resolver(host: str) -> Sequence[str]:
        return ["127.0.0.3", "127.0.0.1"]

    async with (
        FilteringProxy(Boundary(allow=[f"two.test:{site.port}"], resolver=resolver)) as proxy,
        client.get(f"http://two.test:{site.port}/", proxy=proxy_address(proxy)) as response,
    ):
        assert response.status == 200


# Credentials --------------------------------------------------------------------------------------


async def test_nobody_else_is_served(site: Origin, client: aiohttp.ClientSession) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as first, FilteringProxy(Boundary(allow=[])) as second:
        for address in (first.url, proxy_address(first, password="wrong"), proxy_address(first, password="")):
            async with client.get(site.url, proxy=address) as response:
                assert response.status == 407
                assert response.headers["Proxy-Authenticate"].startswith("Basic ")
        foreign = f"http://{second.username}:{second.password}@127.0.0.1:{first.port}"
        async with client.get(site.url, proxy=foreign) as response:
            assert response.status == 407
        head = f"CONNECT {site.place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        assert (await say(first.port, head)).startswith(b"HTTP/1.1 407 ")

    assert not site.requests
    assert first.decisions == (
        DecisionCount(host="127.0.0.1", port=site.port, allowed=False, rule="credentials", count=3),
    )


async def test_proxies_cannot_be_reached_through_each_other(client: aiohttp.ClientSession) -> None:
    own = OwnPorts()
    async with RefusingProxy(own_ports=own) as launch, AsyncExitStack() as stack:
        boundary = Boundary(allow_private=True, own_ports=own)
        proxies = [await stack.enter_async_context(FilteringProxy(boundary)) for _ in range(3)]
        for port in [launch.port, *(proxy.port for proxy in proxies)]:
            async with client.get(f"http://127.0.0.1:{port}/", proxy=proxy_address(proxies[0])) as response:
                assert response.status == 403
    assert {count.rule for count in proxies[0].decisions} == {"own-port"}
    assert not [port for port in range(1, 65536) if port in own]


async def test_the_launch_proxy_refuses_everything(site: Origin, client: aiohttp.ClientSession) -> None:
    async with RefusingProxy() as proxy:
        async with client.get(site.url, proxy=proxy.url) as response:
            assert (response.status, response.headers["X-Agentloop-Blocked"]) == (403, "1")
        head = f"CONNECT {site.place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        assert (await say(proxy.port, head)).startswith(b"HTTP/1.1 403 ")

    assert not site.requests
    assert {count.rule for count in proxy.decisions} == {"outside-session"}


# Bounds -------------------------------------------------------------------------------------------


async def test_a_head_that_never_ends_is_cut_off(site: Origin) -> None:
    limits = replace(LIMITS, head_s=0.2)
    async with FilteringProxy(Boundary(allow=[site.place]), limits=limits) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        try:
            async with asyncio.timeout(10):
                writer.write(b"GET http://x/ HTTP/1.1\r\n")
                while not reader.at_eof() and not writer.is_closing():
                    writer.write(b"X-Slow: 1\r\n")
                    await asyncio.sleep(0.02)
        finally:
            writer.transport.abort()


async def test_a_silent_client_is_cut_off(site: Origin) -> None:
    async with FilteringProxy(Boundary(), limits=replace(LIMITS, idle_s=0.05)) as proxy:
        assert await say(proxy.port, b"") == b""


async def test_a_tunnel_in_which_nothing_moves_ends(site: Origin) -> None:
    limits = replace(LIMITS, stream_idle_s=0.1)
    async with FilteringProxy(Boundary(allow=[site.place]), limits=limits) as proxy:
        head = f"CONNECT {site.place} HTTP/1.1\r\nHost: x\r\n".encode() + credentials(proxy) + b"\r\n"
        assert (await say(proxy.port, head)).startswith(b"HTTP/1.1 200 ")


async def test_an_answer_that_never_comes_ends(site: Origin) -> None:
    limits = replace(LIMITS, stream_idle_s=0.1)
    async with FilteringProxy(Boundary(allow=[site.place]), limits=limits) as proxy:
        answer = await say(proxy.port, get(proxy, f"{site.url}/chunked"))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"first" in answer
    assert not answer.endswith(b"0\r\n\r\n"), "a cut answer must not look complete"


async def test_a_head_that_is_too_big_is_refused(site: Origin) -> None:
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        answer = await say(proxy.port, get(proxy, site.url, "X-Big: " + "x" * (LIMITS.head_bytes + 2_000_000)))

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert not site.requests


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
        b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_answered_and_closed(data: bytes) -> None:
    async with FilteringProxy(Boundary(), limits=replace(LIMITS, head_s=0.2)) as proxy:
        answer = await say(proxy.port, data)

    assert answer[9:12] in (b"400", b"501", b"")
    assert not proxy.decisions


async def test_two_framings_are_passed_on_as_one(site: Origin) -> None:
    body = b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: close\r\n"
    async with FilteringProxy(Boundary(allow=[site.place])) as proxy:
        head = f"POST {site.url}/echo HTTP/1.1\r\nHost: x\r\n".encode() + body + credentials(proxy)
        await say(proxy.port, head + b"\r\n5\r\nhello\r\n0\r\n\r\n")

    (request,) = site.requests
    assert "Content-Length" not in request.headers


async def test_connections_are_capped(site: Origin) -> None:
    limits = replace(LIMITS, connections=2)
    async with FilteringProxy(Boundary(allow=[site.place]), limits=limits) as proxy, AsyncExitStack() as stack:
        # 64 more are told why they are refused.
        writers = [(await asyncio.open_connection("127.0.0.1", proxy.port))[1] for _ in range(2 + 64)]
        for writer in writers:
            stack.callback(writer.transport.abort)
        await until(lambda: proxy.connections == 2 + 64)
        assert (await say(proxy.port, b"")).startswith(b"HTTP/1.1 503 ")


# Life ---------------------------------------------------------------------------------------------


async def test_nothing_is_left_behind(site: Origin, client: aiohttp.ClientSession) -> None:
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        proxy = FilteringProxy(Boundary(allow=[site.place]))
        async with proxy:
            response = await client.get(f"{site.url}/events", proxy=proxy_address(proxy))
            socket = await client.ws_connect(f"{site.url}/ws", proxy=proxy_address(proxy))
            _, idle = await asyncio.open_connection("127.0.0.1", proxy.port)
            head = f"CONNECT {site.place} HTTP/1.1\r\nHost: x\r\n".encode() + credentials(proxy) + b"\r\n"
            reader, tunnel = await asyncio.open_connection("127.0.0.1", proxy.port)
            stack.callback(idle.transport.abort)
            stack.callback(tunnel.transport.abort)
            tunnel.write(head)
            await reader.readuntil(b"\r\n\r\n")
            port = proxy.port
        assert proxy.connections == 0
        response.close()
        await socket.close()
        await proxy.aclose()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
    assert {task for task in asyncio.all_tasks() - before if "agentloop" in repr(task)} == set()


async def test_many_proxies_are_cheap(site: Origin) -> None:
    before = asyncio.all_tasks()
    boundary = Boundary(allow=[site.place])
    async with AsyncExitStack() as stack:
        proxies = [await stack.enter_async_context(FilteringProxy(boundary)) for _ in range(100)]
        assert len({proxy.port for proxy in proxies}) == 100
        assert len({proxy.password for proxy in proxies}) == 100
        assert asyncio.all_tasks() == before, "a proxy that nobody uses is a socket and nothing else"


async def test_a_proxy_that_is_not_open_says_so() -> None:
    with pytest.raises(Closed, match="async context manager"):
        _ = FilteringProxy(Boundary()).url


def test_a_pattern_with_a_path_is_refused() -> None:
    with pytest.raises(InvalidInput, match="TLS hides paths"):
        FilteringProxy(Boundary(allow=["shop.test/api"]))
