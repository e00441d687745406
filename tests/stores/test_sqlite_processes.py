"""Many processes on one database: nothing lost, no gap, no lock error."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from agentloop.stores import SQLiteStore
from tests.stores.crowd import SHARED

PROCESSES = 8


async def start(database: Path, count: int, root: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.stores.crowd",
        str(database),
        str(count),
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "PYTHONWARNINGS": "error"},
        stdout=PIPE,
        stderr=PIPE,
    )


async def stop(processes: list[Process]) -> None:
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def crowd(database: Path, count: int, root: Path) -> None:
    processes = [await start(database, count, root) for _ in range(PROCESSES)]
    try:
        ends = [await process.communicate() for process in processes]
    finally:
        await stop(processes)
    assert [errors.decode() for _, errors in ends] == [""] * PROCESSES
    assert [process.returncode for process in processes] == [0] * PROCESSES


async def examine(database: Path, per_run: int | None = None) -> int:
    """Checks every session and run of the database for gaps; returns how many steps the shared session has."""
    async with SQLiteStore(database) as store:
        for summary in await store.list_sessions():
            session_id = summary.session.session_id
            steps = await store.last_steps(session_id, 0)
            assert [step.index for step in steps] == list(range(len(steps)))
            for run in await store.runs(session_id):
                own = [step.content for step in steps if step.run_id == run.run_id]
                assert own == [f"{run.run_id} {n}" for n in range(len(own))]
                assert per_run is None or len(own) == per_run
                events = await store.events(run.run_id)
                assert [event.seq for event in events] == list(range(1, 2 * len(own) + 1))
        return len(await store.last_steps(SHARED, 0))


async def test_eight_processes_append_to_a_fresh_database(tmp_path: Path, repository: Path) -> None:
    database = tmp_path / "new" / "sessions.db"
    await crowd(database, 15, repository)
    assert await examine(database, per_run=15) == PROCESSES * 15
    async with SQLiteStore(database) as store:
        assert len(await store.list_sessions()) == PROCESSES + 1


@pytest.mark.soak
async def test_eight_processes_append_for_long(tmp_path: Path, repository: Path) -> None:
    database = tmp_path / "sessions.db"
    await crowd(database, 1000, repository)
    assert await examine(database, per_run=1000) == PROCESSES * 1000


@pytest.mark.soak
@pytest.mark.parametrize("time", range(20))
async def test_eight_processes_open_a_fresh_database(tmp_path: Path, repository: Path, time: int) -> None:
    await crowd(tmp_path / "sessions.db", 1, repository)
    assert await examine(tmp_path / "sessions.db", per_run=1) == PROCESSES


async def kill_a_writer(database: Path, root: Path, after: int) -> None:
    """Kills a writer once it has said that it committed `after` rounds; all of those must be there."""
    process = await start(database, 0, root)
    try:
        assert process.stdout is not None
        committed = 0
        while committed < after:
            committed = int(await process.stdout.readline() or after)
        process.kill()
        output, _ = await process.communicate()
        committed = max([committed, *map(int, output.split()[:-1])])
    finally:
        await stop([process])
    assert process.returncode == -9
    async with SQLiteStore(database) as store:
        newest = [await store.last_run(summary.session.session_id) for summary in await store.list_sessions()]
        for run in newest:
            assert run is not None
            steps = [step for step in await store.last_steps(run.session_id, 0) if step.run_id == run.run_id]
            assert run.session_id != SHARED or len(steps) >= committed
    await examine(database)
    with sqlite3.connect(database) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


async def test_a_killed_writer_loses_nothing_committed(tmp_path: Path, repository: Path) -> None:
    for after in (1, 9):
        await kill_a_writer(tmp_path / "sessions.db", repository, after)


@pytest.mark.soak
async def test_fifty_killed_writers_lose_nothing_committed(tmp_path: Path, repository: Path) -> None:
    for after in range(1, 51):
        await kill_a_writer(tmp_path / "sessions.db", repository, after)
