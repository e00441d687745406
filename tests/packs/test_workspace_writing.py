"""Changes: whole or not at all, and never over somebody else's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentloop.errors import FileConflict
from agentloop.guard.policy import AllowAll, DefaultPolicy
from agentloop.packs.workspace import Root, WorkspaceLimits, workspace_capability
from agentloop.packs.workspace.threads import GaveUp, Stop
from agentloop.packs.workspace.writing import plan_write, put
from tests.packs.scripts import Person, scripts_with

CALLS = ('writeFile("a.txt", "mine")', 'editFile("a.txt", "old", "mine")')


async def attempt(root: Path, call: str, meanwhile: Callable[[], object]) -> str:
    """The error of a call that a person allows after doing something else."""
    person = Person(answer=True, meanwhile=meanwhile)
    async with scripts_with(workspace_capability(root), policy=DefaultPolicy(), person=person) as scripts:
        return await scripts.error(call)


@pytest.mark.parametrize("call", CALLS)
async def test_a_change_made_while_the_question_is_open_is_kept(tmp_path: Path, call: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    thrown = await attempt(tmp_path, call, lambda: path.write_text("new"))
    assert thrown.startswith("FileConflict: ")
    assert "'a.txt' was changed" in thrown
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", CALLS)
async def test_a_change_of_the_same_size_and_time_is_noticed(tmp_path: Path, call: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    before = path.stat()

    def change() -> None:
        path.write_text("new")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert "FileConflict" in await attempt(tmp_path, call, change)
    assert path.read_text() == "new"


@pytest.mark.parametrize("call", CALLS)
async def test_a_file_deleted_or_exchanged_meanwhile(tmp_path: Path, call: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    assert "FileConflict" in await attempt(tmp_path, call, path.unlink)
    path.write_text("old")

    def exchange() -> None:
        path.unlink()
        path.symlink_to("../b.txt")

    assert "FileConflict" in await attempt(tmp_path, call, exchange)
    assert path.is_symlink()
    assert not (tmp_path.parent / "b.txt").exists()


async def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert "FileConflict" in await attempt(tmp_path, CALLS[0], lambda: path.write_text("new"))
    assert path.read_text() == "new"


async def test_the_way_to_a_file_stays_the_one_asked_about(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    def lead_elsewhere() -> None:
        (tmp_path / "folder").symlink_to("elsewhere")

    assert "FileConflict" in await attempt(tmp_path, 'writeFile("folder/a.txt", "mine")', lead_elsewhere)
    assert os.listdir(tmp_path / "elsewhere") == []


async def test_no_half_of_a_file_is_ever_seen(tmp_path: Path) -> None:
    """A reader that opened the old file keeps it whole; the new one is another file under the same name."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    async with scripts_with(workspace_capability(tmp_path)) as scripts:
        with path.open() as reader:
            assert await scripts.value('writeFile("a.txt", "new ".repeat(100000))') is True
            assert reader.read() == "old"
    assert path.read_text() == "new " * 100_000


async def test_a_hard_link_to_a_file_outside_does_not_lead_there(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    (tmp_path / "project").mkdir()
    os.link(tmp_path / "outside.txt", tmp_path / "project/a.txt")
    async with scripts_with(workspace_capability(tmp_path / "project")) as scripts:
        assert await scripts.value('editFile("a.txt", "outside", "inside")') == 1
    assert (tmp_path / "outside.txt").read_text() == "outside"


async def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o444)
    capability = workspace_capability(tmp_path, limits=WorkspaceLimits(write_bytes=100))
    async with scripts_with(capability) as scripts:
        assert "read-only" in await scripts.error(CALLS[0])
        assert "at most 100" in await scripts.error('writeFile("b.txt", "x".repeat(101))')
        assert "is no folder" in await scripts.error('writeFile("a.txt/b.txt", "x")')
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


async def test_edits_keep_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 one\r\n")
    (tmp_path / "tool.bin").write_bytes(b"\0one")
    async with scripts_with(workspace_capability(tmp_path)) as scripts:
        assert await scripts.value('editFile("latin.txt", "one", "two")') == 1
        assert "its lines end in" in await scripts.error('editFile("latin.txt", "two\\n", "x")')
        assert "binary" in await scripts.error('editFile("tool.bin", "one", "two")')
    assert (tmp_path / "latin.txt").read_bytes() == b"caf\xe9 two\r\n"


async def test_changes_of_one_file_queue_up(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0")
    async with scripts_with(workspace_capability(tmp_path)) as scripts:
        calls = "[1,2,3,4,5].map(n => ({spread: ['a.txt', String(n - 1), String(n)]}))"
        assert await scripts.value(f"editFile.all({calls})") == [1, 1, 1, 1, 1]
    assert (tmp_path / "a.txt").read_text() == "5"


def test_a_write_that_is_stopped_changes_nothing(tmp_path: Path) -> None:
    root = Root(tmp_path)
    (tmp_path / "a.txt").write_text("old")
    change = plan_write(root, "a.txt", "new", most=100, stop=Stop())
    stop = Stop()
    stop.set()
    with pytest.raises(GaveUp):
        put(root, change, stop)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"
    (tmp_path / "a.txt").write_text("newer")
    with pytest.raises(FileConflict):
        put(root, change, Stop())
    root.close()


async def test_an_edit_that_grows_beyond_all_memory_is_refused_before_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a" * 4_000_000)
    async with scripts_with(workspace_capability(tmp_path), policy=AllowAll()) as scripts:
        thrown = await scripts.error('editFile("a.txt", "a", "b".repeat(1_000_000), {all: true})')
    assert "would have 4000000000000 bytes, at most" in thrown
    assert path.stat().st_size == 4_000_000
