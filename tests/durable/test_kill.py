"""Runs survive the death of their process."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from agentloop import Status
from agentloop.errors import RunOwned
from agentloop.records import Step
from agentloop.stores import SQLiteStore
from tests.durable.program import SESSION, TURNS

PROGRAM = Path(__file__).with_name("program.py")


async def start(folder: Path, how: str) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), str(folder / "runs.db"), str(folder / "effects"), how),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert (await process.stdout.readline()).strip() == b"open"
    return process


async def killed_after(folder: Path, seconds: float) -> None:
    process = await start(folder, "begin")
    await asyncio.sleep(seconds)
    if process.returncode is None:
        process.kill()
    await process.wait()


async def resumed(folder: Path) -> str:
    process = await start(folder, "resume")
    async with asyncio.timeout(40):
        out, _ = await process.communicate()
    return out.decode().strip()


async def steps_of(folder: Path) -> tuple[Step, ...]:
    async with SQLiteStore(folder / "runs.db") as store:
        return await store.last_steps(SESSION, 0)


def check_story(steps: tuple[Step, ...], effects: list[str]) -> int:
    """Each script has one result, each effect happened once; how many scripts were interrupted."""
    kinds = [step.type for step in steps if step.type.startswith("execute_js")]
    assert kinds == ["execute_js", "execute_js_result"] * (len(kinds) // 2)
    assert [step.index for step in steps] == list(range(len(steps)))
    assert effects == [str(n) for n in range(1, TURNS + 1)]
    return sum(bool(step.tool_args.get("interrupted")) for step in steps)


async def kill_and_resume(folder: Path, seconds: float) -> int:
    folder.mkdir()
    await killed_after(folder, seconds)
    assert await resumed(folder) == f"completed did {TURNS}"
    steps = await steps_of(folder)
    interrupted = check_story(steps, (folder / "effects").read_text().split())
    assert sum("interrupted" in step.content for step in steps) == interrupted, "the model is told of each"
    async with SQLiteStore(folder / "runs.db") as store:
        (run,) = await store.runs(SESSION)
        events = await store.events(run.run_id)
    assert run.status is Status.COMPLETED and run.iterations >= TURNS
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events].count("done") == 1
    return interrupted


@pytest.mark.parametrize("seconds", [0.0, 0.15, 0.3])
async def test_a_killed_run_is_taken_up_and_ends_completed(seconds: float, tmp_path: Path) -> None:
    await kill_and_resume(tmp_path / "run", seconds)


async def test_a_run_whose_owner_lives_is_not_taken(tmp_path: Path) -> None:
    from tests.durable.program import main

    process = await start(tmp_path, "begin")
    try:
        with pytest.raises(RunOwned):
            await main(str(tmp_path / "runs.db"), str(tmp_path / "effects"), "resume")
        with pytest.raises(RunOwned):
            await main(str(tmp_path / "runs.db"), str(tmp_path / "effects"), "begin")
    finally:
        await asyncio.wait_for(process.wait(), 40)


async def test_a_finished_run_gives_its_stored_answer(tmp_path: Path) -> None:
    process = await start(tmp_path, "begin")
    await asyncio.wait_for(process.wait(), 40)
    before = await steps_of(tmp_path)
    assert await resumed(tmp_path) == f"completed did {TURNS}"
    assert await steps_of(tmp_path) == before, "nothing ran again"


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_fifty_kills_at_random_points(tmp_path: Path) -> None:
    points = random.Random(7)
    interrupted = [await kill_and_resume(tmp_path / str(n), points.uniform(0, 0.6)) for n in range(50)]
    assert 0 < sum(interrupted) <= 50, "some were killed inside a script, and told"
