"""What the SQLite store costs: against sqlite3 by hand, and after many steps against after few.

Each figure is a median; both sides of a ratio are measured in turns, in one process.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from agentloop.events import RunEvent
from agentloop.records import RunRecord, Session, Step
from agentloop.stores import SQLiteStore

ROUNDS = 400
BATCH = 20
FEW, MANY = 10, 10_000
CONTENT = "x" * 2000


class ByHand:
    """The least that keeps a step and an event: one connection, two tables, one transaction."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("CREATE TABLE steps (session_id, step_index, content, UNIQUE (session_id, step_index))")
        self._db.execute("CREATE TABLE events (run_id, seq, content, UNIQUE (run_id, seq))")
        self._count = 0

    async def append(self) -> None:
        self._count += 1
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO steps VALUES ('s', ?, ?)", (self._count, CONTENT))
        self._db.execute("INSERT INTO events VALUES ('r', ?, ?)", (self._count, CONTENT))
        self._db.execute("COMMIT")

    async def last(self) -> None:
        self._db.execute("SELECT * FROM steps WHERE session_id = 's' ORDER BY step_index DESC LIMIT 20").fetchall()

    def close(self) -> None:
        self._db.close()


class OneRun:
    """A run in the store, written as the journal writes: each step with its event and the epoch."""

    def __init__(self, store: SQLiteStore, name: str) -> None:
        self._store = store
        self._name = name
        self._seq = 0
        self._step = Step(session_id=name, run_id=name, type="execute_js_result", content=CONTENT)
        self._event = RunEvent(
            type="execute_js_result", run_id=name, session_id=name, seq=0, turn=1, time="", content=CONTENT
        )

    async def begin(self) -> None:
        await self._store.create_session(Session(session_id=self._name))
        await self._store.create_run(RunRecord(run_id=self._name, session_id=self._name, epoch=1))

    async def append(self) -> None:
        self._seq += 1
        await self._store.append_step(self._step, events=[replace(self._event, seq=self._seq)], epoch=1)

    async def last(self) -> None:
        await self._store.last_steps(self._name, 20)


async def timed(act: Callable[[], Awaitable[None]], times: int) -> list[float]:
    """Microseconds of each call."""
    spent = []
    for _ in range(times):
        before = time.perf_counter()
        await act()
        spent.append((time.perf_counter() - before) * 1e6)
    return spent


async def compare(one: Callable[[], Awaitable[None]], other: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Medians of both, in turns."""
    ones: list[float] = []
    others: list[float] = []
    for _ in range(ROUNDS // BATCH):
        ones += await timed(one, BATCH)
        others += await timed(other, BATCH)
    return median(ones), median(others)


def say(what: str, one: float, other: float, against: str) -> None:
    print(f"{what:32} {one:7.0f} us   {against} {other:7.0f} us   ratio {one / other:5.2f}")


async def main(folder: Path) -> None:
    hand = ByHand(folder / "hand.db")
    async with SQLiteStore(folder / "store.db") as store:
        run, fresh, grown = (OneRun(store, name) for name in ("run", "fresh", "grown"))
        for each in (run, fresh, grown):
            await each.begin()
        say("append a step with its event", *await compare(run.append, hand.append), "sqlite3 by hand")
        say("the last 20 steps", *await compare(run.last, hand.last), "sqlite3 by hand")
        await timed(fresh.append, FEW)
        await timed(grown.append, MANY)
        say(f"append after {MANY:,} steps", *await compare(grown.append, fresh.append), f"after {FEW} to {ROUNDS}")
        say(f"the last 20 of {MANY:,} steps", *await compare(grown.last, fresh.last), f"of {FEW} to {ROUNDS}")
    hand.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
