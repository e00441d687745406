"""Fifty kills of the command itself, each run then taken up by `agentloop sessions resume`."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

import pytest

from agentloop.stores import SQLiteStore
from agentloop.testing.llm_server import llm_server
from tests.durable.program import TURNS

SESSION = "commanded"
SCRIPT = """```javascript
function run(args) {
  const n = (args.n || 0) + 1;
  if (n > %d) answer(`did ${n - 1}`);
  const told = listDir().some((entry) => entry.path === "told.txt") ? readFile("told.txt") : "";
  if (!told.split("\\n").includes(String(n))) writeFile("told.txt", told + n + "\\n");
  return { n };
}
```"""


async def command(folder: Path, base_url: str, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentloop", *words, "--llm-base-url", base_url, "--db", str(folder / "runs.db")),
        *("--with", "workspace", "--approve", "auto", "--cwd", str(folder / "work"), "--max-steps", "60", "--quiet"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"OPENAI_API_KEY": "none"},
    )


async def kill_and_resume(folder: Path, base_url: str, seconds: float) -> int:
    (folder / "work").mkdir(parents=True)
    process = await command(folder, base_url, "run", "Do all twenty", "--session", SESSION)
    await asyncio.sleep(seconds)
    if process.returncode is None:
        process.kill()
    await process.communicate()
    async with SQLiteStore(folder / "runs.db") as store:
        begun = await store.last_run(SESSION) is not None
    words = ("sessions", "resume", SESSION) if begun else ("run", "Do all twenty", "--session", SESSION)
    process = await command(folder, base_url, *words)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out.decode().strip()) == (0, f"did {TURNS}"), err.decode()
    async with SQLiteStore(folder / "runs.db") as store:
        steps = await store.last_steps(SESSION, 0)
    kinds = [step.type for step in steps if step.type.startswith("execute_js")]
    assert kinds == ["execute_js", "execute_js_result"] * (len(kinds) // 2)
    assert (folder / "work" / "told.txt").read_text().split() == [str(n) for n in range(1, TURNS + 1)]
    interrupted = sum(bool(step.tool_args.get("interrupted")) for step in steps)
    assert len(kinds) // 2 == TURNS + 1 + interrupted, "a finished script never ran again"
    return interrupted


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_fifty_kills_of_the_command(tmp_path: Path) -> None:
    points = random.Random(11)
    async with llm_server([SCRIPT % TURNS] * 5_000) as server:
        for n in range(50):
            await kill_and_resume(tmp_path / str(n), server.base_url, points.uniform(0.8, 3.0))
