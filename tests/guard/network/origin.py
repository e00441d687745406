"""A real server on a loopback address that counts who came, and ways to talk to a proxy byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

from agentloop.guard import FilteringProxy

__all__ = ["Origin", "origin", "proxy_address", "say", "until"]


class Origin:
    """What arrived: `hits` counts paths, `sockets` client connections, `requests` holds whole requests."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.port = 0
        self.hits: Counter[str] = Counter()
        self.sockets: set[object] = set()
        self.requests: list[web.BaseRequest] = []
        self.pages: dict[str, str] = {}
        self.go_on = asyncio.Event()

    @property
    def place(self) -> str:
        """host:port."""
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Its origin."""
        return f"http://{self.place}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Every path; a few behave in a special way."""
        self.hits[request.path] += 1
        self.sockets.add(request.transport)
        self.requests.append(request)
        headers = {"Access-Control-Allow-Origin": "*"}
        if request.path in self.pages:
            return web.Response(text=self.pages[request.path], content_type="text/html", headers=headers)
        match request.path:
            case "/echo":
                return web.Response(body=await request.read(), headers=headers)
            case "/redirect":
                return web.Response(status=302, headers={"Location": request.query["to"], **headers})
            case "/refresh":
                refresh = f"<meta http-equiv='refresh' content='0; url={request.query['to']}'>"
                return web.Response(text=refresh, content_type="text/html")
            case "/service.js":
                script = f"fetch({json.dumps(request.query['to'])}, {{mode: 'no-cors'}})"
                return web.Response(text=script, content_type="text/javascript")
            case "/chunked" | "/events":
                return await self._stream(request)
            case "/ws":
                return await self._websocket(request)
            case "/challenge":
                return web.Response(status=407, headers={"Proxy-Authenticate": 'Basic realm="agentloop"'})
            case "/empty":
                return web.Response(status=204)
            case "/imposter":
                return web.Response(headers={"X-Agentloop-Blocked": "1", "X-Agentloop-Unreachable": "1", "X-Kept": "1"})
        return web.Response(text=f"{self.host} {request.path}", headers=headers)

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """The first part at once, the second when the test says so."""
        kind = "text/event-stream" if request.path == "/events" else "text/plain"
        response = web.StreamResponse(headers={"Content-Type": kind})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"data: first\n\n")
        await self.go_on.wait()
        await response.write(b"data: second\n\n")
        await response.write_eof()
        return response

    async def _websocket(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_str(f"echo {message.data}")
        return socket


@asynccontextmanager
async def origin(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Origin]:
    """Serves on `host` until the block ends."""
    served = Origin(host)
    runner = web.ServerRunner(web.Server(served.answer), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        served.port = runner.addresses[0][1]
        yield served
    finally:
        served.go_on.set()
        await runner.cleanup()


def proxy_address(proxy: FilteringProxy, *, password: str | None = None) -> str:
    """The proxy's address with its credentials, as clients that are no browser want it."""
    return f"http://{proxy.username}:{proxy.password if password is None else password}@127.0.0.1:{proxy.port}"


async def say(port: int, data: bytes, *, close_half: bool = False) -> bytes:
    """Sends bytes and returns everything that comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        if close_half:
            writer.write_eof()
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Returns once it holds. Raises TimeoutError after 20 s."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.005)
