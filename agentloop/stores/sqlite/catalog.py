"""Statements over all sessions: off the hot path, so with sqlite-utils."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from agentloop.errors import UnknownSession
from agentloop.records import Usage
from agentloop.stores.base import SessionSummary
from agentloop.stores.lease import refuse_owned
from agentloop.stores.listing import chosen
from agentloop.stores.sqlite import runs
from agentloop.stores.sqlite.connection import transaction
from agentloop.stores.sqlite.migrations import TABLES
from agentloop.stores.sqlite.rows import Row, plain, session_of

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["delete", "find", "most_recent", "summaries"]

_SUMMARIES = """
    WITH listed AS (SELECT rowid AS number, * FROM sessions ORDER BY updated_at DESC, rowid DESC LIMIT ?)
    SELECT s.session_id, model, persona, message_id, enabled, s.status, s.created_at, s.updated_at, NULL AS carry,
        (SELECT count(*) FROM steps t WHERE t.session_id = s.session_id) AS steps,
        (SELECT content FROM steps t WHERE t.session_id = s.session_id AND t.type = 'user'
            ORDER BY step_index LIMIT 1) AS opening,
        count(run_id) AS runs, coalesce(sum(prompt_tokens), 0) AS prompt,
        coalesce(sum(completion_tokens), 0) AS completion, coalesce(sum(cost), 0.0) AS cost
    FROM listed s LEFT JOIN runs r ON r.session_id = s.session_id
    GROUP BY s.session_id ORDER BY s.updated_at DESC, s.number DESC
"""


def summaries(db: sqlite3.Connection, limit: int) -> tuple[SessionSummary, ...]:
    """Sessions with their counts, the most recently updated first."""
    rows = _database(db).query(_SUMMARIES, [limit if limit > 0 else -1])
    return tuple(_summary(plain(tuple(row.values()))) for row in rows)


def most_recent(db: sqlite3.Connection) -> str | None:
    """The id of the session updated last."""
    newest = list(_database(db).table("sessions").rows_where(order_by="updated_at DESC, rowid DESC", limit=1))
    return newest[0]["session_id"] if newest else None


def find(db: sqlite3.Connection, prefix: str) -> str:
    """The one session id that is `prefix` or begins with it."""
    sessions = _database(db).table("sessions")
    begins = sessions.rows_where(
        "substr(session_id, 1, length(:prefix)) = :prefix",
        {"prefix": prefix},
        select="session_id",
        order_by="session_id",
    )
    found = [row["session_id"] for row in begins]
    return chosen(prefix, found)


def delete(db: sqlite3.Connection, session_id: str) -> None:
    """Deletes all that names the session, out of the log beside the file too. Raises `RunOwned`."""
    database = _database(db)
    with transaction(db):
        refuse_owned(runs.of_session(db, session_id))
        known = database.table("sessions").count_where("session_id = ?", [session_id])
        for name in reversed(TABLES):
            database.table(name).delete_where("session_id = ?", [session_id])
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if not known:
        raise UnknownSession(f"No session has the id {session_id!r}.")


def _database(db: sqlite3.Connection) -> Database:
    from sqlite_utils import Database

    return Database(db, recursive_triggers=False, execute_plugins=False)


def _summary(row: Row) -> SessionSummary:
    steps, opening, runs, prompt, completion, cost = row[9:]
    return SessionSummary(
        session=session_of(row[:9]),
        steps=steps,
        runs=runs,
        tokens=Usage(prompt=prompt, completion=completion),
        cost=cost,
        opening=opening or "",
    )
