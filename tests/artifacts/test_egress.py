from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentloop.artifacts.egress import EgressManifest
from agentloop.errors import InvalidInput, StoreError


def runs(file: Path) -> list[str]:
    told = json.loads(file.read_text("utf-8"))
    assert told["version"] == 1
    return [run["run_id"] for run in told["runs"]]


async def test_it_is_there_before_the_first_run(tmp_path: Path) -> None:
    file = tmp_path / "new" / "egress.json"

    manifest = await EgressManifest.begin(file)

    assert runs(file) == []
    assert manifest.location == str(file)
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_run_is_told_anew_in_place_of_what_was_told_before(tmp_path: Path) -> None:
    file = tmp_path / "egress.json"
    manifest = await EgressManifest.begin(file)
    for run_id in ("a", "b", "a"):
        await manifest.keep({"run_id": run_id})

    assert runs(file) == ["a", "b"]
    assert os.listdir(tmp_path) == ["egress.json"]


async def test_only_the_newest_runs_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "egress.json"
    manifest = await EgressManifest.begin(file, runs=3)
    for number in range(5):
        await manifest.keep({"run_id": f"{number}"})

    assert runs(file) == ["2", "3", "4"]


@pytest.mark.parametrize("where", ["", "a-file/egress.json", "\0", "pipe", "x" * 300])
async def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path, where: str) -> None:
    (tmp_path / "a-file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())

    with pytest.raises(InvalidInput):
        await EgressManifest.begin(f"{tmp_path}/{where}")

    assert sorted(tmp_path.iterdir()) == before


async def test_a_device_is_not_replaced() -> None:
    with pytest.raises(InvalidInput, match="no ordinary file"):
        await EgressManifest.begin("/dev/null")
    assert Path("/dev/null").is_char_device()


async def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "target.json")

    manifest = await EgressManifest.begin(link)
    await manifest.keep({"run_id": "a"})

    assert link.is_symlink()
    assert runs(tmp_path / "target.json") == ["a"]


async def test_what_fails_later_is_a_store_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    manifest = await EgressManifest.begin(folder / "egress.json")
    (folder / "egress.json").unlink()
    folder.rmdir()
    folder.write_text("")

    with pytest.raises(StoreError):
        await manifest.keep({"run_id": "a"})
