from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentloop.errors import InvalidInput
from agentloop.project.levels import find_levels


def test_from_the_repository_down_to_the_folder(tmp_path: Path) -> None:
    deep = tmp_path / "svc" / "api"
    deep.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    levels = find_levels(deep)
    assert (levels.root, levels.folders, levels.errors) == (str(tmp_path), ("", "svc", "svc/api"), ())


def test_a_file_called_git_makes_a_repository_too_and_the_nearest_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / "src").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (inner / ".git").write_text("gitdir: elsewhere")
    assert find_levels(inner / "src") == find_levels(os.path.relpath(inner / "src"))
    assert find_levels(inner / "src").root == str(inner)


def test_without_a_repository_the_folder_speaks_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    levels = find_levels(folder)
    assert (levels.root, levels.folders) == (str(folder), ("",))


def test_a_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "real" / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "src")
    assert find_levels(tmp_path / "link") == find_levels(tmp_path / "real" / "src")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_that_somebody_else_put_around_a_folder_is_not_taken(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / ".git").mkdir()
    os.chown(tmp_path, 4321, 4321)
    levels = find_levels(mine)
    assert (levels.root, levels.folders) == (str(mine), ("",))
    assert "another user's" in levels.errors[0]
    os.chown(mine, 4321, 4321)
    assert find_levels(mine).root == str(tmp_path)


@pytest.mark.parametrize("name", ["missing", "file", "nul\0l"])
def test_what_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput):
        find_levels(tmp_path / name)
