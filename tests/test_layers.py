"""Imports point downward: the floors of the house, from the ground up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.source import Module, body, modules

FLOORS = (
    ("errors",),
    ("clock", "records", "events"),
    ("llm", "guard", "choices"),
    ("stores", "artifacts", "tracing"),
    ("capabilities",),
    ("packs", "journal"),
    ("context", "project", "browser"),
    ("replay", "sandbox", "drivers", "report"),
    ("run",),
    ("loop",),
    ("eval",),
    ("settings", "build", "browsing"),
    ("evaluating",),
    ("queues",),
    ("service", "client", "testing"),
    ("cli",),
)
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
ONE_FLOOR_ONE_CONCEPT = {
    frozenset(("records", "events")),
    frozenset(("settings", "build")),
    frozenset(("build", "browsing")),
}
"""Pairs on one floor that may know each other: files there, not rooms."""

WORDS = ("agentloop.guard.grants", "agentloop.guard.policy")
"""Value types and protocols of the guard room, which has no `base.py` of its own."""

ANYWHERE = ("agentloop", "agentloop.__main__")
ALL = modules()


def room(name: str) -> str:
    return name.split(".")[1]


def imported(module: Module) -> Iterator[str]:
    """The agentloop modules imported by `module`, at its top or inside a function."""
    names = {candidate.name for candidate in ALL}
    for top in body(module):
        for node in ast.walk(top):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name.startswith("agentloop."))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "agentloop":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in names else str(node.module)


def allowed(importer: str, target: str) -> bool:
    if importer in ANYWHERE:
        return True
    if target == "agentloop":
        return False
    here, there = room(importer), room(target)
    if here == there:
        return True
    if target.endswith(".base") or target in WORDS:
        return HEIGHT[here] > 0
    if HEIGHT[here] == HEIGHT[there]:
        return frozenset((here, there)) in ONE_FLOOR_ONE_CONCEPT
    return HEIGHT[here] > HEIGHT[there]


def test_every_room_has_its_floor() -> None:
    assert {room(module.name) for module in ALL if module.name not in ANYWHERE} <= HEIGHT.keys()


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.name)
def test_imports_point_downward(module: Module) -> None:
    wrong = [target for target in imported(module) if not allowed(module.name, target)]
    assert not wrong, f"{module.name} may not import {wrong}: see FLOORS"


@pytest.mark.parametrize(
    "module", [m for m in ALL if m.name.startswith("agentloop.sandbox.inside")], ids=lambda module: module.name
)
def test_what_runs_inside_the_sandbox_needs_no_agentloop(module: Module) -> None:
    wrong = [target for target in imported(module) if not target.startswith("agentloop.sandbox.inside")]
    assert not wrong


@pytest.mark.parametrize(
    ("importer", "target", "expected"),
    [
        ("agentloop.loop", "agentloop.stores.memory", True),
        ("agentloop.stores.memory", "agentloop.loop", False),
        ("agentloop.drivers.host", "agentloop.browser.base", True),
        ("agentloop.drivers.host", "agentloop.sandbox.host", False),
        ("agentloop.context.feedback", "agentloop.sandbox.base", True),
        ("agentloop.context.feedback", "agentloop.sandbox.host", False),
        ("agentloop.errors", "agentloop.llm.base", False),
        ("agentloop.llm.openai", "agentloop", False),
    ],
)
def test_the_rule_itself(importer: str, target: str, expected: bool) -> None:
    assert allowed(importer, target) is expected
