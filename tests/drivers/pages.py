"""A server of small pages on loopback: each test says what it wants to have served."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Self, TypeAlias

from aiohttp import web

Answer: TypeAlias = str | Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages:
    """`pages.url(html)` serves a page; /delay/MS, /hang, /sse, /file, /204, /status/CODE, /auth are always there."""

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}
        self._numbers = itertools.count(1)
        self.seen: list[str] = []
        self.origin = ""

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    def path(self, answer: Answer) -> str:
        """Serves an answer; returns its path."""
        path = f"/p{next(self._numbers)}"
        self._answers[path] = answer
        return path

    def url(self, answer: Answer) -> str:
        """Serves an answer; returns its address."""
        return self.origin + self.path(answer)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request.path)
        answer = self._answers.get(request.path)
        if isinstance(answer, str):
            return _page(answer)
        if answer is not None:
            return await answer(request)
        return await _standing(request)


def _page(html: str, *, status: int = 200) -> web.Response:
    return web.Response(text=f"<!doctype html><body>{html}", content_type="text/html", status=status)


async def _standing(request: web.Request) -> web.StreamResponse:
    _, kind, *rest = request.path.split("/")
    if kind == "delay":
        await asyncio.sleep(int(rest[0]) / 1000)
        return _page("<title>late</title><p id=t>late")
    if kind == "status":
        return _page("<p>so it is", status=int(rest[0]))
    if kind == "redirect":
        raise web.HTTPFound(request.query["to"])
    if kind == "auth":
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}, text="who are you")
    if kind == "204":
        return web.Response(status=204)
    if kind == "file":
        disposition = f'attachment; filename="{request.query.get("name", "a.bin")}"'
        return web.Response(
            body=b"x" * int(request.query.get("size", 10)), headers={"Content-Disposition": disposition}
        )
    if kind == "sse":
        return await _stream(request)
    if kind == "hang":
        await asyncio.sleep(60)
    return _page("<title>target</title><p id=t>target")


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    try:
        for _ in range(600):
            await response.write(b"data: 1\n\n")
            await asyncio.sleep(0.1)
    except ConnectionError:
        pass
    return response
