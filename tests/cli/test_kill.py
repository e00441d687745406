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


def remains(pids: set[int], folder: Path) -> list[str]:
    commands = [f"{pid} {Path(f'/proc/{pid}/cmdline').read_text()[:80]}" for pid in pids if alive(pid)]
    return commands + [str(path) for path in folder.iterdir()]


async def nothing_remains(pids: set[int], folder: Path) -> list[str]:
    """What is still there once it had its five seconds."""
    deadline = time.monotonic() + GONE_S
    while (left := remains(pids, folder)) and time.monotonic() < deadline:  # noqa: ASYNC110 - they are not our children
        await asyncio.sleep(0.05)
    return left


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
    async with asyncio.timeout(40):
        async for line in process.stdout:
            if json.loads(line)["type"] == "execute_js":
                break
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


@pytest.mark.soak
async def test_fifty_kills_leave_nothing(shop: str, tmp_path: Path) -> None:
    for n in range(50):
        folder = tmp_path / str(n)
        folder.mkdir()
        process, pids = await start(shop, folder)
        process.kill()
        await process.wait()
        assert await nothing_remains(pids, folder / "tmp") == [], f"kill {n}"
