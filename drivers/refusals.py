"""What the boundary declined, or could not reach, for one session: to join it with what the browser says."""

from __future__ import annotations

import time
from collections import Counter, deque

from agentloop.browser.base import Refusal
from agentloop.errors import NavigationError, RequestRefused
from agentloop.guard.network.base import NetworkDecision

__all__ = ["Refusals", "why_not"]

_KEPT = 100


class Refusals:
    """The newest 100 refused or unreachable requests. An instance is a proxy's `on_decision`."""

    def __init__(self) -> None:
        self._kept: deque[NetworkDecision] = deque(maxlen=_KEPT)

    def __call__(self, decision: NetworkDecision) -> None:
        if not decision.allowed or decision.error:
            self._kept.append(decision)

    def since(self, at: float) -> list[NetworkDecision]:
        """Those of `at` (monotonic seconds) and later, oldest first."""
        return [decision for decision in self._kept if decision.at >= at]

    def places(self, at: float) -> tuple[str, ...]:
        """The "host:port" refused since then, each once."""
        return tuple(dict.fromkeys(_place(each) for each in self.since(at) if not each.allowed))

    def counted(self, at: float) -> tuple[Refusal, ...]:
        """Those refused since then, by place and rule, in the order of first sight."""
        counts = Counter((_place(each), each.rule) for each in self.since(at) if not each.allowed)
        return tuple(Refusal(place=place, rule=rule, requests=count) for (place, rule), count in counts.items())

    def now(self) -> float:
        """The clock that decisions are stamped with."""
        return time.monotonic()


def why_not(decisions: list[NetworkDecision], url: str) -> NavigationError | RequestRefused | None:
    """The error for a page that could not be opened, from the last of the decisions; None without any."""
    if not decisions:
        return None
    last = decisions[-1]
    if last.allowed:
        return NavigationError(f"{url} could not be opened: {_place(last)}: {last.error}", url=url)
    return RequestRefused(
        f"{url} was not opened: it leads to {_place(last)}, which is not reachable (rule {last.rule})",
        host=last.host,
        rule=last.rule,
    )


def _place(decision: NetworkDecision) -> str:
    host = f"[{decision.host}]" if ":" in decision.host else decision.host
    return f"{host}:{decision.port}"
