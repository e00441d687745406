"""Opens the database file, and holds its transactions."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentloop.errors import StoreError
from agentloop.stores.sqlite import migrations

__all__ = ["BUSY_S", "MEMORY", "connect", "explained", "transaction", "unreadable"]

BUSY_S = 15
"""Seconds that a write waits for another process's."""

MEMORY = ":memory:"

_WAL_ATTEMPTS = 20
_WAL_PAUSE_S = 0.02

# With secure_delete a deleted session's cookies do not stay behind in free pages.
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA secure_delete = ON",
)

_ADVICE = (
    ("locked", f"another process held it for more than {BUSY_S} s; try again"),
    ("full", "make room on its disk"),
    ("Read-only", "choose a path of a file in a folder that you may write"),
    ("ermission denied", "choose a path of a file in a folder that you may write"),
    ("readonly", "make the file and its folder writable, or choose another path"),
    ("not a database", "it is another kind of file; choose another path"),
    ("malformed", "the file is damaged; restore a copy or choose another path"),
    ("unable to open", "choose a path of a file in a folder that you may write"),
)


def connect(path: str) -> sqlite3.Connection:
    """Opens `path`, makes file and folder when they are missing, and brings the schema up to date.

    Any number of processes may do so at once. Raises `StoreError` for a newer schema, `sqlite3.Error`
    and `OSError` for the rest.
    """
    if path != MEMORY:
        _make_private(Path(path))
    db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            db.execute(pragma)
        _update(db, path)
        _set_wal(db)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One write: takes the lock first, so that what is read inside cannot be stale; all of it or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def explained(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """The error as one of the store's, with what to do next."""
    text = str(error)
    advice = next((advice for word, advice in _ADVICE if word in text), "look at the file and its disk")
    return StoreError(f"The database {path} cannot be used ({text}): {advice}.")


def unreadable(path: str, error: ValueError) -> StoreError:
    """What it means that a row holds something that no record can be made of."""
    return StoreError(
        f"The database {path} holds a row that cannot be read ({error}): it is damaged, or a newer agentloop wrote it;"
        " delete the session, restore a copy, or upgrade agentloop."
    )


def _make_private(file: Path) -> None:
    missing = [folder for folder in file.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    # SQLite gives its side files the mode of this one.
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass


def _update(db: sqlite3.Connection, path: str) -> None:
    for number in range(_version(db, path) + 1, migrations.LATEST + 1):
        with transaction(db):
            version = _version(db, path)
            if version == 0 and migrations.tables_taken(db):
                raise StoreError(f"The database {path} belongs to another application; choose another path.")
            if version < number:
                migrations.apply(db, number)


def _version(db: sqlite3.Connection, path: str) -> int:
    version = migrations.version(db)
    if version > migrations.LATEST:
        raise StoreError(
            f"The database {path} has schema {version}, made by a newer agentloop; this one knows schemas up to"
            f" {migrations.LATEST}. Upgrade agentloop, or choose another database."
        )
    return version


def _set_wal(db: sqlite3.Connection) -> None:
    """Best effort: the switch needs the file for itself and does not wait, but it lasts for good."""
    for _ in range(_WAL_ATTEMPTS):
        try:
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
                return
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            time.sleep(_WAL_PAUSE_S)
