from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from agentloop.artifacts import FolderArtifacts
from agentloop.errors import InvalidInput, StoreError


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def test_a_file_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path / "runs" / "r1")
    where = await artifacts.write("turn-003.png", b"picture")
    assert where == str(tmp_path / "runs" / "r1" / "turn-003.png")
    assert held(tmp_path / "runs" / "r1") == {"turn-003.png": b"picture"}
    assert (mode(artifacts.location), mode(where)) == (0o700, 0o600)


async def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    assert FolderArtifacts(tmp_path / "later").location == str(tmp_path / "later")
    assert not (tmp_path / "later").exists()


async def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    await FolderArtifacts(tmp_path / "a" / "b").check()
    await FolderArtifacts(tmp_path).check()
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_cannot_be_is_told_by_the_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("taken")
    for place in ("file", "file/below"):
        with pytest.raises(InvalidInput, match=f"cannot be kept in {tmp_path / place}: .*choose another folder"):
            await FolderArtifacts(tmp_path / place).check()
    with pytest.raises(InvalidInput, match="cannot be kept in /proc"):
        await FolderArtifacts("/proc/self/fd").check()
    assert held(tmp_path) == {"file": b"taken"}


async def test_an_existing_folder_keeps_its_mode_and_the_file_is_private_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    where = await FolderArtifacts(tmp_path / "open").write("a", b"")
    assert (mode(tmp_path / "open"), mode(where)) == (0o755, 0o600)


async def test_names_may_have_folders(tmp_path: Path) -> None:
    where = await FolderArtifacts(tmp_path).write("downloads/a/report.pdf", b"x")
    assert where == str(tmp_path / "downloads" / "a" / "report.pdf")
    assert mode(tmp_path / "downloads") == 0o700


async def test_a_second_write_replaces_the_first_and_leaves_nothing_else(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    await artifacts.write("a", b"a long first text")
    await artifacts.write("a", b"short")
    assert held(tmp_path) == {"a": b"short"}


@pytest.mark.parametrize(
    "name", ["", ".", "/", "..", "../a", "a/../../b", "/etc/a", "a/", "..\\a", "C:\\a", "C:a", "a\0b", "./.."]
)
async def test_names_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    with pytest.raises(InvalidInput, match="relative"):
        await FolderArtifacts(inner).write(name, b"x")
    assert held(tmp_path) == {}


async def test_a_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    outside, inner = tmp_path / "outside", tmp_path / "inner"
    outside.mkdir()
    inner.mkdir()
    (inner / "folder").symlink_to(outside)
    (inner / "file").symlink_to(outside / "victim")
    (outside / "victim").write_bytes(b"safe")
    artifacts = FolderArtifacts(inner)
    with pytest.raises(InvalidInput, match="symbolic link"):
        await artifacts.write("folder/a", b"x")
    await artifacts.write("file", b"mine")
    assert (outside / "victim").read_bytes() == b"safe" and not (outside / "a").exists()
    assert (inner / "file").read_bytes() == b"mine" and not (inner / "file").is_symlink()


async def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    await artifacts.write("a/b", b"x")
    with pytest.raises(InvalidInput, match="folder"):
        await artifacts.write("a", b"x")


async def test_what_the_disk_refuses_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="could not be written"):
        await FolderArtifacts(tmp_path / "file").write("a", b"x")
    with pytest.raises(StoreError):
        await FolderArtifacts(tmp_path).write("n" * 5000, b"x")


async def test_writes_at_once_do_not_mix(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    bodies = [bytes([65 + n]) * 100_000 for n in range(8)]
    async with asyncio.TaskGroup() as group:
        for body in bodies:
            group.create_task(artifacts.write("same", body))
    assert held(tmp_path) in [{"same": body} for body in bodies]
