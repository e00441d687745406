"""Which hosts may be reached: the one rule that pages, scripts and packs are all held to.

Reachable is, for every address behind a name:

- `allow`: what a pattern of the operator means; a private address only if the pattern names that exact host;
- `start-url`: the exact origin of the URL that the operator started from;
- `public`: any public address on ports 80 and 443, if no patterns were given at all;
- `private`: any private address on any port, if the operator said so.

Never, whatever is allowed: link-local, metadata and multicast addresses, and this product's own ports.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address

from agentloop.errors import InvalidInput, RequestRefused, WorldError, refuse_text
from agentloop.guard.network.address import METADATA_HOSTS, NEVER, Address, AddressKind, classify, parse_address, unwrap
from agentloop.guard.network.base import Checked, OwnPorts, Resolver
from agentloop.guard.network.pattern import Pattern, for_browser
from agentloop.guard.network.url import DEFAULT_PORTS, Url, canonical_host, parse_url

__all__ = ["Boundary", "Reach", "SystemResolver", "run_boundary"]

_HINTS = {
    "metadata": "addresses that serve credentials are never reachable",
    "link-local": "link-local addresses are never reachable",
    "multicast": "multicast addresses are never reachable",
    "own-port": "the product's own ports are never reachable",
    "rebinding": "the name now leads to another private address than when it was first asked",
}
_LOOPBACK_NAMES = ("127.0.0.1", "::1")


class SystemResolver:
    """Asks the operating system. Raises OSError when it does not answer within `timeout` seconds."""

    def __init__(self, *, timeout: float = 10.0) -> None:
        self._timeout = timeout

    async def __call__(self, host: str) -> Sequence[str]:
        async with asyncio.timeout(self._timeout):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, kw_only=True)
class Reach:
    """One party's wish: the operator's, or a request's that narrows it. `patterns` None means none were given."""

    patterns: tuple[Pattern, ...] | None = None
    start: Url | None = None
    allow_private: bool = False

    def rule(self, target: _Target, kind: AddressKind) -> str | None:
        """The name of the rule that opens an address of this kind, None when none does."""
        public = kind is AddressKind.PUBLIC
        if any((public or pattern.exact) and target.meant_by(pattern) for pattern in self.patterns or ()):
            return "allow"
        if self.start is not None and target.within(self.start):
            return "start-url"
        if self.patterns is None and public and target.port in DEFAULT_PORTS.values():
            return "public"
        return "private" if self.allow_private and not public else None

    def refusal(self, target: _Target, kind: AddressKind) -> str:
        """Why `rule` gave None, in a word."""
        if self.rule(target, AddressKind.PUBLIC) is not None:
            return "private-address"
        return "port" if self.patterns is None else "not-allowed"

    def may_ask(self, target: _Target) -> bool:
        """Whether any answer of the resolver could open the name; if not, it is not even asked."""
        return any(self.rule(target, kind) for kind in (AddressKind.PUBLIC, AddressKind.PRIVATE))


@dataclass(frozen=True)
class _Target:
    host: str
    port: int
    scheme: str
    path: str | None

    def meant_by(self, pattern: Pattern) -> bool:
        return pattern.matches(self.host, self.port, self.scheme, path=self.path)

    def within(self, origin: Url) -> bool:
        same = (self.host, self.port) == (origin.host, origin.port)
        return same and self.scheme in ("", origin.scheme)


