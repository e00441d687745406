"""Runs of suites in a SQLite file of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentloop.clock import utc_now
from agentloop.errors import InvalidInput, StoreError, UnknownSession
from agentloop.eval.base import CaseResult, SuiteRun
from agentloop.stores.lease import Lease

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["SQLiteEvalStore"]

T = TypeVar("T")

_BUSY_S = 15.0
_SCHEMA = 1

_FOREIGN_S = 24 * 3600.0
"""A run of another host or container, which cannot be looked up from here, counts as gone after so long."""


class SQLiteEvalStore:
    """Implements `EvalStore` in the file `path`, made at first use (0600, its folder 0700).

    Any number of processes may share it. A run belongs to the process that started it: once that is gone, the run
    reads as `failed`. Every method may raise `StoreError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self._order = asyncio.Lock()

    async def start(self, run: SuiteRun) -> None:
        """See `EvalStore.start`."""
        row = _row(run) | {"owner": Lease.of_this_process().to_text()}
        await self._do(lambda db: _start(db, row))

    async def add(self, run_id: str, result: CaseResult) -> None:
        """See `EvalStore.add`."""
        await self._do(lambda db: _add(db, run_id, result))

    async def finish(self, run: SuiteRun) -> None:
        """See `EvalStore.finish`."""
        await self._do(lambda db: _finish(db, run))

    async def get(self, run_id: str) -> SuiteRun | None:
        """See `EvalStore.get`."""
        found = await self._do(lambda db: _select(db, "id = ?", [run_id], 1))
        return found[0] if found else None

    async def runs(self, suite: str = "", *, limit: int = 20) -> Sequence[SuiteRun]:
        """See `EvalStore.runs`."""
        return await self._do(lambda db: _select(db, "? in ('', suite)", [suite], limit))

    async def aclose(self) -> None:
        """Waits for what has begun; the file is open only while it is used."""
        async with self._order:
            pass

    async def _do(self, work: Callable[[Database], T]) -> T:
        async with self._order:
            # A write that has begun is finished even when its caller is cancelled.
            return await asyncio.shield(asyncio.to_thread(self._work, work))

    def _work(self, work: Callable[[Database], T]) -> T:
        try:
            with _opened(self.path) as db:
                return work(db)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the results in {self.path} cannot be read or written: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    from sqlite_utils import Database

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = Database(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None))
    try:
        db.execute("BEGIN IMMEDIATE")
        _create(db, path)
        yield db
        db.execute("COMMIT")
    finally:
        # Closing takes back what was not committed.
        db.close()


def _create(db: Database, path: Path) -> None:
    [[version]] = db.execute("PRAGMA user_version").fetchall()
    if version > _SCHEMA:
        raise StoreError(f"{path} was made by a newer agentloop (schema {version}): upgrade, or choose another file")
    if version == _SCHEMA:
        return
    if db.table_names():
        raise StoreError(f"{path} belongs to another application: choose another file")
    db.table("eval_runs").create(
        {"id": str, "suite": str, "state": str, "owner": str, "started_at": str, "finished_at": str}, pk="id"
    )
    db.table("eval_results").create(
        {"run_id": str, "position": int, "result": str},
        pk=("run_id", "position"),
        foreign_keys=[("run_id", "eval_runs")],
    )
    db.execute(f"PRAGMA user_version = {_SCHEMA}")


def _start(db: Database, row: Mapping[str, Any]) -> None:
    if db.execute("SELECT 1 FROM eval_runs WHERE id = ?", [row["id"]]).fetchone():
        raise InvalidInput(f"there is a run {row['id']!r} already; give it another id")
    db.execute(
        "INSERT INTO eval_runs (id, suite, state, owner, started_at, finished_at)"
        " VALUES (:id, :suite, :state, :owner, :started_at, :finished_at)",
        dict(row),
    )


def _add(db: Database, run_id: str, result: CaseResult) -> None:
    _know(db, run_id)
    db.execute(
        "INSERT INTO eval_results SELECT ?, (SELECT count(*) FROM eval_results WHERE run_id = ?), ?",
        [run_id, run_id, json.dumps(result.to_dict())],
    )


def _finish(db: Database, run: SuiteRun) -> None:
    _know(db, run.id)
    db.execute("UPDATE eval_runs SET state = :state, finished_at = :finished_at WHERE id = :id", _row(run))
    db.execute("DELETE FROM eval_results WHERE run_id = ?", [run.id])
    for result in run.results:
        _add(db, run.id, result)


def _know(db: Database, run_id: str) -> None:
    if not db.execute("SELECT 1 FROM eval_runs WHERE id = ?", [run_id]).fetchone():
        raise UnknownSession(f"there is no run {run_id!r} of a suite")


def _select(db: Database, where: str, values: Sequence[Any], limit: int) -> tuple[SuiteRun, ...]:
    rows = list(
        db.query(
            f"SELECT * FROM eval_runs WHERE {where} ORDER BY started_at DESC, rowid DESC LIMIT ?", [*values, limit]
        )
    )
    return tuple(_bury(db, row) for row in rows)


def _bury(db: Database, row: Mapping[str, Any]) -> SuiteRun:
    """The run of a row; one whose process is gone is closed first."""
    results = db.query("SELECT result FROM eval_results WHERE run_id = ? ORDER BY position", [row["id"]])
    run = SuiteRun(
        **{name: row[name] for name in ("id", "suite", "state", "started_at", "finished_at")},
        results=tuple(CaseResult.from_dict(json.loads(each["result"])) for each in results),
    )
    lease = Lease.from_text(row["owner"])
    if run.state == "running" and (
        lease is None or lease.gone(heartbeat_at=run.started_at, now=time.time() - _FOREIGN_S)
    ):
        run = replace(run, state="failed", finished_at=utc_now())
        db.execute("UPDATE eval_runs SET state = :state, finished_at = :finished_at WHERE id = :id", _row(run))
    return run


def _row(run: SuiteRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "suite": run.suite,
        "state": run.state,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }
