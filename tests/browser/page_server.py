"""A loopback server for pages that a test writes itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["PageServer", "page_server"]

HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
)


class PageServer:
    """Serves what `put` was given; every path has one page."""

    def __init__(self) -> None:
        self.port = 0
        self._pages: dict[str, bytes] = {}

    def put(self, html: str, path: str = "/") -> str:
        """Serves `html` under `path` from now on; returns its address."""
        self._pages[path] = html.encode()
        return self.address(path)

    def address(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        """The address of a path; `host` "localhost" makes it another site."""
        return f"http://{host}:{self.port}{path}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer."""
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            body = self._pages.get(request.split()[1].decode().partition("?")[0])
            status = "404 Not Found" if body is None else "200 OK"
            body = body or b""
            writer.write(HEAD.format(status=status, size=len(body)).encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the browser opens connections ahead and drops them
        finally:
            writer.close()


@asynccontextmanager
async def page_server() -> AsyncIterator[PageServer]:
    """A running server; its port is free again after the block."""
    pages = PageServer()
    server = await asyncio.start_server(pages.handle, "127.0.0.1", 0)
    pages.port = server.sockets[0].getsockname()[1]
    try:
        yield pages
    finally:
        server.close()
        await server.wait_closed()
