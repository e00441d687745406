"""Statements on grants and questions."""

from __future__ import annotations

import json
import sqlite3

from agentloop.errors import InvalidInput
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.stores.sqlite.connection import transaction
from agentloop.stores.sqlite.rows import Row, bound, plain, question_of

__all__ = ["add_grant", "add_question", "answer", "get_question", "grants", "open_questions", "revoke"]


def add_grant(db: sqlite3.Connection, session_id: str, grant: Grant) -> None:
    """Keeps an approval; the same one again renews its time."""
    row = bound(session_id, grant.kind, grant.subject, grant.granted_at)
    db.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?)", row)


def grants(db: sqlite3.Connection, session_id: str) -> tuple[Grant, ...]:
    """The session's approvals, oldest first."""
    rows = db.execute(
        "SELECT kind, subject, granted_at FROM grants WHERE session_id = ? ORDER BY granted_at, kind, subject",
        (session_id,),
    ).fetchall()
    return tuple(Grant(kind=kind, subject=subject, granted_at=at) for kind, subject, at in map(plain, rows))


def revoke(db: sqlite3.Connection, session_id: str) -> int:
    """Forgets the session's approvals and counts them."""
    return db.execute("DELETE FROM grants WHERE session_id = ?", (session_id,)).rowcount


def add_question(db: sqlite3.Connection, row: Row) -> None:
    """Keeps an open question. Raises `InvalidInput` when its id exists."""
    with transaction(db):
        if not db.execute("INSERT OR IGNORE INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount:
            raise InvalidInput(f"A question with the id {row[0]!r} exists; choose another id.")


def answer(db: sqlite3.Connection, question_id: str, answer: Answer) -> bool:
    """Keeps the first answer; False for a later one."""
    taken = db.execute(
        "UPDATE questions SET answer = ? WHERE id = ? AND answer IS NULL", (json.dumps(answer), question_id)
    )
    return taken.rowcount > 0


def get_question(db: sqlite3.Connection, question_id: str) -> Question | None:
    """The question, or None."""
    row = db.execute("SELECT * FROM questions WHERE id = ?", (question_id,)).fetchone()
    return None if row is None else question_of(row)


def open_questions(db: sqlite3.Connection, run_id: str) -> tuple[Question, ...]:
    """The run's unanswered questions, oldest first."""
    rows = db.execute(
        "SELECT * FROM questions WHERE run_id = ? AND answer IS NULL ORDER BY rowid", (run_id,)
    ).fetchall()
    return tuple(question_of(row) for row in rows)
