"""The documentation site: sixteen pages about a library that does not exist."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from types import MappingProxyType

from aiohttp import web

from agentloop.testing.serving.template import Html, Templates, Value

__all__ = ["SECTIONS", "VERSIONS", "docs_routes"]

SECTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Start": {"introduction": "Introduction", "installation": "Installation", "first-job": "Your first job"},
        "Guide": {
            "schedules": "Schedules",
            "retries": "Retries and back-off",
            "timeouts": "Timeouts",
            "queues": "Queues and workers",
            "results": "Results",
            "testing": "Testing jobs",
            "deployment": "Deployment",
        },
        "Reference": {
            "job": "job()",
            "worker": "Worker",
            "settings": "Settings",
            "errors": "Errors",
            "command-line": "Command line",
        },
        "Project": {"changes": "Changes"},
    }
)
"""The pages by section: slug and title."""

VERSIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "2.1": {"python": "3.11", "timeout": "30", "retries": "3", "port": "7420"},
        "1.8": {"python": "3.8", "timeout": "60", "retries": "5", "port": "7400"},
    }
)
"""The versions, newest first, with what differs between them."""

_TITLES = {slug: title for pages in SECTIONS.values() for slug, title in pages.items()}
_TAG = re.compile(r"<[^>]*>")


class _Docs:
    def __init__(self) -> None:
        self._templates = Templates("docs")

    def _page(self, request: web.Request, slug: str, title: str, body: Html) -> web.Response:
        version = _version(request)
        page = self._templates.render(
            "page",
            title=title,
            version=version,
            query=request.query.get("q", ""),
            versions=self._versions(version),
            sections=self._sections(slug, version),
            old=self._templates.render("old", version=version) if version != next(iter(VERSIONS)) else Html(""),
            body=body,
            around=self._around(slug, version),
        )
        return web.Response(text=page, content_type="text/html")

    def _versions(self, version: str) -> Html:
        return Html(
            "".join(
                self._templates.render("version", name=name, selected=Html(" selected" if name == version else ""))
                for name in VERSIONS
            )
        )

    def _sections(self, slug: str, version: str) -> Html:
        return Html(
            "".join(
                self._templates.render(
                    "section", name=name, links=Html("".join(self._link(one, slug, version) for one in pages))
                )
                for name, pages in SECTIONS.items()
            )
        )

    def _link(self, slug: str, current: str, version: str) -> Html:
        here = Html(' aria-current="page"' if slug == current else "")
        return self._templates.render("link", href=_address(slug, version), title=_TITLES[slug], here=here)

    def _around(self, slug: str, version: str) -> Html:
        if slug not in _TITLES:
            return Html("")
        slugs = list(_TITLES)
        at = slugs.index(slug)
        links = ""
        if at > 0:
            links += self._neighbour("Previous", slugs[at - 1], version)
        if at + 1 < len(slugs):
            links += self._neighbour("Next", slugs[at + 1], version)
        return Html(links)

    def _neighbour(self, word: str, slug: str, version: str) -> Html:
        return self._templates.render("neighbour", word=word, title=_TITLES[slug], href=_address(slug, version))

    def _content(self, slug: str, version: str) -> Html:
        values: dict[str, Value] = {"version": version, **VERSIONS[version]}
        return self._templates.render(f"pages/{slug}", **values)

    async def page(self, request: web.Request) -> web.Response:
        slug = request.match_info.get("slug", "introduction")
        if slug not in _TITLES:
            raise web.HTTPNotFound(text="There is no such page.")
        return self._page(request, slug, f"{_TITLES[slug]} - Larkspur", self._content(slug, _version(request)))

    async def search(self, request: web.Request) -> web.Response:
        words = request.query.get("q", "").lower().split()
        version = _version(request)
        found = [row for slug in _TITLES if words and (row := self._result(slug, words, version))]
        body = self._templates.render(
            "search", query=request.query.get("q", ""), count=len(found), results=Html("".join(found))
        )
        return self._page(request, "", "Search - Larkspur", body)

    def _result(self, slug: str, words: list[str], version: str) -> Html | None:
        text = html.unescape(" ".join(_TAG.sub(" ", self._content(slug, version)).split()))
        lower = text.lower()
        if not all(word in lower for word in words):
            return None
        at = lower.index(words[0])
        start = text.rfind(" ", 0, max(0, at - 60)) + 1
        excerpt = f"{'… ' if start else ''}{text[start : at + 120]} …"
        return self._templates.render("result", href=_address(slug, version), title=_TITLES[slug], excerpt=excerpt)


def _version(request: web.Request) -> str:
    wanted = request.query.get("v", "")
    return wanted if wanted in VERSIONS else next(iter(VERSIONS))


def _address(slug: str, version: str) -> str:
    path = "/docs/" if slug == "introduction" else f"/docs/{slug}"
    return path if version == next(iter(VERSIONS)) else f"{path}?v={version}"


def docs_routes() -> list[web.RouteDef]:
    """The routes under `/docs/`, but for its files."""
    docs = _Docs()
    return [
        web.get("/docs/", docs.page),
        web.get("/docs/search", docs.search),
        web.get("/docs/{slug:[a-z-]+}", docs.page),
    ]
