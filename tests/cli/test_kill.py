"""A killed command leaves nothing behind: no browser, no sandbox, no temporary files."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentloop.testing.site import serve_site
from tests.cli.conftest import finished

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads the process tree from /proc")

GONE_S = 5.0


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    async with serve_site() as site:
        yield f"{site.url}/shop/"


def descendants(pid: int) -> Iterator[int]:
    try:
        children = "".join(p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/children")).split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()[:80]
    except OSError:  # it ended just now
        return "?"


def remains(pids: set[int], folder: Path) -> list[str]:
    commands = [f"{pid} {command(pid)}" for pid in pids if alive(pid)]
    return commands + [str(path) for path in folder.iterdir()]


async def nothing_remains(pids: set[int], folder: Path) -> list[str]:
    """What is still there once it had its five seconds."""
    deadline = time.monotonic() + GONE_S
    while (left := remains(pids, folder)) and time.monotonic() < deadline:  # noqa: ASYNC110 - they are not our children
        await asyncio.sleep(0.05)
    return left


async def told(output: asyncio.StreamReader, kind: str, *, times: int = 1) -> None:
    """Reads on until this many events of the kind have come."""
    async with asyncio.timeout(40):
        async for line in output:
            times -= json.loads(line)["type"] == kind
            if not times:
                return
    raise AssertionError(f"it ended before it told of {kind}")


async def start(shop: str, folder: Path) -> tuple[asyncio.subprocess.Process, set[int]]:
    """The command inside a script that waits, and everything it has started."""
    temporary = folder / "tmp"
    temporary.mkdir()
    replies = folder / "replies.jsonl"
    replies.write_text(json.dumps("```js\nsleep(25000)\n```") + "\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentloop", "browse", "--json", "--llm", f"scripted:{replies}", "--url", shop, "wait"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(temporary)},
        start_new_session=True,
    )
    assert process.stdout is not None
    await told(process.stdout, "execute_js")
    pids = set(descendants(process.pid))
    assert len(pids) >= 4, "driver, browser, zygote and sandbox are running"
    return process, pids


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_killed_command_leaves_nothing(number: signal.Signals, shop: str, tmp_path: Path) -> None:
    process, pids = await start(shop, tmp_path)
    process.send_signal(number)
    code = await asyncio.wait_for(process.wait(), 20)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert await nothing_remains(pids, tmp_path / "tmp") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_to_the_whole_group_keeps_the_browsers_state(
    number: signal.Signals, repository: Path, shop: str, tmp_path: Path
) -> None:
    """As `timeout` and a terminal send it: Playwright's process and the browser get it too."""
    temporary, replies = tmp_path / "tmp", tmp_path / "replies.jsonl"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary), "AGENTLOOP_DB": str(tmp_path / "sessions.db")}
    words = [sys.executable, "-m", "agentloop", "browse", "--json", "--session", "cut", "--llm", f"scripted:{replies}"]
    scripts = ["browser.eval('localStorage.kept = 1')", "sleep(25000)"]
    replies.write_text("".join(json.dumps(f"```js\n{script}\n```") + "\n" for script in scripts))
    process = await asyncio.create_subprocess_exec(
        *(*words, "--url", shop, "wait"),
        cwd=repository,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | env,
        start_new_session=True,
    )
    assert process.stdout is not None
    await told(process.stdout, "execute_js", times=2)
    pids = set(descendants(process.pid))
    os.killpg(process.pid, number)
    out, err = await asyncio.wait_for(process.communicate(), 20)
    events = [json.loads(line) for line in out.splitlines()]
    assert (process.returncode, err.decode()) == (130, "")
    assert (events[-1]["status"], events[-1]["reason"]) == ("cancelled", "signal")
    assert "warning" not in [event["type"] for event in events]
    assert await nothing_remains(pids, temporary) == []
    replies.write_text(json.dumps("```js\nanswer(browser.eval('localStorage.kept'))\n```") + "\n")
    again = await finished(repository, *words[3:], "--url", shop, "what was kept?", env=env)
    assert json.loads(again[1].splitlines()[-1])["final_text"] == "1", again


@pytest.mark.soak
async def test_fifty_kills_leave_nothing(shop: str, tmp_path: Path) -> None:
    for n in range(50):
        folder = tmp_path / str(n)
        folder.mkdir()
        process, pids = await start(shop, folder)
        process.kill()
        await process.wait()
        assert await nothing_remains(pids, folder / "tmp") == [], f"kill {n}"
