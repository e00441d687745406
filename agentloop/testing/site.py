"""The fixture sites: small, self-contained web sites for tests, demos and examples.

`python -m agentloop.testing.site --port 8000` serves each under `/<name>/` and lists them at `/`.
"""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
import signal
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agentloop.testing.extras import needs

try:
    from aiohttp import web
    from aiohttp.typedefs import Handler
except ModuleNotFoundError as error:
    raise needs("testing", error) from None

from agentloop.testing.serving.docs import docs_routes
from agentloop.testing.serving.forms import forms_routes
from agentloop.testing.serving.hostile import hostile_routes
from agentloop.testing.serving.mail import mail_routes
from agentloop.testing.serving.shop import shop_routes
from agentloop.testing.serving.template import Html, Templates
from agentloop.testing.serving.visitors import VISITORS, Visitors, remember_visitor

__all__ = ["SITES", "Site", "create_site", "main", "serve_site"]

SITES = {
    "shop": "A shop: 200 products, search, filters, cart, checkout, login, orders",
    "docs": "The documentation of a made-up library: sidebar, search, versions",
    "forms": "A page with every kind of input, and what the server received",
    "mail": "A mail list whose icon buttons have no names",
    "hostile": "Pages that try to mislead or to reach another host",
}
"""Name and description of each site."""

_HITS = web.AppKey("_HITS", deque[str])


@dataclass(frozen=True)
class Site:
    """A server that is running.

    `url` has no slash at its end; `hits` holds the newest 10,000 requests as "METHOD path".
    """

    url: str
    hits: deque[str] = field(default_factory=lambda: deque(maxlen=10_000))


def create_site(*, hits: deque[str] | None = None) -> web.Application:
    """The application with all sites; each request is noted in `hits`."""
    app = web.Application(middlewares=[_note, remember_visitor], client_max_size=8 * 1024 * 1024)
    app[VISITORS] = Visitors()
    app[_HITS] = deque(maxlen=10_000) if hits is None else hits
    app.add_routes([web.get("/", _index), *shop_routes(), *docs_routes(), *forms_routes(), *mail_routes()])
    app.add_routes(hostile_routes())
    app.add_routes([_files(name) for name in SITES])
    return app


@asynccontextmanager
async def serve_site(*, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Site]:
    """Serves the sites while the block runs; port 0 takes a free one. Raises `OSError` for a taken port."""
    hits: deque[str] = deque(maxlen=10_000)
    runner = web.AppRunner(create_site(hits=hits), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0]
        yield Site(f"http://{host}:{bound[1]}", hits)
    finally:
        await runner.cleanup()


@web.middleware
async def _note(request: web.Request, handler: Handler) -> web.StreamResponse:
    request.config_dict[_HITS].append(f"{request.method} {request.path_qs}")
    return await handler(request)


async def _index(request: web.Request) -> web.Response:
    pages = Templates("")
    rows = Html("".join(pages.render("index_row", name=name, about=about) for name, about in SITES.items()))
    return web.Response(text=pages.render("index", rows=rows), content_type="text/html")


def _files(site: str) -> web.RouteDef:
    templates = Templates(site)

    async def serve(request: web.Request) -> web.Response:
        name = request.match_info["file"]
        content = templates.read(name)
        if content is None:
            raise web.HTTPNotFound(text="There is no such page.")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return web.Response(body=content, content_type=kind, charset="utf-8")

    return web.get(f"/{site}/{{file:[a-z_]+\\.(?:css|js|svg)}}", serve)


async def _serve_until_told(host: str, port: int) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows loops know no signal handlers; Ctrl-C still ends the process there.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, told.set)
    async with serve_site(host=host, port=port) as site:
        print(site.url, flush=True)
        await told.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: prints the address as its first line and serves until SIGINT or SIGTERM. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agentloop.testing.site", description="Serves the fixture sites.")
    parser.add_argument("--port", type=int, default=0, help="0 = any free port")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_serve_until_told(options.host, options.port))
    except OSError as error:
        parser.exit(3, f"Cannot listen on {options.host}:{options.port}: {error.strerror}. Choose another --port.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
