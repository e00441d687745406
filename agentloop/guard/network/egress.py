"""What a run sent and received: where to, through which door, how much, and where it was stopped.

The pages' proxy and the scripts' client each write through a door of one `Egress`, which counts in bounded
memory, holds the run to its byte cap, and makes the entry of the run in an egress manifest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentloop.clock import utc_now
from agentloop.errors import RequestRefused
from agentloop.guard.network.base import NetworkDecision
from agentloop.records import Json

__all__ = [
    "BYTE_CAP",
    "CONNECTION_CAP",
    "BoundaryKind",
    "CapReached",
    "DoorName",
    "Egress",
    "EgressDoor",
    "EgressLimits",
    "Tally",
]

BYTE_CAP = "byte-cap"
"""The rule of a refusal because the run has sent and received what it may."""

CONNECTION_CAP = "connection-cap"
"""The rule of a refusal because as many connections of a context are open as there may be."""

BoundaryKind: TypeAlias = Literal["none", "proxy", "tcp-only", "unguarded"]
"""How pages are held: not at all opened by us, behind the proxy, behind it but for UDP, or by nothing."""

DoorName: TypeAlias = Literal["page", "fetch"]

_KINDS: tuple[BoundaryKind, ...] = ("none", "proxy", "tcp-only", "unguarded")
_CAPS = frozenset({BYTE_CAP, CONNECTION_CAP})
# The reasons of these rules quote what was asked for, which may hold a path.
_QUOTING = frozenset({"malformed", "policy", "scheme"})
_REASON_CHARS = 300
_OTHERS = "*"


@dataclass(frozen=True, kw_only=True)
class EgressLimits:
    """What one run may move, all its doors together."""

    bytes: int = 1 << 30
    """Sent and received, counted on the connections to servers (of `fetch`, inside TLS)."""


class CapReached(ConnectionError):
    """Raised where bytes are passed on, once the byte cap is spent: the connection ends."""


@dataclass(kw_only=True)
class _Place:
    """One host and port that was let through."""

    rule: str = ""
    requests: int = 0
    unanswered: int = 0
    sent: int = 0
    received: int = 0


@dataclass(kw_only=True)
class _Refusal:
    reason: str
    requests: int = 0


class Egress:
    """The log of one run. `hosts` bounds, for each of contacted and refused, how many are told apart:
    further ones are counted as host "*"."""

    def __init__(self, *, limits: EgressLimits | None = None, hosts: int = 1000) -> None:
        self.limits = limits or EgressLimits()
        self.boundary: BoundaryKind = "none"
        self._began = utc_now()
        self._hosts = hosts
        self._moved = 0
        self._places: dict[tuple[DoorName, str, int], _Place] = {}
        self._refusals: dict[tuple[DoorName, str, int, str], _Refusal] = {}

    @property
    def spent(self) -> bool:
        """True once the byte cap is reached: nothing more is sent or received."""
        return self._moved >= self.limits.bytes

    def door(self, name: DoorName) -> EgressDoor:
        """One way out, which tells this log of what passes."""
        return EgressDoor(self, name)

    def opened(self, kind: BoundaryKind) -> None:
        """Pages were opened that are held like this; the weakest of a run stands."""
        self.boundary = max(self.boundary, kind, key=_KINDS.index)

    def to_dict(self) -> dict[str, Json]:
        """The run's part of a manifest: no path, no query and nothing that was sent."""
        sent = sum(place.sent for place in self._places.values())
        received = sum(place.received for place in self._places.values())
        return {
            "since": self._began,
            "boundary": self.boundary,
            "limits": {"bytes": self.limits.bytes},
            "sent": sent,
            "received": received,
            "caps_reached": sorted({rule for *_, rule in self._refusals if rule in _CAPS}),
            "contacted": [
                {"host": host, "port": port, "door": door, "rule": place.rule, "requests": place.requests}
                | {"unanswered": place.unanswered, "sent": place.sent, "received": place.received}
                for (door, host, port), place in self._places.items()
            ],
            "refused": [
                {"host": host, "port": port, "door": door, "rule": rule, "requests": refusal.requests}
                | {"reason": refusal.reason}
                for (door, host, port, rule), refusal in self._refusals.items()
            ],
        }

    def summary(self) -> dict[str, Json]:
        """The same in a few numbers."""
        return {
            "boundary": self.boundary,
            "contacted": _hosts(host for _, host, _ in self._places),
            "refused": _hosts(host for _, host, _, _ in self._refusals),
            "bytes": self._moved,
        }

    def _place(self, door: DoorName, host: str, port: int) -> _Place:
        key = (door, host, port)
        if key not in self._places and len(self._places) >= self._hosts:
            key = (door, _OTHERS, 0)
        return self._places.setdefault(key, _Place())

    def _note(self, door: DoorName, decision: NetworkDecision) -> None:
        if not decision.allowed:
            self._note_refusal(door, decision)
            return
        place = self._place(door, decision.host, decision.port)
        place.rule = place.rule or decision.rule
        if decision.error:
            place.unanswered += 1
        else:
            place.requests += 1

    def _note_refusal(self, door: DoorName, decision: NetworkDecision) -> None:
        key = (door, decision.host, decision.port, decision.rule)
        if key not in self._refusals and len(self._refusals) >= self._hosts:
            key = (door, _OTHERS, 0, decision.rule if decision.rule in _CAPS else _OTHERS)
        reason = "" if decision.rule in _QUOTING else decision.reason[:_REASON_CHARS]
        self._refusals.setdefault(key, _Refusal(reason=reason)).requests += 1

    def _move(self, count: int) -> None:
        self._moved += count
        if count and self.spent:
            raise CapReached(f"the run's {self.limits.bytes:,} bytes are spent (rule {BYTE_CAP})")


class EgressDoor:
    """One way out of a run. An instance is an `OnDecision`."""

    def __init__(self, egress: Egress, name: DoorName) -> None:
        self.egress = egress
        self._name = name

    def __call__(self, decision: NetworkDecision) -> None:
        self.egress._note(self._name, decision)

    @property
    def spent(self) -> bool:
        """True once the run has moved what it may."""
        return self.egress.spent

    def refusal(self, host: str) -> RequestRefused:
        """Why nothing more goes out once it is spent."""
        limit = self.egress.limits.bytes
        return RequestRefused(
            f"{host} is not reachable any more (rule {BYTE_CAP}): the run has moved the {limit:,} bytes that it may "
            "send and receive; --max-egress-bytes sets how many",
            host=host,
            rule=BYTE_CAP,
        )

    def tally(self, host: str, port: int) -> Tally:
        """Counts the bytes of one connection to a server."""
        return Tally(self.egress, self.egress._place(self._name, host, port))


class Tally:
    """The bytes of one connection. Both raise `CapReached` when these are more than the run may move."""

    def __init__(self, egress: Egress, place: _Place) -> None:
        self._egress = egress
        self._place = place

    def sent(self, count: int) -> None:
        """Counts bytes that are about to be sent."""
        self._place.sent += count
        self._egress._move(count)

    def received(self, count: int) -> None:
        """Counts bytes that have come."""
        self._place.received += count
        self._egress._move(count)


def _hosts(names: Iterable[str]) -> int:
    return len(set(names))