class Boundary:
    """The operator's rule. It is a `Gate`; `narrowed` makes the one for a request.

    `allow` None means that no patterns were given, an empty list that nothing but the start URL's
    origin is reachable. Raises `InvalidInput` for a pattern or URL that is none.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str | Pattern] | None = None,
        start_url: str | None = None,
        allow_private: bool = False,
        own_ports: OwnPorts | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        start = None if start_url is None else parse_url(start_url)
        self.own_ports = OwnPorts() if own_ports is None else own_ports
        self._layers: tuple[Reach, ...] = (Reach(patterns=_patterns(allow), start=start, allow_private=allow_private),)
        self._resolver: Resolver = SystemResolver() if resolver is None else resolver
        self._first_seen: dict[str, frozenset[str]] = {}

    def narrowed(self, allow: Iterable[str | Pattern] | None) -> Boundary:
        """What both this boundary and `allow` reach; None narrows nothing. The start URL's origin stays."""
        if allow is None:
            return self
        narrow = Boundary(own_ports=self.own_ports, resolver=self._resolver)
        narrow._layers = (*self._layers, Reach(patterns=_patterns(allow), start=self._layers[0].start))
        narrow._first_seen = self._first_seen
        return narrow

    def opened(self, pattern: Pattern) -> Boundary:
        """What a person opened by a word of their own: that alone, by the same resolver and memory of names."""
        other = Boundary(allow=[pattern], own_ports=self.own_ports, resolver=self._resolver)
        other._first_seen = self._first_seen
        return other

    @property
    def allowed(self) -> tuple[Pattern, ...] | None:
        """The patterns of its narrowest part; None when none were given."""
        return self._layers[-1].patterns

    def for_browser(self) -> Boundary:
        """This boundary, if a browser can be held to it. Raises `InvalidInput` for a pattern with a path."""
        for layer in self._layers:
            for pattern in layer.patterns or ():
                for_browser(pattern)
        return self

    async def resolve_url(self, url: str | Url) -> Checked:
        """`resolve` for a whole URL. Raises `InvalidInput` for what is no URL."""
        url = parse_url(url) if isinstance(url, str) else url
        return await self.resolve(url.host, url.port, url.scheme, path=url.path)

    async def resolve(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> Checked:
        """Checks a host and every address behind it; the connection must go to one of `addresses`.

        Raises `RequestRefused` with host and rule, `InvalidInput` for a host that is none, `WorldError`
        when the name has no address.
        """
        target = _Target(canonical_host(host), port, scheme, path)
        addresses = await self._addresses(target)
        rules = [self._rule(target, address) for address in addresses]
        self._check_rebinding(target, addresses, rules)
        return Checked(host=target.host, port=port, addresses=addresses, rule=rules[0])

    async def _addresses(self, target: _Target) -> tuple[str, ...]:
        literal = _literal(target.host)
        if literal is not None:
            return (literal,)
        if target.host in METADATA_HOSTS:
            raise _refused(target, "metadata")
        for layer in self._layers:
            if not layer.may_ask(target):
                raise _refused(target, layer.refusal(target, AddressKind.PRIVATE))
        # A browser takes these names for loopback without asking anybody, and so do we (RFC 6761).
        if target.host == "localhost" or target.host.endswith(".localhost"):
            return _LOOPBACK_NAMES
        try:
            found = await self._resolver(target.host)
        except OSError as error:
            raise WorldError(f"{target.host} could not be resolved: {error}") from error
        if not found:
            raise WorldError(f"{target.host} could not be resolved: it has no address")
        return tuple(_plain(parse_address(text)) for text in found)

    def _rule(self, target: _Target, address: str) -> str:
        kind = classify(address)
        if kind in NEVER:
            raise _refused(target, kind.value)
        if target.port in self.own_ports and kind is not AddressKind.PUBLIC and _is_ours(address, kind):
            raise _refused(target, "own-port")
        rules = [layer.rule(target, kind) for layer in self._layers]
        for layer, rule in zip(self._layers, rules, strict=True):
            if rule is None:
                raise _refused(target, layer.refusal(target, kind))
        return rules[0] or ""

    def _check_rebinding(self, target: _Target, addresses: Sequence[str], rules: Sequence[str]) -> None:
        # Only exact names reach private addresses unasked, so the memory is as long as the operator's list.
        if _literal(target.host) is not None or not {"allow", "start-url"}.intersection(rules):
            return
        places = frozenset(_place(address) for address in addresses) - {""}
        if not places <= self._first_seen.setdefault(target.host, places):
            raise _refused(target, "rebinding")


def run_boundary(
    *,
    start_url: str | None,
    narrow: Iterable[str | Pattern] | None,
    allow: Iterable[str | Pattern] | None = None,
    allow_private: bool = False,
    own_ports: OwnPorts | None = None,
    resolver: Resolver | None = None,
) -> Boundary:
    """What the scripts of a run reach: `allow` is the operator's word, `narrow` the request's, which opens nothing.

    A start URL that is no web address opens nothing either; whoever is to open it says why. Raises `InvalidInput`
    for a pattern that is none.
    """
    try:
        start = None if start_url is None else str(parse_url(start_url))
    except (InvalidInput, RequestRefused):
        start = None
    boundary = Boundary(
        allow=allow, start_url=start, allow_private=allow_private, own_ports=own_ports, resolver=resolver
    )
    return boundary.narrowed(narrow)


def _patterns(allow: Iterable[str | Pattern] | None) -> tuple[Pattern, ...] | None:
    if allow is None:
        return None
    refuse_text("allow", allow, of="patterns")
    return tuple(Pattern.parse(item) if isinstance(item, str) else item for item in allow)


def _literal(host: str) -> str | None:
    try:
        return _plain(parse_address(host))
    except InvalidInput:
        return None


def _plain(address: Address) -> str:
    """As text, a mapped IPv4 address as IPv4: it is the same place, also on a machine without IPv6."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _place(address: str) -> str:
    """What a name may not change to later: nothing for public addresses, the kind, or the loopback address itself."""
    kind = classify(address)
    if kind is AddressKind.PUBLIC:
        return ""
    return address if kind is AddressKind.LOOPBACK else kind.value


def _is_ours(address: str, kind: AddressKind) -> bool:
    if kind in (AddressKind.LOOPBACK, AddressKind.UNSPECIFIED):
        return True
    ip = unwrap(parse_address(address))
    with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return False
    return True


def _refused(target: _Target, rule: str) -> RequestRefused:
    host = f"[{target.host}]" if ":" in target.host else target.host
    place = f"{host}:{target.port}"
    scheme = target.scheme or ("https" if target.port == DEFAULT_PORTS["https"] else "http")
    hint = _HINTS.get(rule, f"to allow it: --allow {scheme}://{place}")
    return RequestRefused(f"{place} is not reachable (rule {rule}): {hint}", host=target.host, rule=rule)
