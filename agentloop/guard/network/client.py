"""The HTTP client of scripts and packs: every hop is judged, everything is bounded, nothing is remembered.

No cookies are kept, no proxy of the environment is used, and what a request carries for one origin is
not shown to another that it is redirected to.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from agentloop.errors import InvalidInput, PolicyDenied, RequestRefused, WorldError
from agentloop.guard.network.base import Checked, DecisionCount, DecisionLog, NetworkDecision, OnDecision
from agentloop.guard.network.egress import CapReached, Egress, EgressDoor
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.inflate import Inflater
from agentloop.guard.network.url import Url, join_url, parse_url

if TYPE_CHECKING:
    import httpx

    from agentloop.guard.network.transport import GuardedTransport

__all__ = ["Admit", "ClientLimits", "GuardedClient", "Reply"]

Admit: TypeAlias = Callable[[Url], Awaitable[Checked]]
"""Judges one hop. What it raises ends the request; the time that it takes is not the request's."""

_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_WITH_BODY: Final = frozenset({"PATCH", "POST", "PUT"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OURS: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization"}
    | {"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
# What says nothing of who asks. All else that a caller sends may be a credential under any name.
_FOR_ANYBODY: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "content-language", "content-type"}
    | {"if-modified-since", "if-none-match", "pragma", "range", "user-agent"}
)
_USUAL: Final = MappingProxyType({"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "agentloop/1.0"})
_ABOUT_BODY: Final = frozenset({"content-language", "content-type"})
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';>/]+)", re.IGNORECASE)
# Python knows codecs by other names too that are no charsets, such as punycode.
_CHARSETS: Final = re.compile(r"utf-?(8|16)|iso-?8859|iso-2022|windows-|cp\d|koi8-|gb|big5|shift|sjis|euc-|mac|tis")
_WINDOWS_1252: Final = frozenset({"ascii", "iso-8859-1", "latin1", "us-ascii"})
_DECLARED_WITHIN: Final = 2048
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, kw_only=True)
class ClientLimits:
    """Bounds of one request; seconds, bytes and counts."""

    timeout_s: float = 30.0
    """From the first connection to the last byte, redirects included, judging (and a person's thinking) not."""
    connect_s: float = 10.0
    """To open a connection to a server, all its addresses together."""
    body_bytes: int = 2 * 1024 * 1024
    """Of a response's body, decompressed; what lies beyond is not read."""
    sent_bytes: int = 8 * 1024 * 1024
    """Of a request's body; more is refused."""
    redirects: int = 10
    """Followed, at most."""
    connections: int = 32
    """Open at a time; further requests wait for one."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response. `url` is where it came from in the end; header names are lower case, several values joined by ", ".

    `truncated`: the body is longer than the limit, or ended before it was complete.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False

    @property
    def text(self) -> str:
        """The body decoded: by a byte-order mark, `Content-Type`, or an HTML page's own word; else as UTF-8."""
        kind = self.headers.get("content-type", "")
        for mark, name in _MARKS:
            if self.body.startswith(mark):
                return self.body[len(mark) :].decode(name, "replace")
        declared = _CHARSET.search(kind)
        if declared is None and ("html" in kind or "xml" in kind):
            declared = _CHARSET.search(self.body[:_DECLARED_WITHIN].decode("latin-1"))
        return self.body.decode(_codec(declared[1]) if declared else "utf-8", "replace")


@dataclass(kw_only=True)
class _Hop:
    method: str
    url: Url
    headers: dict[str, str]
    body: bytes
    left: int = field(default=0)

    def onward(self, status: int, location: str) -> _Hop:
        """Where a redirect leads, and what of the request may be told there."""
        target = _target(self.url, location)
        headers, method, body = self.headers, self.method, self.body
        if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
            method, body = "GET", b""
            headers = {name: value for name, value in headers.items() if name not in _ABOUT_BODY}
        if target.origin != self.url.origin:
            headers = {name: value for name, value in headers.items() if name in _FOR_ANYBODY}
        return _Hop(method=method, url=target, headers=headers, body=body, left=self.left - 1)

    def within(self, origins: Collection[str] | None) -> _Hop:
        """The hop if it stays within these origins, None for any, else without all that the caller gave."""
        if origins is None or self.url.origin in origins:
            return self
        if self.body:
            told = f"the request has a secret in it, and is redirected to {self.url.origin}: it was not sent there"
            raise RequestRefused(told, host=self.url.host, rule="secret")
        return _Hop(method=self.method, url=self.url, headers=dict(_USUAL), body=b"", left=self.left)


class GuardedClient:
    """Sends requests through a boundary. One serves any number of them at the same time; close it when done.

    `on_decision` hears of every hop that was judged. What passes is counted, and held to a cap, by the run's
    `door`; without one by a door of its own. What the hops of a request took is read off `now`, in seconds. Nothing is
    opened before the first request.
    """

    def __init__(
        self,
        boundary: Boundary,
        *,
        limits: ClientLimits | None = None,
        ssl_context: ssl.SSLContext | None = None,
        on_decision: OnDecision | None = None,
        door: EgressDoor | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.boundary = boundary
        self.limits = limits or ClientLimits()
        self._now = now
        self._ssl_context = ssl_context
        self._on_decision = on_decision
        self._door = door or Egress().door("fetch")
        self._counts = DecisionLog()
        self._transport: GuardedTransport | None = None

    @property
    def decisions(self) -> tuple[DecisionCount, ...]:
        """How often each host was allowed or refused, in the order of first sight; bounded."""
        return self._counts.counts()

    async def request(
        self,
        method: str,
        url: str | Url,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        admit: Admit | None = None,
        only_to: Collection[str] | None = None,
    ) -> Reply:
        """One request with its redirects. A status of 400 and more is a reply like another.

        `admit` judges each hop in the boundary's place. `only_to` are the origins that may get headers and body, None
        for any: a redirect elsewhere loses the headers, or is refused when it has a body. Raises what `admit` raises,
        `RequestRefused`, `InvalidInput` for what cannot be sent, and `WorldError` when no whole answer comes.
        """
        hop = self._first(method, parse_url(url) if isinstance(url, str) else url, headers or {}, body)
        budget = _Budget(self.limits.timeout_s, self._now)
        while True:
            checked = await self._judged(hop.url, admit or self.boundary.resolve_url)
            async with budget.spending(hop.url), self._sent(hop, checked) as response:
                location = response.headers.get("location", "")
                if response.status_code not in _REDIRECTS or not location:
                    return await self._read(response, hop)
            if hop.left <= 0:
                raise WorldError(f"{hop.url.origin} redirects more than {self.limits.redirects} times")
            hop = hop.onward(response.status_code, location).within(only_to)

    async def aclose(self) -> None:
        """Closes what is open. May be called twice."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _first(self, method: str, url: Url, headers: Mapping[str, str], body: bytes) -> _Hop:
        method = method.upper()
        if method not in _METHODS:
            raise InvalidInput(f"method {method[:20]!r} cannot be sent; there are: {', '.join(sorted(_METHODS))}")
        if len(body) > self.limits.sent_bytes:
            raise InvalidInput(f"the body is {len(body):,} bytes, at most {self.limits.sent_bytes:,} can be sent")
        headers = {**_USUAL, **_sendable(headers)}
        return _Hop(method=method, url=url, headers=headers, body=body, left=self.limits.redirects)

    async def _judged(self, url: Url, admit: Admit) -> Checked:
        try:
            if self._door.spent:
                raise self._door.refusal(url.host)
            checked = await admit(url)
        except RequestRefused as refusal:
            self._record(url, rule=refusal.rule, allowed=False, reason=str(refusal))
            raise
        except PolicyDenied:
            self._record(url, rule="policy", allowed=False)
            raise
        self._record(url, rule=checked.rule)
        return checked

    @asynccontextmanager
    async def _sent(self, hop: _Hop, checked: Checked) -> AsyncIterator[httpx.Response]:
        import httpx

        headers = [(name.encode(), value.encode()) for name, value in hop.headers.items()]
        if hop.body or hop.method in _WITH_BODY:
            headers.append((b"content-length", str(len(hop.body)).encode()))
        try:
            response = await self._opened().send(hop.method, hop.url, checked, headers=headers, content=hop.body)
            try:
                yield response
            finally:
                await response.aclose()
        except CapReached:
            refusal = self._door.refusal(hop.url.host)
            self._record(hop.url, rule=refusal.rule, allowed=False, reason=str(refusal))
            raise refusal from None
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            self._record(hop.url, rule=checked.rule, error=reason)
            raise WorldError(f"{hop.url.origin} gave no answer: {reason}") from error

    def _opened(self) -> GuardedTransport:
        from agentloop.guard.network.transport import GuardedTransport

        if self._transport is None:
            self._transport = GuardedTransport(
                self.boundary,
                ssl_context=self._ssl_context,
                connect_s=self.limits.connect_s,
                connections=self.limits.connections,
                door=self._door,
            )
        return self._transport

    async def _read(self, response: httpx.Response, hop: _Hop) -> Reply:
        headers = {name.lower(): value for name, value in response.headers.items()}
        inflater = Inflater(headers.get("content-encoding", ""), limit=self.limits.body_bytes)
        async for chunk in response.aiter_raw():
            inflater.feed(chunk)
            if inflater.full:
                break
        body, truncated = inflater.taken()
        return Reply(
            status=response.status_code,
            url=str(hop.url),
            headers=headers,
            body=body,
            truncated=truncated and hop.method != "HEAD",
        )

    def _record(self, url: Url, *, rule: str, allowed: bool = True, reason: str = "", error: str = "") -> None:
        decision = NetworkDecision(
            host=url.host,
            port=url.port,
            scheme=url.scheme,
            allowed=allowed,
            rule=rule,
            reason=reason,
            error=error,
            at=time.monotonic(),
        )
        if not error:
            self._counts.add(decision)
        self._door(decision)
        if self._on_decision is not None:
            self._on_decision(decision)


class _Budget:
    """The seconds of one request, spent hop by hop."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._whole = self._left = seconds
        self._now = now

    @asynccontextmanager
    async def spending(self, url: Url) -> AsyncIterator[None]:
        began = self._now()
        try:
            async with asyncio.timeout(max(self._left, 0)):
                yield
        except TimeoutError:
            raise WorldError(f"{url.origin} did not answer within {self._whole:g} s") from None
        finally:
            self._left -= self._now() - began


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    fit = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise InvalidInput(f"{name[:40]!r} is no name of a header")
        if name.lower() in _OURS:
            raise InvalidInput(f"header {name} follows from the request itself: leave it out")
        if any(char < " " and char != "\t" for char in value) or not value.isascii():
            raise InvalidInput(f"header {name}: a value is one line of ASCII; encode what is not")
        fit[name.lower()] = value
    return fit


def _target(base: Url, location: str) -> Url:
    try:
        return join_url(base, location)
    except InvalidInput:
        raise WorldError(f"{base.origin} redirects to what is no URL: {location[:80]!r}") from None


def _codec(name: str) -> str:
    """Python's name for a charset; UTF-8 for one that is not known."""
    name = name.lower()
    # What browsers read by these names is the Windows code page, a superset.
    name = "cp1252" if name in _WINDOWS_1252 else name
    try:
        return codecs.lookup(name).name if _CHARSETS.match(name) else "utf-8"
    except LookupError:
        return "utf-8"
