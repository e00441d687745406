from __future__ import annotations

from agentloop.guard import DecisionCount, NetworkDecision
from agentloop.guard.network.base import DecisionLog


def decision(host: str, *, allowed: bool = False) -> NetworkDecision:
    return NetworkDecision(host=host, port=80, scheme="http", allowed=allowed, rule="r")


def test_decisions_are_counted_in_bounded_memory_and_refusals_hide_nothing() -> None:
    log = DecisionLog(limit=2)
    for host in ("a.test", "b.test", "a.test", "c.test", "d.test", "a.test"):
        log.add(decision(host))
    for host in ("e.test", "f.test", "g.test"):
        log.add(decision(host, allowed=True))

    assert log.counts() == (
        DecisionCount(host="a.test", port=80, allowed=False, rule="r", count=3),
        DecisionCount(host="b.test", port=80, allowed=False, rule="r", count=1),
        DecisionCount(host="*", port=0, allowed=False, rule="r", count=2),
        DecisionCount(host="e.test", port=80, allowed=True, rule="r", count=1),
        DecisionCount(host="f.test", port=80, allowed=True, rule="r", count=1),
        DecisionCount(host="*", port=0, allowed=True, rule="r", count=1),
    )
