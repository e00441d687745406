"""Sizes and names: what keeps a file readable in one sitting."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from statistics import median

import pytest

from tests.source import ROOT, Module, modules

ALL = modules()
FILE_LINES = 400
FUNCTION_LINES = 60
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "shared"}


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """Name and length of each function, its docstring not counted."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            docstring = ast.get_docstring(node, clean=False)
            explained = (first.end_lineno or 0) - first.lineno + 1 if docstring is not None else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - explained


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.name)
def test_files_and_functions_are_short(module: Module) -> None:
    lines = len(module.path.read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES
    long = [(name, lines) for name, lines in functions(module) if lines > FUNCTION_LINES]
    assert not long


def test_most_functions_are_very_short() -> None:
    lengths = [lines for module in ALL for _, lines in functions(module)]
    assert median(lengths) <= 9
    assert sum(lines <= 40 for lines in lengths) >= 0.95 * len(lengths)


def test_scripts_for_pages_and_sandbox_are_short() -> None:
    folders = (ROOT / "agentloop", ROOT / "browser", ROOT / "drivers")
    long = {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in folder.rglob("*.js")
        if len(path.read_text(encoding="utf-8").splitlines()) > FILE_LINES
    }
    assert not long


def test_files_are_named_by_their_noun() -> None:
    assert not {module.name for module in ALL if VAGUE & set(module.name.split("."))}


def test_the_loop_stays_small() -> None:
    loop = next(module for module in ALL if module.name == "agentloop.loop")
    lines = len(loop.path.read_text(encoding="utf-8").splitlines())
    assert lines <= 300
    assert max(lines for _, lines in functions(loop)) <= 40


def test_the_front_door_is_small() -> None:
    from agentloop import __all__ as offered

    assert len(offered) <= 24


def test_the_map_names_every_room() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    rooms = {module.name.split(".")[1] for module in ALL if module.name not in ("agentloop", "agentloop.__main__")}
    assert not [room for room in rooms if f"{room}.py`" not in text and f"{room}/`" not in text]


def test_what_the_map_names_is_there() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    places = re.findall(r"`([\w./*-]+(?:/|\.(?:py|md|js|json)))`", text)
    bases = ("", "agentloop", "agentloop/context", "agentloop/guard", "agentloop/sandbox", "browser", "tests")
    folders = [ROOT / base for base in (*bases, "tests/browser")]
    assert len(places) > 40
    assert not [place for place in places if not any(any(folder.glob(place)) for folder in folders)]
