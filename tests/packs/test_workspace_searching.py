"""Grep: all of the hits, and never for long."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.packs.workspace import WorkspaceLimits, workspace_capability
from tests.packs.scripts import Scripts, scripts_with

CATASTROPHIC = (r"(a+)+$", r"(a|aa)+c", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(.*a){20}x", r"(a?){100}a{100}z")
BOUND_S = 25.0


@pytest.fixture
async def scripts(tmp_path: Path) -> AsyncIterator[Scripts]:
    async with scripts_with(workspace_capability(tmp_path)) as opened:
        yield opened


async def test_many_files_are_searched_not_five_hundred(scripts: Scripts, tmp_path: Path) -> None:
    for number in range(700):
        (tmp_path / f"{number:03d}.txt").write_text("needle\n" if number == 699 else "hay\n")
    assert await scripts.value('grep("needle")') == [{"path": "699.txt", "line": 1, "text": "needle"}]
    assert len(await scripts.value('grep("hay")')) == 500
    assert "grep: there are more than the 500 returned" in scripts.notes()


async def test_files_over_a_mebibyte_are_searched(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("hay hay hay\n" * 300_000 + "needle")
    assert await scripts.value('grep("needle$")') == [{"path": "long.txt", "line": 300_001, "text": "needle"}]


async def test_long_lines_are_cut_around_the_hit(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "wide.js").write_text("x" * 5_000 + "needle" + "y" * 3_000_000 + "needle\nneedle\n")
    first, second = await scripts.value('grep("needle")')
    assert first["line"] == 1
    assert "xneedley" in first["text"]
    assert first["text"].startswith("…")
    assert first["text"].endswith("…")
    assert len(first["text"]) < 500
    assert second == {"path": "wide.js", "line": 2, "text": "needle"}


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^two$", [2]),
        ("one$", [1]),
        ("^$", [3]),
        (r"o\s+t", []),
        (r"[^x]three", []),
        ("e", [1, 4]),
        ("(?i)THREE", [4]),
        ("é", [5]),
        ("^.$", [5]),
    ],
)
async def test_each_line_by_itself(scripts: Scripts, tmp_path: Path, pattern: str, lines: list[int]) -> None:
    (tmp_path / "a.txt").write_bytes("one\r\ntwo\r\n\r\nthree\né".encode())
    found = await scripts.value(f"grep(String.raw`{pattern}`)")
    assert [hit["line"] for hit in found] == lines
    assert not [hit for hit in found if "\r" in hit["text"]]


async def test_lines_on_the_edges_of_blocks(scripts: Scripts, tmp_path: Path) -> None:
    wanted = [number for number in range(1, 20_001) if number % 1_000 == 0]
    text = "".join(f"{'hit' if number % 1_000 == 0 else 'miss'} {number}\n" for number in range(1, 20_001))
    (tmp_path / "a.txt").write_text(text)
    assert [hit["line"] for hit in await scripts.value(r'grep("^hit \\d+$")')] == wanted


async def test_text_anchors_are_explained(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\\A here")
    assert "use ^ and $" in await scripts.error(r'grep("\\Aone")')
    assert len(await scripts.value(r'grep("\\\\A here")')) == 1


async def test_patterns_that_would_be_slow_even_so_are_refused(scripts: Scripts) -> None:
    assert "too large" in await scripts.error('grep("([a-m]?[n-z]?){900}9")')


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_unreadable_files_are_told(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch(0o000)
    assert await scripts.value('grep("x")') == []
    assert scripts.notes() == "grep: 1 files could not be read"


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "one line"])
async def test_no_pattern_takes_long(tmp_path: Path, lines: bool) -> None:
    line = b"a" * 99 + (b"!\n" if lines else b"!")
    (tmp_path / "big.txt").write_bytes(line * 500_000)
    async with scripts_with(workspace_capability(tmp_path)) as scripts:
        began = time.monotonic()
        for pattern in CATASTROPHIC:
            assert len(await scripts.value(f"grep(String.raw`{pattern}`)")) <= 1
        assert time.monotonic() - began < BOUND_S


async def test_a_search_ends_at_its_bound(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_bytes((b"a" * 99 + b"!\n") * 200_000)
    capability = workspace_capability(tmp_path, limits=WorkspaceLimits(seconds=0.001))
    async with scripts_with(capability) as scripts:
        assert "grep: gave up after 0.001 s" in await scripts.error('grep("b")')


async def test_what_git_ignores_is_left_out(scripts: Scripts, tmp_path: Path) -> None:
    for path in ("node_modules/lib/a.js", "src/a.js", "src/gen/b.js", "src/gen/keep.js", "debug.log", "keep.log"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("needle\n")
    (tmp_path / ".gitignore").write_text("node_modules/\n*.log\n!keep.log\n")
    (tmp_path / "src/.gitignore").write_text("/gen/*\n!/gen/keep.js\n")
    (tmp_path / "src/gen/.gitignore").write_text("[bad\n\n# a comment\n")
    kept = ["keep.log", "src/a.js", "src/gen/keep.js"]
    assert await scripts.value('glob("**/*.{js,log}")') == kept
    assert [hit["path"] for hit in await scripts.value('grep("needle")')] == kept
    assert len(await scripts.value('glob("**/*.{js,log}", {ignored: true})')) == 6
    assert len(await scripts.value('grep("needle", {ignored: true})')) == 6


async def test_an_ignored_folder_that_is_named_is_meant(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "build/out").mkdir(parents=True)
    (tmp_path / "build/out/a.txt").write_text("x")
    (tmp_path / ".gitignore").write_text("build\n")
    assert await scripts.value('glob("**/*.txt")') == []
    assert "{ignored: true}" in scripts.notes()
    assert await scripts.value('glob("build/**")') == ["build/out/a.txt"]


async def test_hostile_ignore_files_cost_little(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 40 + "b\n")
    (tmp_path / ("a" * 250)).write_text("x")
    began = time.monotonic()
    assert len(await scripts.value('glob("*a*a*a*a*a*a*a*a*a*a*a*a*")')) == 1
    assert time.monotonic() - began < BOUND_S
