"""Nothing of a command outlives it: not in the background, not in another session, not by ignoring signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentloop.errors import WorldError
from agentloop.guard.policy import AllowAll
from agentloop.packs.exec import exec_capability
from agentloop.packs.exec.output import Kept
from agentloop.packs.exec.running import Command, Finished, run_command
from tests.packs.scripts import Scripts, scripts_with

STUBBORN = "trap '' TERM HUP INT; echo $$ > {path}; while :; do sleep 1; done"
"""Ignores what can be ignored, keeps stdout open, and tells its process."""

HOST = """
import asyncio, os, sys
from agentloop.packs.exec.running import Command, run_command
asyncio.run(run_command(Command(program="/bin/sh", argv=["sh", "-c", sys.argv[1]], env=dict(os.environ))))
"""

ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux finds processes that left their group")


@pytest.fixture
async def scripts(tmp_path: Path) -> AsyncIterator[Scripts]:
    async with scripts_with(exec_capability(tmp_path), policy=AllowAll()) as opened:
        yield opened


def command(folder: Path, line: str, timeout_s: float = 60) -> Command:
    return Command(
        program="/bin/sh", argv=["sh", "-c", f"cd {folder} && {line}"], env=dict(os.environ), timeout_s=timeout_s
    )


def stubborn(folder: Path, name: str = "pid") -> Path:
    """A script of its own, so that no quoting stands in the way."""
    path = folder / f"stubborn-{name}.sh"
    path.write_text(STUBBORN.format(path=folder / name))
    return path


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.01)


def pid_in(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def children() -> set[int]:
    """Of this process, dead and unburied ones among them."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= set(map(int, (task / "children").read_text().split()))
    return found


@ONLY_LINUX
async def test_a_grandchild_that_ignores_sigterm_and_holds_stdout(scripts: Scripts, tmp_path: Path) -> None:
    stubborn(tmp_path)
    result = await scripts.value("""exec(["sh", "-c",
        "setsid sh stubborn-pid.sh & while [ ! -s pid ]; do sleep 0.01; done; echo started; sleep 300"],
        {timeoutMs: 3000})""")
    assert result == {"stdout": "started\n", "stderr": "", "code": -1, "timedOut": True}
    assert not lives(pid_in(tmp_path / "pid"))


@ONLY_LINUX
@pytest.mark.parametrize("start", ["", "setsid ", "nohup "])
async def test_what_is_left_in_the_background_ends_with_the_command(
    scripts: Scripts, tmp_path: Path, start: str
) -> None:
    """The result comes when the command itself ends, although its child holds both streams."""
    stubborn(tmp_path)
    result = await scripts.value(f"""exec(["sh", "-c",
        "({start}sh stubborn-pid.sh &) ; while [ ! -s pid ]; do sleep 0.01; done; echo done; exit 3"])""")
    assert (result["stdout"], result["code"], result["timedOut"]) == ("done\n", 3, False)
    assert not lives(pid_in(tmp_path / "pid"))


