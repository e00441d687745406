"""Statements on sessions, their carries and their browser states."""

from __future__ import annotations

import sqlite3

from agentloop.clock import utc_now
from agentloop.errors import UnknownSession
from agentloop.records import Session, Status
from agentloop.stores.sqlite.connection import transaction
from agentloop.stores.sqlite.rows import Row, bound, session_of

__all__ = ["create", "get", "load_state", "save_carry", "save_state", "set_status"]

_SELECT = """
    SELECT s.session_id, model, persona, message_id, enabled, status, created_at, updated_at, carry
    FROM sessions s LEFT JOIN carries c ON c.session_id = s.session_id WHERE s.session_id = ?
"""


def create(db: sqlite3.Connection, row: Row, carry: str | None) -> Session:
    """Keeps a new session; returns the known one when its id exists."""
    with transaction(db):
        new = db.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount
        if new:
            _put_carry(db, row[0], carry)
        return session_of(db.execute(_SELECT, (row[0],)).fetchone())


def get(db: sqlite3.Connection, session_id: str) -> Session | None:
    """The session, or None."""
    row = db.execute(_SELECT, (session_id,)).fetchone()
    return None if row is None else session_of(row)


def save_carry(db: sqlite3.Connection, session_id: str, carry: str | None) -> None:
    """Replaces the carry. Raises `UnknownSession`."""
    with transaction(db):
        _touch(db, session_id)
        _put_carry(db, session_id, carry)


def set_status(db: sqlite3.Connection, session_id: str, status: Status) -> None:
    """Replaces the status. Raises `UnknownSession`."""
    with transaction(db):
        _touch(db, session_id)
        db.execute("UPDATE sessions SET status = ? WHERE session_id = ?", (status, session_id))


def save_state(db: sqlite3.Connection, session_id: str, state: bytes) -> None:
    """Replaces the browser's storage state. Raises `UnknownSession`."""
    with transaction(db):
        _touch(db, session_id)
        db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (session_id, state))


def load_state(db: sqlite3.Connection, session_id: str) -> bytes | None:
    """The browser's storage state, or None."""
    row = db.execute("SELECT state FROM states WHERE session_id = ?", (session_id,)).fetchone()
    return None if row is None else bytes(row[0])


def _touch(db: sqlite3.Connection, session_id: str) -> None:
    if not db.execute("UPDATE sessions SET updated_at = ? WHERE session_id = ?", (utc_now(), session_id)).rowcount:
        raise UnknownSession(f"No session has the id {session_id!r}; create it first.")


def _put_carry(db: sqlite3.Connection, session_id: str, carry: str | None) -> None:
    if carry is None:
        db.execute("DELETE FROM carries WHERE session_id = ?", (session_id,))
    else:
        db.execute("INSERT OR REPLACE INTO carries VALUES (?, ?)", bound(session_id, carry))
