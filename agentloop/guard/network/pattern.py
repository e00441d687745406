"""What an operator allows: `[scheme://]host[:port][/path]`.

- `shop.example`         that host alone, private addresses included
- `*.shop.example`       its sub-domains and itself, at public addresses
- `*`                    any host at a public address
- no scheme: http and https; no port: the scheme's default port; a path: itself and what is below it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from agentloop.errors import InvalidInput
from agentloop.guard.network.url import DEFAULT_PORTS, Url, parse_authority, parse_url

__all__ = ["Pattern", "for_browser"]

_WITH_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://(.*)", re.DOTALL)
_IP = re.compile(r"[0-9.]+|.*:.*")
# Second labels under which country registries sell names, so that `*.co.uk` is no better than `*.com`.
_SOLD_UNDER = frozenset({"ac", "co", "com", "edu", "gov", "mil", "net", "org"})


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One allowed place. Made by `parse`; `scheme` "" is both, `port` None the default one, `path` "" any.

    `reach` tells how `host` is meant: exactly, with its sub-domains, or (host "") any.
    """

    reach: Literal["exact", "subdomains", "any"]
    host: str = ""
    scheme: str = ""
    port: int | None = None
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Reads a pattern. Raises `InvalidInput` that says what to write instead."""
        text = text.strip()
        scheme, rest = _scheme(text)
        authority, slash, path = rest.partition("/")
        _refuse_extras(text, authority, path)
        if authority.startswith("*"):
            return _wildcard(text, scheme, authority, _path(slash + path))
        host, port = parse_authority(authority)
        return cls(reach="exact", scheme=scheme, host=host, port=port, path=_path(slash + path))

    @property
    def exact(self) -> bool:
        """True when it names one host, and thereby that host's private addresses too."""
        return self.reach == "exact"

    def names(self, host: str) -> bool:
        """Whether a canonical host is meant, whatever the scheme, port and path."""
        if self.reach == "exact":
            return host == self.host
        if self.reach == "any":
            return True
        return host == self.host or (host.endswith("." + self.host) and not _IP.fullmatch(host))

    def matches(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> bool:
        """Whether a request is meant. `scheme` "" is one that cannot be seen; a pattern with a path needs one."""
        schemes = [name for name in DEFAULT_PORTS if scheme in ("", name) and self.scheme in ("", name)]
        ports = {self.port} if self.port is not None else {DEFAULT_PORTS[name] for name in schemes}
        return bool(schemes) and port in ports and self.names(host) and self._covers(path)

    def matches_url(self, url: Url) -> bool:
        """Whether a canonical URL is meant."""
        return self.matches(url.host, url.port, url.scheme, path=url.path)

    def _covers(self, path: str | None) -> bool:
        if not self.path:
            return True
        if path is None or not (path == self.path or path.startswith(self.path + "/")):
            return False
        # A server may decode ..%2F into a way out of the allowed folder.
        decoded = unquote(path).replace("\\", "/")
        return ".." not in decoded.split("/")

    def __str__(self) -> str:
        host = {"any": "*", "subdomains": f"*.{self.host}"}.get(self.reach, self.host)
        host = f"[{host}]" if ":" in host else host
        scheme = f"{self.scheme}://" if self.scheme else ""
        port = "" if self.port is None else f":{self.port}"
        return f"{scheme}{host}{port}{self.path}"


def for_browser(pattern: Pattern) -> Pattern:
    """The pattern, if a browser's traffic can be held to it. Raises `InvalidInput` for one with a path."""
    if not pattern.path:
        return pattern
    whole = str(pattern).removesuffix(pattern.path)
    raise InvalidInput(
        f"{pattern}: a page cannot be held to a path, because TLS hides paths from whoever checks; write {whole}"
    )


def _scheme(text: str) -> tuple[str, str]:
    match = _WITH_SCHEME.fullmatch(text)
    if match is None:
        return "", text
    scheme = match[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise InvalidInput(f"{text}: only http:// and https:// can be allowed (they cover ws:// and wss://)")
    return scheme, match[2]


def _refuse_extras(text: str, authority: str, path: str) -> None:
    if "@" in authority:
        raise InvalidInput(f"{_masked(text)}: a pattern takes no user name and password; write the host alone")
    for mark, word in (("?", "query"), ("#", "fragment")):
        if mark in authority or mark in path:
            raise InvalidInput(f"{text}: a pattern takes no {word}; leave out {mark!r} and what follows")
    if "\\" in text or any(char <= " " for char in text):
        raise InvalidInput(f"{text!r}: a pattern holds no backslash and no space")
    if "*" in authority.removeprefix("*.") and not re.fullmatch(r"\*(:.*)?", authority):
        raise InvalidInput(f"{text}: a star stands alone or before whole labels, as in *.shop.example")
    if authority in ("", "*."):
        raise InvalidInput(f"{text!r}: a pattern names a host, as in shop.example, *.shop.example:8443 or *")


def _masked(text: str) -> str:
    return re.sub(r"[^/@]*@", "…@", text)


def _wildcard(text: str, scheme: str, authority: str, path: str) -> Pattern:
    if authority == "*" or authority.startswith("*:"):
        _, port = parse_authority("any" + authority[1:])
        return Pattern(reach="any", scheme=scheme, port=port, path=path)
    host, port = parse_authority(authority[2:])
    labels = host.split(".")
    sold = len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _SOLD_UNDER
    if len(labels) < 2 or sold or _IP.fullmatch(host):
        raise InvalidInput(f"{text}: too wide, it would allow strangers' hosts; name the domain, as in *.shop.{host}")
    return Pattern(reach="subdomains", scheme=scheme, host=host, port=port, path=path)


def _path(text: str) -> str:
    if "*" in text.removesuffix("/*"):
        raise InvalidInput(f"{text}: a star in a path is not understood; a path covers everything below it")
    path = parse_url(f"http://any{text.removesuffix('/*')}").path
    return path.rstrip("/")
