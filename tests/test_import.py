"""Importing is cheap: what is heavy is loaded by what needs it, when it needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source import ROOT, modules

HEAVY = {
    "PIL",
    "_quickjs",
    "aiohttp",
    "dbos",
    "httpx",
    "markdown_it",
    "opentelemetry",
    "playwright",
    "pytest",
    "quickjs",
    "rich",
    "sqlite_utils",
}
LIST = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"


def loaded_by(code: str) -> set[str]:
    """The top-level modules in a fresh interpreter after `code`."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; {LIST}"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    return set(run.stdout.split())


def test_the_front_door_loads_nothing_of_the_house() -> None:
    listing = "import agentloop, sys; print(*[name for name in sys.modules if name.startswith('agentloop')])"
    run = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.split() == ["agentloop"]


@pytest.mark.parametrize("room", [module.name for module in modules() if module.is_package])
def test_a_room_loads_nothing_heavy(room: str) -> None:
    assert not loaded_by(f"import {room}") & HEAVY


def test_the_loop_needs_no_browser_and_no_server() -> None:
    assert not loaded_by("import agentloop.loop") & {"PIL", "aiohttp", "httpx", "playwright", "rich"}


def test_the_list_can_see_what_is_loaded() -> None:
    assert "httpx" in loaded_by("import httpx")
