"""What a site remembers of a visitor: by cookie, in memory, bounded."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

__all__ = ["VISITORS", "Visitors", "remember_visitor", "visitor_state"]

_COOKIE = "visitor"
_ID = re.compile(r"[\w-]{8,40}")

T = TypeVar("T")


class Visitors:
    """State per visitor and kind; beyond `limit` visitors the one unseen for longest is forgotten."""

    def __init__(self, *, limit: int = 1000) -> None:
        self._limit = limit
        self._states: OrderedDict[str, dict[type, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def state(self, visitor: str, kind: type[T]) -> T:
        """The visitor's `kind`, made by `kind()` at first use."""
        states = self._states.setdefault(visitor, {})
        self._states.move_to_end(visitor)
        while len(self._states) > self._limit:
            self._states.popitem(last=False)
        if kind not in states:
            states[kind] = kind()
        found: T = states[kind]
        return found


VISITORS = web.AppKey("VISITORS", Visitors)
_VISITOR = web.RequestKey("_VISITOR", str)


def visitor_state(request: web.Request, kind: type[T]) -> T:
    """The `kind` that belongs to whoever sent `request`."""
    return request.config_dict[VISITORS].state(request[_VISITOR], kind)


@web.middleware
async def remember_visitor(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Gives each request a visitor, and a new visitor a cookie."""
    known = request.cookies.get(_COOKIE, "")
    visitor = known if _ID.fullmatch(known) else secrets.token_urlsafe(12)
    request[_VISITOR] = visitor
    try:
        response = await handler(request)
    except web.HTTPException as answer:
        _tell(answer, visitor, known)
        raise
    if not response.prepared:
        _tell(response, visitor, known)
    return response


def _tell(response: web.StreamResponse, visitor: str, known: str) -> None:
    if visitor != known:
        response.set_cookie(_COOKIE, visitor, httponly=True, samesite="Lax", path="/")
