"""A killed run with a browser is taken up where the page was, still signed in."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from agentloop.stores import SQLiteStore
from agentloop.testing.site import serve_site
from tests.durable.browser_program import SESSION

PROGRAM = Path(__file__).with_name("browser_program.py")


async def start(folder: Path, shop: str, how: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), str(folder / "runs.db"), shop, how), stdout=asyncio.subprocess.PIPE
    )


async def heard(process: asyncio.subprocess.Process, word: bytes) -> bool:
    assert process.stdout is not None
    async with asyncio.timeout(40):
        async for line in process.stdout:
            if word in line:
                return True
    return False


async def test_a_killed_browser_run_is_still_signed_in(tmp_path: Path) -> None:
    await kill_and_resume(tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_ten_killed_browser_runs_are_still_signed_in(tmp_path: Path) -> None:
    for n in range(10):
        folder = tmp_path / str(n)
        folder.mkdir()
        await kill_and_resume(folder)


async def kill_and_resume(tmp_path: Path) -> None:
    async with serve_site() as site:
        shop = f"{site.url}/shop/"
        process = await start(tmp_path, shop, "begin")
        try:
            assert await heard(process, b"sleep"), "it signed in and waits"
        finally:
            process.kill()
            await process.communicate()
        process = await start(tmp_path, shop, "resume")
        async with asyncio.timeout(40):
            out, _ = await process.communicate()
        last = out.decode().strip().splitlines()[-1]
    assert last.startswith("end completed http://127.0.0.1:") and last.endswith("in"), last
    assert "/shop/login" not in last, "it is where the page was, not where the run began"
    async with SQLiteStore(tmp_path / "runs.db") as store:
        steps = await store.last_steps(SESSION, 0)
    assert sum("sleep(25000)" in step.content for step in steps) == 1, "the killed script did not run again"
    assert sum(bool(step.tool_args.get("interrupted")) for step in steps) == 1
