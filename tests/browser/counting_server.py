"""A loopback server that counts what reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["CountingServer", "Hit", "counting_server"]


@dataclass(frozen=True)
class Hit:
    """A request that arrived."""

    method: str
    host: str
    path: str
    body: str


@dataclass
class CountingServer:
    """Serves `pages` by path; "/to/CODE/URL" redirects, "/file" is a download; `hits` are all requests."""

    port: int = 0
    pages: dict[str, str] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    file: bytes = b"data"

    def at(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        """The address of a path; 127.0.0.1 and localhost are two sites."""
        return f"http://{host}:{self.port}{path}"

    def posts(self) -> list[str]:
        """The paths that something was sent to."""
        return [hit.path for hit in self.hits if hit.method == "POST"]

    async def posted(self) -> list[str]:
        """`posts`, for whoever waits."""
        return self.posts()

    async def beside(self) -> list[str]:
        """The paths asked for at localhost."""
        return self.asked_of("localhost")

    def asked_of(self, host: str) -> list[str]:
        """The paths asked for at a host."""
        return [hit.path for hit in self.hits if hit.host.startswith(f"{host}:")]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *rest = head.split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = line.split()
            self.hits.append(Hit(method, headers["host"], path, body.decode()))
            writer.write(self._answer(path))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the browser opens connections ahead and drops them
        finally:
            writer.close()

    def _answer(self, path: str) -> bytes:
        if path.startswith("/to/"):
            code, _, url = path.removeprefix("/to/").partition("/")
            return (
                f"HTTP/1.1 {code} Moved\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
            )
        kind, extra, body = (
            "text/html; charset=utf-8",
            "",
            self.pages.get(path.partition("?")[0], "<p>done</p>").encode(),
        )
        if path.startswith("/file"):
            kind, extra, body = (
                "application/octet-stream",
                "Content-Disposition: attachment; filename=a.bin\r\n",
                self.file,
            )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{extra}Content-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def counting_server() -> AsyncIterator[CountingServer]:
    """A running server; its port is free again after the block."""
    site = CountingServer()
    server = await asyncio.start_server(site.handle, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()
