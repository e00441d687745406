"""The schema, as numbered steps from an empty file. A step is never edited once it was released: add another.

sqlite-utils is loaded only when there is something to do: it takes longer to import than a file to open.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from agentloop.clock import utc_now

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["LATEST", "MIGRATIONS", "TABLES", "Migration", "apply", "tables_taken", "version"]

Migration: TypeAlias = "Callable[[Database], None]"

TABLES = ("sessions", "carries", "states", "steps", "runs", "events", "grants", "questions")
"""All that name a session in their column `session_id`; those that refer to `sessions` come after it."""

_RECORD = "schema_migrations"


def version(db: sqlite3.Connection) -> int:
    """The number of the last migration applied, 0 for a file without any."""
    known = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (_RECORD,)).fetchone()
    return int(db.execute(f"SELECT coalesce(max(number), 0) FROM {_RECORD}").fetchone()[0]) if known else 0


def tables_taken(db: sqlite3.Connection) -> bool:
    """True when a table exists under a name of ours: in a file without migrations it is another application's."""
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return any(name in TABLES for (name,) in tables)


def apply(db: sqlite3.Connection, number: int) -> None:
    """Applies one migration and records it, inside the caller's transaction."""
    from sqlite_utils import Database

    database = Database(db, recursive_triggers=False, execute_plugins=False)
    step = MIGRATIONS[number - 1]
    step(database)
    record = database.table(_RECORD)
    record.create({"number": int, "name": str, "applied_at": str}, pk="number", if_not_exists=True)
    record.insert({"number": number, "name": step.__name__.lstrip("_"), "applied_at": utc_now()})


def _sessions(db: Database) -> None:
    # Carries and browser states are large and change alone: each in a table of its own.
    db.table("sessions").create(
        {
            "session_id": str,
            "model": str,
            "persona": str,
            "message_id": str,
            "enabled": str,
            "status": str,
            "created_at": str,
            "updated_at": str,
        },
        pk="session_id",
        not_null={"model", "persona", "message_id", "created_at", "updated_at"},
    )
    belongs = [("session_id", "sessions", "session_id")]
    for name, column, kind in (("carries", "carry", str), ("states", "state", bytes)):
        db.table(name).create(
            {"session_id": str, column: kind}, pk="session_id", not_null={column}, foreign_keys=belongs
        )


def _history(db: Database) -> None:
    # No foreign keys: the sessions may be in another store (`JoinedStore`).
    steps: dict[str, type] = {
        "session_id": str,
        "step_index": int,
        "run_id": str,
        "type": str,
        "content": str,
        "tool_args": str,
        "duration_ms": int,
        "prompt_tokens": int,
        "completion_tokens": int,
        "created_at": str,
    }
    db.table("steps").create(steps, not_null=set(steps)).create_index(["session_id", "step_index"], unique=True)
    events: dict[str, type] = {
        "run_id": str,
        "seq": int,
        "session_id": str,
        "type": str,
        "turn": int,
        "time": str,
        "content": str,
        "tool": str,
        "args": str,
        "summary": str,
        "tokens": str,
    }
    table = db.table("events").create(events, not_null=set(events) - {"summary", "tokens"})
    table.create_index(["run_id", "seq"], unique=True)
    table.create_index(["session_id"])


def _runs(db: Database) -> None:
    columns: dict[str, type] = {
        "run_id": str,
        "session_id": str,
        "message": str,
        "url": str,
        "status": str,
        "reason": str,
        "final_text": str,
        "iterations": int,
        "steps": int,
        "prompt_tokens": int,
        "completion_tokens": int,
        "cost": float,
        "primitive_calls": int,
        "active_ms": int,
        "data_bytes_carried": int,
        "owner": str,
        "epoch": int,
        "heartbeat_at": str,
        "created_at": str,
        "updated_at": str,
    }
    table = db.table("runs").create(columns, pk="run_id", not_null=set(columns) - {"run_id", "url"})
    table.create_index(["session_id"])


def _permissions(db: Database) -> None:
    db.table("grants").create(
        {"session_id": str, "kind": str, "subject": str, "granted_at": str},
        pk=("session_id", "kind", "subject"),
        not_null={"granted_at"},
    )
    columns: dict[str, type] = {
        "id": str,
        "session_id": str,
        "run_id": str,
        "kind": str,
        "message": str,
        "options": str,
        "grant_kind": str,
        "grant_subject": str,
        "granted_at": str,
        "asked_at": str,
        "expires_at": str,
        "answer": str,
    }
    optional = {"id", "grant_kind", "grant_subject", "granted_at", "answer"}
    table = db.table("questions").create(columns, pk="id", not_null=set(columns) - optional)
    table.create_index(["run_id"])
    table.create_index(["session_id"])


def _summaries(db: Database) -> None:
    # sqlite-utils makes no partial index, and a full one would grow with every step.
    db.execute("CREATE INDEX steps_summaries ON steps (session_id, step_index) WHERE type = 'summary'")


def _setups(db: Database) -> None:
    db.table("runs").add_column("setup", str, not_null_default="{}")


MIGRATIONS: tuple[Migration, ...] = (_sessions, _history, _runs, _permissions, _summaries, _setups)

LATEST = len(MIGRATIONS)
"""The schema that this code reads and writes."""
