"""The forms site: one page with every kind of input, one that shows what the server received."""

from __future__ import annotations

import json
from typing import TypeAlias

from aiohttp import web
from aiohttp.web import FileField

from agentloop.testing.serving.template import Html, Templates

__all__ = ["forms_routes"]

_Received: TypeAlias = dict[str, list[str]]


class _Forms:
    def __init__(self) -> None:
        self._templates = Templates("forms")

    def _page(self, title: str, body: Html) -> web.Response:
        return web.Response(text=self._templates.render("page", title=title, body=body), content_type="text/html")

    async def form(self, request: web.Request) -> web.Response:
        return self._page("Every input", self._templates.render("form"))

    async def result(self, request: web.Request) -> web.Response:
        received = await _received(request)
        if "application/json" in request.headers.get("Accept", ""):
            return web.json_response(received)
        rows = Html(
            "".join(
                self._templates.render("row", name=name, value=", ".join(values)) for name, values in received.items()
            )
        )
        text = json.dumps(received, ensure_ascii=False, indent=1)
        return self._page("Received", self._templates.render("result", rows=rows, count=len(received), json=text))


async def _received(request: web.Request) -> _Received:
    received: _Received = {}
    for name, value in (await request.post()).items():
        if isinstance(value, FileField):
            text = f"{value.filename} ({len(value.file.read())} bytes)" if value.filename else ""
        else:
            # Forms send line ends as CR LF, whatever the page held.
            text = str(value).replace("\r\n", "\n")
        received.setdefault(name, []).append(text)
    return received


def forms_routes() -> list[web.RouteDef]:
    """The routes under `/forms/`, but for its files."""
    forms = _Forms()
    return [web.get("/forms/", forms.form), web.post("/forms/result", forms.result)]
