"""Statements on runs and on who owns them."""

from __future__ import annotations

import sqlite3

from agentloop.errors import InvalidInput, UnknownSession
from agentloop.records import RunRecord
from agentloop.stores.lease import beating, claimed, saved
from agentloop.stores.sqlite.connection import transaction
from agentloop.stores.sqlite.rows import run_of, run_row

__all__ = ["claim", "create", "get", "heartbeat", "last", "of_session", "save"]

_UPDATE = """
    UPDATE runs SET (
        run_id, session_id, message, url, status, reason, final_text, iterations, steps, prompt_tokens,
        completion_tokens, cost, primitive_calls, active_ms, data_bytes_carried, owner, epoch, heartbeat_at,
        created_at, updated_at, setup
    ) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE run_id = ?
"""


def create(db: sqlite3.Connection, run: RunRecord) -> None:
    """Keeps a new run. Raises `InvalidInput` when its id exists."""
    with transaction(db):
        values = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
        if not db.execute(f"INSERT OR IGNORE INTO runs VALUES ({values})", run_row(run)).rowcount:
            raise InvalidInput(f"A run with the id {run.run_id!r} exists; choose another id.")


def get(db: sqlite3.Connection, run_id: str) -> RunRecord | None:
    """The run, or None."""
    row = db.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else run_of(row)


def save(db: sqlite3.Connection, run: RunRecord) -> None:
    """Replaces what may change. Raises `StaleEpoch` and `UnknownSession`."""
    with transaction(db):
        _replace(db, saved(_known(db, run.run_id), run))


def claim(db: sqlite3.Connection, run_id: str, owner: str, *, now: float | None) -> RunRecord:
    """Gives the run to `owner`. Raises `RunOwned` and `UnknownSession`."""
    with transaction(db):
        run = claimed(_known(db, run_id), owner, now=now)
        _replace(db, run)
    return run


def heartbeat(db: sqlite3.Connection, run_id: str, epoch: int) -> None:
    """Renews the heartbeat. Raises `StaleEpoch` and `UnknownSession`."""
    with transaction(db):
        _replace(db, beating(_known(db, run_id), epoch))


def last(db: sqlite3.Connection, session_id: str) -> RunRecord | None:
    """The session's newest run, or None."""
    row = db.execute("SELECT * FROM runs WHERE session_id = ? ORDER BY rowid DESC LIMIT 1", (session_id,)).fetchone()
    return None if row is None else run_of(row)


def of_session(db: sqlite3.Connection, session_id: str) -> tuple[RunRecord, ...]:
    """The session's runs, oldest first."""
    rows = db.execute("SELECT * FROM runs WHERE session_id = ? ORDER BY rowid", (session_id,)).fetchall()
    return tuple(run_of(row) for row in rows)


def _known(db: sqlite3.Connection, run_id: str) -> RunRecord:
    run = get(db, run_id)
    if run is None:
        raise UnknownSession(f"No run has the id {run_id!r}; create it first.")
    return run


def _replace(db: sqlite3.Connection, run: RunRecord) -> None:
    db.execute(_UPDATE, (*run_row(run), run.run_id))
