"""Statements on steps and events: the hot path."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from agentloop.clock import utc_now
from agentloop.errors import StaleEpoch, StoreError
from agentloop.events import LIVE_ONLY, RunEvent
from agentloop.records import Step
from agentloop.stores.sqlite.connection import transaction
from agentloop.stores.sqlite.rows import Row, event_of, step_of

__all__ = ["append_events", "append_step", "events_after", "last_seq", "last_steps", "last_summaries"]


def append_step(
    db: sqlite3.Connection, step: Row, events: Sequence[Row], *, runs: Collection[str], epoch: int | None
) -> Step:
    """Keeps a step under the session's next index, with its events."""
    session_id = step[0]
    with transaction(db):
        _refuse_stale(db, runs, epoch)
        _insert_events(db, events)
        newest = db.execute(
            "SELECT step_index FROM steps WHERE session_id = ? ORDER BY step_index DESC LIMIT 1", (session_id,)
        ).fetchone()
        row = (session_id, newest[0] + 1 if newest else 0, *step[2:])
        db.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("UPDATE sessions SET updated_at = ? WHERE session_id = ?", (utc_now(), session_id))
    return step_of(row)


def append_events(db: sqlite3.Connection, events: Sequence[Row], *, runs: Collection[str], epoch: int | None) -> None:
    """Keeps events, all or none."""
    with transaction(db):
        _refuse_stale(db, runs, epoch)
        _insert_events(db, events)


def last_steps(db: sqlite3.Connection, session_id: str, n: int) -> tuple[Step, ...]:
    """The newest `n` steps (n <= 0: all), oldest first."""
    rows = db.execute(
        "SELECT * FROM steps WHERE session_id = ? ORDER BY step_index DESC LIMIT ?", (session_id, n if n > 0 else -1)
    ).fetchall()
    return tuple(step_of(row) for row in reversed(rows))


def last_summaries(db: sqlite3.Connection, session_id: str, n: int) -> tuple[Step, ...]:
    """The newest `n` steps of type `summary` (n <= 0: all), oldest first."""
    rows = db.execute(
        "SELECT * FROM steps WHERE session_id = ? AND type = 'summary' ORDER BY step_index DESC LIMIT ?",
        (session_id, n if n > 0 else -1),
    ).fetchall()
    return tuple(step_of(row) for row in reversed(rows))


def events_after(db: sqlite3.Connection, run_id: str, after: int, limit: int) -> tuple[RunEvent, ...]:
    """Events with `seq` > `after`, at most `limit` (<= 0: all)."""
    rows = db.execute(
        "SELECT * FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (run_id, after, limit if limit > 0 else -1),
    ).fetchall()
    return tuple(event_of(row) for row in rows)


def last_seq(db: sqlite3.Connection, run_id: str) -> int:
    """The run's newest `seq`, 0 when there is none."""
    newest = db.execute("SELECT seq FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (run_id,)).fetchone()
    return int(newest[0]) if newest else 0


def _refuse_stale(db: sqlite3.Connection, runs: Collection[str], epoch: int | None) -> None:
    if epoch is None:
        return
    for run_id in runs:
        known = db.execute("SELECT epoch FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if known and epoch < known[0]:
            raise StaleEpoch(f"Run {run_id!r} is at epoch {known[0]} now; a write of epoch {epoch} is refused.")


def _insert_events(db: sqlite3.Connection, events: Sequence[Row]) -> None:
    newest: dict[str, int] = {}
    for row in events:
        run_id, seq, _, kind, *_ = row
        expected = (newest[run_id] if run_id in newest else last_seq(db, run_id)) + 1
        if kind in LIVE_ONLY or seq != expected:
            raise StoreError(f"Run {run_id!r} needs a stored event with seq {expected}, not {kind!r} with {seq}.")
        newest[run_id] = expected
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
