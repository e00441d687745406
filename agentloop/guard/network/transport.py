"""The httpx transport that stands inside the boundary: it connects to addresses that were checked, and to no name.

Each request is judged by itself, whether or not a connection to its server is open already. A
connection is kept for one scheme, host, port and set of checked addresses: one that was opened when
a name led elsewhere, or for another name at the same address, is never used.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import httpcore
import httpx

from agentloop.errors import RequestRefused
from agentloop.guard.logs import logger
from agentloop.guard.network.base import Checked, Gate
from agentloop.guard.network.egress import EgressDoor, Tally
from agentloop.guard.network.url import Url, parse_url

__all__ = ["GuardedTransport"]

_KEPT_S: Final = 5.0
_LOGGERS: Final = ("httpcore.connection", "httpcore.http11")
_destination: ContextVar[Checked] = ContextVar("destination")


class GuardedTransport(httpx.AsyncBaseTransport):
    """For httpx clients. Whatever the environment says of proxies does not matter here.

    `connect_s` bounds the opening of a connection, all addresses together; reading and writing are
    bounded by the request's own time-outs. Raises `RequestRefused` with host and rule,
    `InvalidInput` for a URL that is none, `WorldError` for a name without address, and httpx's
    own errors for the rest. With a `door`, what passes is counted there, and `CapReached` is raised
    once the run has moved what it may.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        ssl_context: ssl.SSLContext | None = None,
        connect_s: float = 10.0,
        connections: int = 32,
        door: EgressDoor | None = None,
    ) -> None:
        self._gate = gate
        self._ssl_context = ssl_context
        self._connect_s = connect_s
        self._connections = connections
        self._door = door
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Judges the request and sends it."""
        url = parse_url(str(request.url))
        checked = await self._gate.resolve(url.host, url.port, url.scheme, path=url.path)
        assert isinstance(request.stream, httpx.AsyncByteStream)
        return await self.send(
            request.method,
            url,
            checked,
            headers=request.headers.raw,
            content=request.stream,
            timeout=request.extensions.get("timeout"),
        )

    async def send(
        self,
        method: str,
        url: Url,
        checked: Checked,
        *,
        headers: Sequence[tuple[bytes, bytes]],
        content: bytes | AsyncIterable[bytes] = b"",
        timeout: Mapping[str, float | None] | None = None,
    ) -> httpx.Response:
        """Sends what was judged already: `checked` is what the gate said of `url`. `Host` is always the URL's."""
        if (checked.host, checked.port) != (url.host, url.port):
            raise RequestRefused(f"{url.authority} is not what was checked", host=url.host, rule="mismatch")
        query = f"?{url.query}" if url.query else ""
        # The pool tells connections apart by this "host"; it is neither connected to nor shown to anybody.
        place = ",".join([url.host, *sorted(checked.addresses)])
        target = httpcore.URL(
            scheme=url.scheme.encode(), host=place.encode(), port=url.port, target=(url.path + query).encode()
        )
        own = [(name, value) for name, value in headers if name.lower() != b"host"]
        _destination.set(checked)
        with _as_httpx():
            response = await self._opened().handle_async_request(
                httpcore.Request(
                    method=method,
                    url=target,
                    headers=[(b"Host", url.authority.encode()), *own],
                    content=content,
                    extensions={"timeout": dict(timeout or {}), "sni_hostname": url.host},
                )
            )
        assert isinstance(response.stream, AsyncIterable)
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response.stream),
            extensions=response.extensions,
        )

    def _opened(self) -> httpcore.AsyncConnectionPool:
        if self._pool is None:
            # They tell of headers as they came, with what a server echoes in them.
            for name in _LOGGERS:
                logger(name)
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=self._ssl_context or httpx.create_ssl_context(),
                max_connections=self._connections,
                keepalive_expiry=_KEPT_S,
                network_backend=_CheckedBackend(self._connect_s, self._door),
            )
        return self._pool

    async def aclose(self) -> None:
        """Closes every connection. The next request would open the pool anew."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()


class _CheckedBackend(httpcore.AnyIOBackend):
    """Opens connections to the addresses that were checked for the request in hand, one after another."""

    def __init__(self, connect_s: float, door: EgressDoor | None) -> None:
        self._connect_s = connect_s
        self._door = door

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        checked = _destination.get()
        failures = []
        try:
            async with asyncio.timeout(self._connect_s):
                for address in checked.addresses:
                    try:
                        stream = await super().connect_tcp(address, port, socket_options=socket_options)
                        return self._counted(stream, checked)
                    except httpcore.ConnectError as error:
                        failures.append(f"{address}: {error}")
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection within {self._connect_s:g} s") from None
        raise httpcore.ConnectError("; ".join(failures))

    def _counted(self, stream: httpcore.AsyncNetworkStream, checked: Checked) -> httpcore.AsyncNetworkStream:
        return stream if self._door is None else _Counted(stream, self._door.tally(checked.host, checked.port))


class _Counted(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream, tally: Tally) -> None:
        self._stream = stream
        self._tally = tally

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._tally.received(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._tally.sent(len(buffer))
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Counted(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._tally)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: AsyncIterable[bytes]) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for part in self._stream:
                yield part

    async def aclose(self) -> None:
        if (close := getattr(self._stream, "aclose", None)) is not None:
            await close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Errors of httpcore as those of httpx, which bear the same names."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
        twin: type[httpx.TransportError] = getattr(httpx, type(error).__name__)
        raise twin(str(error)) from error