@ONLY_LINUX
async def test_a_cancelled_call_ends_everything(tmp_path: Path) -> None:
    line = f"setsid sh {stubborn(tmp_path)} & exec sh {stubborn(tmp_path, 'own')}"
    task = asyncio.create_task(run_command(command(tmp_path, line)))
    await until(lambda: pid_in(tmp_path / "pid") and pid_in(tmp_path / "own"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(pid_in(tmp_path / "pid"))
    assert not lives(pid_in(tmp_path / "own"))


@ONLY_LINUX
async def test_the_end_of_this_process_ends_everything(tmp_path: Path) -> None:
    line = f"setsid sh {stubborn(tmp_path)} & exec sh {stubborn(tmp_path, 'own')}"
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", HOST, line)
    await until(lambda: pid_in(tmp_path / "pid") and pid_in(tmp_path / "own"))
    host.kill()
    await host.wait()
    await until(lambda: not lives(pid_in(tmp_path / "pid")) and not lives(pid_in(tmp_path / "own")))


@ONLY_LINUX
async def test_a_process_that_always_starts_itself_anew_ends(tmp_path: Path) -> None:
    """It is never the same one for longer than a moment, in a session of its own each time."""
    log = tmp_path / "pids"
    (tmp_path / "hop.sh").write_text(f"echo $$ >> {log}; setsid sh {tmp_path}/hop.sh & exit 0")
    log.touch()
    finished = await run_command(
        command(tmp_path, f"sh hop.sh & while [ $(wc -l < {log}) -lt 20 ]; do sleep 0.01; done; exit 5")
    )
    assert (finished.code, finished.left) == (5, 0)
    pids = log.read_text().split()
    assert len(pids) >= 20
    assert not lives(int(pids[-1]))
    await asyncio.sleep(0.1)
    assert log.read_text().split() == pids


@ONLY_LINUX
async def test_nothing_is_left_unburied(tmp_path: Path) -> None:
    before = children()
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await run_command(command(tmp_path, "sleep 0 & sleep 0; echo x"))
    with pytest.raises(FileNotFoundError):
        await run_command(Command(program="/nowhere", argv=["nowhere"], env={}, input=b"x" * 1_000_000))
    await until(lambda: children() <= before)
    await until(lambda: len(os.listdir("/proc/self/fd")) <= fds)


async def test_a_command_that_kills_its_watcher_ends_with_it(tmp_path: Path) -> None:
    line = f"echo $$ > own; sh {stubborn(tmp_path)} & while [ ! -s pid ]; do sleep 0.01; done; kill -9 $PPID; sleep 300"
    with pytest.raises(WorldError, match="was killed"):
        await run_command(command(tmp_path, line))
    await until(lambda: not lives(pid_in(tmp_path / "pid")) and not lives(pid_in(tmp_path / "own")))


async def test_a_signal_is_named(tmp_path: Path) -> None:
    finished = await run_command(command(tmp_path, "kill -SEGV $$"))
    assert (finished.code, finished.signal, finished.timed_out) == (-1, "SIGSEGV", False)


async def test_a_flood_is_neither_kept_nor_waited_for(tmp_path: Path) -> None:
    finished: Finished = await run_command(command(tmp_path, "yes", timeout_s=1))
    assert finished.timed_out
    assert len(finished.stdout.text()) < 70_000
    assert finished.stdout.truncated


async def test_time_is_short_when_the_limit_is(tmp_path: Path) -> None:
    began = time.monotonic()
    finished = await run_command(command(tmp_path, "trap '' TERM; sleep 300", timeout_s=0.5))
    assert finished.timed_out
    assert time.monotonic() - began < 15


async def test_signals_are_as_in_any_shell(tmp_path: Path) -> None:
    """The supervisor ignores some, the command must not."""
    finished = await run_command(command(tmp_path, f"kill -{int(signal.SIGTERM)} $$; echo still here"))
    assert (finished.signal, finished.stdout.text()) == ("SIGTERM", "")
    piped = await run_command(command(tmp_path, "yes | head -n 1"))
    assert (piped.code, piped.stdout.text(), piped.stderr.text()) == (0, "y\n", "")


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_what_is_kept_of_a_stream(chunk: int) -> None:
    data = "".join(f"{number}ä\n" for number in range(500)).encode()
    kept = Kept(100)
    for start in range(0, len(data), chunk):
        kept.add(data[start : start + chunk])
    text = kept.text()
    head, _, tail = text.partition("\n[truncated: ")
    assert data.decode().startswith(head)
    missing, _, end = tail.partition(" bytes left out]\n")
    assert data.decode().endswith(end)
    assert abs(len(head.encode()) + len(end.encode()) + int(missing) - len(data)) <= 2
    assert "\N{REPLACEMENT CHARACTER}" not in text


def test_what_fits_is_kept_whole() -> None:
    kept = Kept(100)
    kept.add(b"x" * 50)
    kept.add(b"y" * 50)
    assert (kept.text(), kept.truncated) == ("x" * 50 + "y" * 50, False)
    kept.add(b"z")
    assert kept.truncated
