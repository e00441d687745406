"""What a client asks a forward proxy for: where to, and what the server is to see of it."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass

import h11

from agentloop.errors import InvalidInput, RequestRefused
from agentloop.guard.network.relay import end_to_end
from agentloop.guard.network.url import Url, parse_authority, parse_url

__all__ = ["Credentials", "Destination", "header", "onward", "read_destination", "repeatable"]

_REPEATABLE = frozenset({b"GET", b"HEAD", b"OPTIONS"})


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """User name and password of one proxy."""

    username: str
    password: str

    @classmethod
    def random(cls) -> Credentials:
        """New ones that nobody can guess."""
        return cls(username=secrets.token_hex(8), password=secrets.token_urlsafe(24))

    def match(self, value: bytes) -> bool:
        """Whether a `Proxy-Authorization` value carries them."""
        wanted = base64.b64encode(f"{self.username}:{self.password}".encode())
        scheme, _, given = value.strip().partition(b" ")
        return scheme.lower() == b"basic" and secrets.compare_digest(given.strip(), wanted)


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where a request wants to go, before anybody has looked whether it may. `url` is None for a tunnel."""

    host: str
    port: int
    url: Url | None = None

    @property
    def scheme(self) -> str:
        """ "http", or "" for a tunnel, in which it cannot be seen."""
        return self.url.scheme if self.url else ""


def read_destination(request: h11.Request) -> Destination:
    """Reads the request's target. Raises `InvalidInput`, and `RequestRefused` for another scheme than http."""
    target = request.target.decode("ascii", "replace")
    if request.method == b"CONNECT":
        host, port = parse_authority(target)
        if port is None:
            raise InvalidInput(f"no port in {target[:80]!r}")
        return Destination(host=host, port=port)
    if "://" not in target[:16]:
        raise InvalidInput(f"this is a proxy: it takes whole URLs, not {target[:80]!r}")
    url = parse_url(target)
    if url.scheme != "http":
        raise RequestRefused(f"{url.origin} is reached through CONNECT only", host=url.host, rule="scheme")
    return Destination(host=url.host, port=url.port, url=url)


def onward(request: h11.Request, url: Url) -> h11.Request:
    """The request as the server gets it: the path alone, the checked host, no proxy's headers."""
    rest = request.target.split(b"://", 1)[1].partition(b"#")[0]
    cut = min((at for at in (rest.find(b"/"), rest.find(b"?")) if at >= 0), default=len(rest))
    path = rest[cut:] if rest[cut : cut + 1] == b"/" else b"/" + rest[cut:]
    kept = [pair for pair in end_to_end(request.headers.raw_items()) if pair[0].lower() != b"host"]
    if (header(request, b"upgrade") or b"").lower() == b"websocket":
        kept += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    return h11.Request(method=request.method, target=path, headers=[(b"Host", url.authority.encode()), *kept])


def header(request: h11.Request, name: bytes) -> bytes | None:
    """The first value of a header, by its lower-case name."""
    return next((value for key, value in request.headers if key == name), None)


def repeatable(request: h11.Request) -> bool:
    """Whether it may be sent a second time when a kept connection turns out to be dead."""
    has_body = header(request, b"transfer-encoding") is not None or header(request, b"content-length") not in (
        None,
        b"0",
    )
    return request.method in _REPEATABLE and not has_body
