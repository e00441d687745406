"""Both stores by the same tests, and what only a file has."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentloop.clock import utc_now
from agentloop.errors import InvalidInput, StoreError, UnknownSession
from agentloop.eval import CaseResult, EvalStore, MemoryEvalStore, Score, SQLiteEvalStore, SuiteRun
from agentloop.records import Status, Usage
from tests.source import ROOT


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvalStore]:
    made: EvalStore = MemoryEvalStore() if request.param == "memory" else SQLiteEvalStore(tmp_path / "evals.db")
    yield made
    await made.aclose()
    await made.aclose()


def run(id: str = "r1", suite: str = "s") -> SuiteRun:
    return SuiteRun(id=id, suite=suite, started_at=utc_now())


def result(case: str = "a") -> CaseResult:
    return CaseResult(
        case=case,
        passed=True,
        status=Status.COMPLETED,
        answer="42 \ud800",
        checks=({"check": "answer=42", "passed": True, "seen": "42"},),
        scores=(Score(criterion="c", min=7, score=9, rationale="right"), Score(criterion="d", min=7, error="none")),
        run_id="x",
        steps=3,
        tokens=Usage(prompt=5, completion=2),
        cost=0.25,
        duration_ms=12,
    )


async def test_a_run_from_its_start_to_its_end(store: EvalStore) -> None:
    begun = run()
    await store.start(begun)
    assert await store.get("r1") == begun
    await store.add("r1", result("b"))
    await store.add("r1", result("a"))
    assert await store.get("r1") == replace(begun, results=(result("b"), result("a")))
    done = replace(begun, state="completed", finished_at=utc_now(), results=(result("a"), result("b")))
    await store.finish(done)
    assert await store.get("r1") == done


async def test_the_newest_runs_first(store: EvalStore) -> None:
    for id, suite in (("r1", "s"), ("r2", "t"), ("r3", "s")):
        await store.start(run(id, suite))
    assert [each.id for each in await store.runs()] == ["r3", "r2", "r1"]
    assert [each.id for each in await store.runs("s")] == ["r3", "r1"]
    assert [each.id for each in await store.runs(limit=1)] == ["r3"]
    assert list(await store.runs("none")) == []


async def test_what_is_not_there(store: EvalStore) -> None:
    assert await store.get("none") is None
    with pytest.raises(UnknownSession):
        await store.add("none", result())
    with pytest.raises(UnknownSession):
        await store.finish(run("none"))
    await store.start(run())
    with pytest.raises(InvalidInput):
        await store.start(run())


async def test_results_at_once(store: EvalStore) -> None:
    await store.start(run())
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(store.add("r1", result(str(number))))
    kept = await store.get("r1")
    assert kept is not None
    assert {each.case for each in kept.results} == {str(number) for number in range(20)}


# A file ---------------------------------------------------------------------------------------------


async def test_a_file_lasts_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "evals.db"
    await SQLiteEvalStore(path).start(run())
    again = await SQLiteEvalStore(path).get("r1")
    assert again is not None and again.suite == "s"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_run_whose_process_was_killed_does_not_stay_running(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    code = (
        "import asyncio, os, sys; from agentloop.eval import *;"
        "store = SQLiteEvalStore(sys.argv[1]);"
        "asyncio.run(store.start(SuiteRun(id='dead', suite='s', started_at='2026-01-01T00:00:00Z')));"
        "os.kill(os.getpid(), 9)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path), cwd=ROOT)
    assert await process.wait() == -9
    store = SQLiteEvalStore(path)
    await store.start(run("alive"))
    assert {each.id: each.state for each in await store.runs()} == {"dead": "failed", "alive": "running"}
    buried = await store.get("dead")
    assert buried is not None and buried.finished_at


async def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (text)")
    db.close()
    with pytest.raises(StoreError, match="another application"):
        await SQLiteEvalStore(path).start(run())
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer agentloop"):
        await SQLiteEvalStore(path).runs()
    path.write_text("no database " * 100)
    with pytest.raises(StoreError, match="cannot be read or written"):
        await SQLiteEvalStore(path).runs()
    with pytest.raises(StoreError, match="cannot be read or written"):
        await SQLiteEvalStore(Path(os.devnull) / "x.db").runs()
