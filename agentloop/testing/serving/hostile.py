"""Pages that mislead whoever reads them, or try to reach the host named by `?other=http://…`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, urlsplit

from aiohttp import web

from agentloop.testing.serving.template import Templates

__all__ = ["PAGES", "hostile_routes"]

PAGES: Mapping[str, str] = MappingProxyType(
    {
        "hidden": "Instructions where no person sees them",
        "marks": "Names and text that imitate the engine's own lines",
        "leak": "Sub-resources, frames, sockets, links and forms to the other host",
        "refresh": "A meta refresh to the other host",
        "popup": "Windows opened on the other host",
        "moved": "A script that moves the page to the other host",
        "traps": "Dialogs, endless loops and floods of windows behind buttons",
    }
)
"""The pages and what each does; `redirect` besides answers 302 to the other host."""

_NOWHERE = "http://other.invalid"
_KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "img": ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'),
        "script": ("text/javascript", "window.reached = true;"),
        "style": ("text/css", "body { outline: 0 }"),
        "sse": ("text/event-stream", "data: reached\n\n"),
    }
)


def _other(request: web.Request) -> str:
    other = request.query.get("other", _NOWHERE).rstrip("/")
    parts = urlsplit(other)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise web.HTTPBadRequest(text="other must be an address like http://127.0.0.2:8000")
    return other


async def _index(request: web.Request) -> web.Response:
    templates = Templates("hostile")
    other = _other(request)
    rows = [
        templates.render("row", name=name, other=quote(other, safe=""), about=about) for name, about in PAGES.items()
    ]
    return _html(templates.render("index", rows=type(rows[0])("".join(rows)), other=quote(other, safe="")))


async def _page(request: web.Request) -> web.Response:
    name = request.match_info["page"]
    if name not in PAGES:
        raise web.HTTPNotFound(text="There is no such page.")
    other = _other(request)
    return _html(Templates("hostile").render(name, other=other, socket="ws" + other.removeprefix("http")))


async def _redirect(request: web.Request) -> web.Response:
    raise web.HTTPFound(f"{_other(request)}/hostile/reach/redirect")


async def _reach(request: web.Request) -> web.StreamResponse:
    vector = request.match_info["vector"]
    if vector == "socket" and request.headers.get("Upgrade", "").lower() == "websocket":
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.close()
        return socket
    kind, text = _KINDS.get(vector, ("text/html", f"<!doctype html><title>Reached</title><p>Reached by {vector}."))
    return web.Response(text=text, content_type=kind, headers={"Access-Control-Allow-Origin": "*"})


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def hostile_routes() -> list[web.RouteDef]:
    """The routes under `/hostile/`, but for its files. `reach/<vector>` is what the other host is asked for."""
    return [
        web.get("/hostile/", _index),
        web.get("/hostile/redirect", _redirect),
        web.route("*", "/hostile/reach/{vector:[a-z-]+}", _reach),
        web.get("/hostile/{page:[a-z]+}", _page),
    ]
