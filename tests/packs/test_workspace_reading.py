"""Long files, odd files, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.packs.workspace import workspace_capability
from tests.packs.scripts import Scripts, scripts_with

MIB = 1024 * 1024
LINES = 100_000


@pytest.fixture
async def scripts(tmp_path: Path) -> AsyncIterator[Scripts]:
    async with scripts_with(workspace_capability(tmp_path)) as opened:
        yield opened


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Over 3 MiB in lines that say their number."""
    path = tmp_path / "long.log"
    path.write_text("".join(f"line {number:07d} {'.' * 20}\n" for number in range(1, LINES + 1)))
    assert path.stat().st_size > 3 * MIB
    return path


async def test_what_is_cut_says_so_and_how_to_go_on(scripts: Scripts, long: Path) -> None:
    shown = await scripts.value('readFile("long.log")')
    text, _, marker = shown.rpartition("\n")
    assert len(text) <= MIB
    assert "truncated" in marker
    assert str(long.stat().st_size) in marker
    onward = re.search(r'readFile\("long.log", \{offset: (\d+)\}\) goes on', marker)
    assert onward is not None
    assert text.splitlines()[-1].startswith(f"line {int(onward[1]) - 1:07d}")
    assert text.splitlines()[-1].endswith("." * 20)


async def test_following_the_markers_reads_everything(scripts: Scripts, long: Path) -> None:
    outcome = await scripts.run("""
        let lines = [], offset = 1
        while (true) {
          const text = readFile("long.log", {offset})
          const more = /^\\[truncated: .*\\{offset: (\\d+)\\}/m.exec(text)
          lines.push(...text.split("\\n").filter(line => line.startsWith("line ")))
          if (!more) break
          offset = Number(more[1])
        }
        return [lines.length, lines[0], lines[lines.length - 1], new Set(lines).size]""")
    assert outcome.error is None
    assert outcome.value_json is not None
    assert outcome.value_json.startswith(f'[{LINES},"line 0000001')
    assert f"line {LINES:07d}" in outcome.value_json
    assert outcome.value_json.endswith(f",{LINES}]")


async def test_lines_far_beyond_the_cap(scripts: Scripts, long: Path) -> None:
    shown = await scripts.value(f'readFile("long.log", {{offset: {LINES - 1}, limit: 2}})')
    assert shown == long.read_text().splitlines()[-2] + "\n" + long.read_text().splitlines()[-1]
    middle = await scripts.value('readFile("long.log", {offset: 60000, limit: 1})')
    assert middle.startswith("line 0060000 ")


async def test_a_limit_over_the_cap_is_cut_too(scripts: Scripts, long: Path) -> None:
    shown = await scripts.value(f'readFile("long.log", {{offset: 2, limit: {LINES}}})')
    assert "[truncated: these are lines 2 to " in shown


async def test_a_line_longer_than_the_cap(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text("ä" * MIB + "\nlast\n")
    shown = await scripts.value('readFile("wide.txt")')
    assert set(shown.split("\n")[0]) == {"ä"}
    assert "[truncated: line 1 is longer than 1048576 bytes" in shown
    assert "{offset: 2}" in shown
    assert await scripts.value('readFile("wide.txt", {offset: 2})') == "last\n"


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\0\0\0", "text".encode("utf-16")])
async def test_binary_is_refused(scripts: Scripts, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file.bin").write_bytes(data)
    thrown = await scripts.error('readFile("file.bin")')
    assert "'file.bin' is binary" in thrown
    assert f"{len(data)} bytes" in thrown


async def test_text_in_another_encoding_is_told(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    assert await scripts.value('readFile("latin.txt")') == "caf\N{REPLACEMENT CHARACTER}\n"
    assert "not all UTF-8" in scripts.notes()
    assert scripts.notes() == ""


async def test_bom_and_line_ends(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert await scripts.value('readFile("windows.txt")') == "one\r\ntwo\r\n"


async def test_an_empty_file(scripts: Scripts, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert await scripts.value('readFile("empty")') == ""
    assert scripts.notes() == ""
