"""The contract suite's own pages, served on loopback with nothing but the standard library."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import Protocol, Self

__all__ = ["ContractSite", "PageSite"]

_HEAD_S = 10.0


class ContractSite(Protocol):
    """Where the suite's pages are: `form.html`, `next.html`, `frames.html`, `drag.html`, `report.csv`."""

    def url(self, page: str) -> str:
        """The address of a page."""


class PageSite:
    """`async with PageSite() as site`: a server for as long as the block lasts."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is None:
            return
        self._server.close()
        for writer in list(self._writers):
            writer.close()
        await self._server.wait_closed()

    def url(self, page: str) -> str:
        """The address of a page."""
        return f"http://127.0.0.1:{self._port}/{page}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head.split()[1].decode()))
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, IndexError):
            pass  # whoever asked has gone, or did not speak HTTP
        finally:
            self._writers.discard(writer)
            writer.close()


def _answer(path: str) -> bytes:
    name = path.partition("?")[0].rpartition("/")[2]
    if name == "report.csv":
        return _response(
            "200 OK", "text/csv", b"a,b\n1,2\n", 'Content-Disposition: attachment; filename="report.csv"\r\n'
        )
    page = files("agentloop.testing.drivers") / "pages" / name
    if not name.endswith(".html") or not page.is_file():
        return _response("404 Not Found", "text/plain", b"no such page")
    return _response("200 OK", "text/html; charset=utf-8", page.read_bytes())


def _response(status: str, kind: str, body: bytes, more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body
