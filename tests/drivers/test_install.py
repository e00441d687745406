from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from agentloop.drivers.install import InstallWay, browser_version, carry_out, install_ways
from agentloop.drivers.locate import BrowserBinary
from agentloop.errors import BrowserNotFound


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def way(*scripts: str) -> InstallWay:
    return InstallWay(description="a trial", commands=[("/bin/sh", "-c", script) for script in scripts])


def test_the_download_comes_first_and_the_machine_has_its_own_manager(tmp_path: Path) -> None:
    program(tmp_path / "dnf", "exit 0")
    ways = install_ways(environ={"PATH": str(tmp_path)}, root=True)
    assert [way.commands[0][0] for way in ways] == [sys.executable, "dnf"]
    assert all(way.allowed for way in ways)


def test_without_root_the_line_to_run_is_told_and_nothing_more(tmp_path: Path) -> None:
    program(tmp_path / "apt-get", "exit 0")
    download, manager = install_ways(environ={"PATH": str(tmp_path)}, root=False)
    assert download.allowed and not manager.allowed
    assert manager.line.startswith("sudo apt-get update && sudo apt-get install ")
    assert "sudo" not in download.line


def test_a_machine_without_a_manager_has_the_download(tmp_path: Path) -> None:
    assert len(install_ways(environ={"PATH": str(tmp_path)})) == 1


async def test_a_way_that_works_gives_the_browser_it_left(tmp_path: Path) -> None:
    place = tmp_path / "chromium"
    environ = {
        **os.environ,
        "AGENTLOOP_CHROMIUM": str(place),
        "SOURCE": str(program(tmp_path / "s", "echo Chromium 1.2")),
    }
    lines: list[str] = []
    binary = await carry_out(
        way('printf "10 %%\\r20 %%\\nready"', 'cp "$SOURCE" "$AGENTLOOP_CHROMIUM"'),
        on_line=lines.append,
        environ=environ,
    )
    assert binary.path == str(place)
    assert lines == ["10 %", "20 %", "ready"]


@pytest.mark.parametrize(
    ("scripts", "words"),
    [(("exit 4", "echo late"), "ended with 4"), (("true",), "not an executable"), (("kill -9 $$",), "ended with -9")],
)
async def test_a_way_that_fails_says_how_and_stops(tmp_path: Path, scripts: tuple[str, ...], words: str) -> None:
    environ = {**os.environ, "AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    lines: list[str] = []
    with pytest.raises(BrowserNotFound, match=words):
        await carry_out(way(*scripts), on_line=lines.append, environ=environ)
    assert lines == []


async def test_a_browser_that_does_not_start_is_none(tmp_path: Path) -> None:
    broken = program(tmp_path / "chromium", "echo cannot open libnss3.so; exit 127")
    with pytest.raises(BrowserNotFound, match=r"libnss3\.so"):
        await browser_version(BrowserBinary(path=str(broken), kind="chromium"))
    missing = BrowserBinary(path=str(tmp_path / "missing"), kind="chromium")
    with pytest.raises(BrowserNotFound, match="cannot be run"):
        await browser_version(missing)


async def test_what_an_installer_started_dies_with_it(tmp_path: Path) -> None:
    started = asyncio.Event()
    pids: list[int] = []

    def on_line(line: str) -> None:
        pids.append(int(line))
        started.set()

    task = asyncio.create_task(carry_out(way("sleep 600 & echo $!; wait"), on_line=on_line))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(wait_until_gone, pids[0])


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def running(pid: int) -> bool:
    """Whether the process is there and no zombie; the session's init may be slow to reap it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
