"""The words of the network boundary: what asks it, what it answers, what it remembers.

Whatever leaves the process asks a `Gate` for a host and connects to one of the addresses it gets
back, never to the name: an answer that changes between check and connection cannot matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

__all__ = [
    "BLOCKED_HEADER",
    "UNREACHABLE_HEADER",
    "Checked",
    "DecisionCount",
    "DecisionLog",
    "Gate",
    "NetworkDecision",
    "OnDecision",
    "OwnPorts",
    "ProxyLimits",
    "Resolver",
]

BLOCKED_HEADER = "X-Agentloop-Blocked"
"""Set to 1 on the proxy's answer to a refused request; never let through from a server."""

UNREACHABLE_HEADER = "X-Agentloop-Unreachable"
"""Set to 1 on the proxy's answer when an allowed host could not be reached; never let through from a server."""


class Resolver(Protocol):
    """Turns a canonical host name into IP addresses as text. Bounded in time; raises OSError when there are none."""

    async def __call__(self, host: str) -> Sequence[str]: ...


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A host that may be reached. `addresses` were all checked, in the resolver's order; `rule` is what allowed it."""

    host: str
    port: int
    addresses: tuple[str, ...]
    rule: str


class Gate(Protocol):
    """Decides whether a host may be reached, and by which addresses."""

    async def resolve(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> Checked:
        """Checks the name and every address behind it.

        `scheme` is "http", "https" or "" when it cannot be seen (a tunnel); `path` None likewise.
        Raises `RequestRefused`, `InvalidInput` for a host that is none, `WorldError` when the name has no address.
        """


@dataclass(frozen=True, kw_only=True)
class NetworkDecision:
    """One request judged. `host` has no brackets; `scheme` is "http", or "tunnel" for what TLS hides.

    `rule` names what allowed or refused it; `reason` is the refusal as a sentence that says what to
    do; `error` is set when it was allowed but could not be reached. `at` is `time.monotonic()`
    seconds, to join a browser's failure with its reason.
    """

    host: str
    port: int
    scheme: str
    allowed: bool
    rule: str
    reason: str = ""
    error: str = ""
    at: float = 0.0


OnDecision: TypeAlias = Callable[[NetworkDecision], None]
"""Called once per judged request, and again if its server then gives no answer; it must neither block nor raise."""


@dataclass(frozen=True, kw_only=True)
class DecisionCount:
    """How often one (host, port, allowed, rule) was decided."""

    host: str
    port: int
    allowed: bool
    rule: str
    count: int


class DecisionLog:
    """Counts decisions in bounded memory: past `limit` different keys, of those allowed and of those refused,
    new hosts are counted as "*"."""

    def __init__(self, *, limit: int = 1000) -> None:
        self._limit = limit
        self._counts: Counter[tuple[str, int, bool, str]] = Counter()
        self._keys: Counter[bool] = Counter()

    def add(self, decision: NetworkDecision) -> None:
        """Counts one decision."""
        key = (decision.host, decision.port, decision.allowed, decision.rule)
        if key not in self._counts:
            if self._keys[decision.allowed] >= self._limit:
                key = ("*", 0, decision.allowed, decision.rule)
            self._keys[decision.allowed] += 1
        self._counts[key] += 1

    def counts(self) -> tuple[DecisionCount, ...]:
        """What was counted, in the order of first sight."""
        return tuple(
            DecisionCount(host=host, port=port, allowed=allowed, rule=rule, count=count)
            for (host, port, allowed, rule), count in self._counts.items()
        )


class OwnPorts:
    """Ports of this machine that belong to the product itself: proxies, service, debugging.

    One is shared by everything that opens ports and every boundary that must keep pages off them.
    """

    def __init__(self, ports: Sequence[int] = ()) -> None:
        self._ports: Counter[int] = Counter(ports)

    def add(self, port: int) -> None:
        """Keeps pages off `port` until as many `discard`s."""
        self._ports[port] += 1

    def discard(self, port: int) -> None:
        """Takes one `add` back."""
        self._ports[port] -= 1
        if self._ports[port] <= 0:
            del self._ports[port]

    def __contains__(self, port: object) -> bool:
        return port in self._ports


@dataclass(frozen=True, kw_only=True)
class ProxyLimits:
    """Bounds of one proxy; seconds, bytes and counts."""

    connect_s: float = 10.0
    """To open a connection to a server, all its addresses together."""
    head_s: float = 10.0
    """From the first byte of a request to the end of its head."""
    idle_s: float = 60.0
    """A kept connection may wait this long for its next request."""
    stream_idle_s: float = 600.0
    """A response, an upload or a tunnel may stand still this long."""
    linger_s: float = 5.0
    """What remains of an exchange once one side has closed its half."""
    head_bytes: int = 64 * 1024
    """Longest head of a request or response."""
    connections: int = 256
    """Open client connections; more are refused."""
