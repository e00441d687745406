from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentloop.errors import InvalidInput, StoreError
from agentloop.records import Json, Session
from agentloop.stores import SQLiteStore, Store
from agentloop.stores.sqlite.connection import BUSY_S, connect, explained, transaction
from agentloop.stores.sqlite.history import last_summaries
from agentloop.stores.sqlite.migrations import LATEST, MIGRATIONS, apply, version
from agentloop.testing.store_contract import StoreContract
from agentloop.testing.stores.rows import new_event, new_run, new_step


class TestSQLiteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with SQLiteStore(tmp_path / "sessions.db") as store:
            yield store


class TestSQLiteStoreInMemory(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with SQLiteStore(":memory:") as store:
            yield store


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def holds(folder: Path, secret: bytes) -> bool:
    return any(secret in file.read_bytes() for file in folder.iterdir())


async def test_what_was_kept_is_there_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with SQLiteStore(path) as store:
        run = await new_run(store)
        step = await store.append_step(new_step(run, "kept"), events=[new_event(run, 1)])
        await store.save_state(run.session_id, b"state")
    async with SQLiteStore(path) as store:
        assert await store.last_steps(run.session_id, 0) == (step,)
        assert await store.get_run(run.run_id) == run
        assert await store.load_state(run.session_id) == b"state"
        assert (await store.append_step(new_step(run))).index == 1


async def test_nothing_is_made_before_first_use(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "new" / "sessions.db"):
        pass
    assert names(tmp_path) == []


async def test_file_and_folders_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "sessions.db"
    before = os.umask(0)
    try:
        async with SQLiteStore(path) as store:
            await new_run(store)
            files = {file.name: mode(file) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert files == {"sessions.db": 0o600, "sessions.db-wal": 0o600, "sessions.db-shm": 0o600}
    assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)


async def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        await new_run(store)
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("name", ["a?mode=memory", "50%20.db", "#1.db", "file:x.db", "a b;c'\"\u00e9.db"])
async def test_a_path_means_what_it_says(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with SQLiteStore(name) as store:
        await new_run(store)
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match=":memory:"):
        SQLiteStore(path)


async def refusal(path: Path) -> str:
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError) as refused:
            await store.get_session("s")
        with pytest.raises(StoreError):
            await store.create_session(Session(session_id="s"))
    return str(refused.value)


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with SQLiteStore(path) as store:
        run = await new_run(store)
    db = sqlite3.connect(path)
    with db:
        db.execute("INSERT INTO schema_migrations VALUES (?, 'later', '')", (LATEST + 1,))
    message = await refusal(path)
    assert f"schema {LATEST + 1}" in message and "Upgrade agentloop" in message and str(path) in message
    with db:
        db.execute("DELETE FROM schema_migrations WHERE number > ?", (LATEST,))
    db.close()
    async with SQLiteStore(path) as store:
        assert await store.get_run(run.run_id) == run


async def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100, encoding="utf-8")
    assert "choose another path" in await refusal(path)
    assert path.read_text("utf-8").startswith("not a database")


async def test_the_database_of_another_application_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    with db:
        db.execute("CREATE TABLE steps (id)")
    assert "another application" in await refusal(path)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("steps",)]
    db.close()


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "choose a path of a file" in await refusal(tmp_path)


async def test_a_file_in_the_way_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert str(tmp_path / "file") in await refusal(tmp_path / "file" / "sessions.db")


def test_each_migration_is_recorded_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    db = connect(str(tmp_path / "sessions.db"))
    assert version(db) == LATEST == len(MIGRATIONS)
    numbers = db.execute("SELECT number, name FROM schema_migrations ORDER BY number").fetchall()
    assert numbers == [(n, step.__name__.lstrip("_")) for n, step in enumerate(MIGRATIONS, 1)]
    with pytest.raises(sqlite3.OperationalError), transaction(db):
        db.execute("CREATE TABLE extra (id)")
        apply(db, 1)
    assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'extra'").fetchall()
    assert version(db) == LATEST
    db.close()


def test_a_database_of_any_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    for number in range(LATEST):
        path = str(tmp_path / f"{number}.db")
        db = sqlite3.connect(path, isolation_level=None)
        for earlier in range(1, number + 1):
            with transaction(db):
                apply(db, earlier)
        db.close()
        db = connect(path)
        assert version(db) == LATEST
        db.close()


def test_summaries_are_found_without_reading_the_session(tmp_path: Path) -> None:
    db = connect(str(tmp_path / "sessions.db"))
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    last_summaries(db, "s", 4)
    db.set_trace_callback(None)
    plan = " ".join(str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {statements[0]}"))
    assert "steps_summaries" in plan and "TEMP B-TREE" not in plan
    db.close()


def test_the_connection_is_set_for_many_writers(tmp_path: Path) -> None:
    db = connect(str(tmp_path / "sessions.db"))
    settings = {
        name: db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in (
            "journal_mode",
            "synchronous",
            "busy_timeout",
            "foreign_keys",
            "journal_size_limit",
            "secure_delete",
        )
    }
    db.close()
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": BUSY_S * 1000,
        "foreign_keys": 1,
        "journal_size_limit": 64 * 2**20,
        "secure_delete": 1,
    }
    assert BUSY_S >= 10


async def test_a_deleted_session_leaves_no_byte_of_its_secrets(tmp_path: Path) -> None:
    cookie = b"session-cookie-of-the-shop"
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        run = await new_run(store)
        for size in (50_000, 10):
            await store.save_state(run.session_id, cookie * size)
        await store.append_step(new_step(run, cookie.decode()))
        assert holds(tmp_path, cookie)
        await store.delete_session(run.session_id)
        assert not holds(tmp_path, cookie)


async def test_a_begun_write_is_done_when_its_caller_was_cancelled(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        run = await new_run(store)
        write = asyncio.create_task(store.append_step(new_step(run, "kept"), events=[new_event(run, 1)]))
        await asyncio.sleep(0)
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        assert [step.content for step in await store.last_steps(run.session_id, 0)] == ["kept"]
        assert await store.last_seq(run.run_id) == 1


async def test_what_is_kept_is_what_was_given_at_the_call(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        run = await new_run(store)
        args: dict[str, Json] = {"list": [1]}
        write = asyncio.create_task(store.append_step(replace(new_step(run), tool_args=args)))
        await asyncio.sleep(0)
        args["list"].append(2)
        assert (await write).tool_args == {"list": [1]}


async def test_closing_waits_for_what_was_begun_and_ends_the_thread(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SQLiteStore(path)
    run = await new_run(store)
    writes = [asyncio.create_task(store.append_step(new_step(run))) for _ in range(20)]
    await asyncio.sleep(0)
    await asyncio.gather(store.aclose(), store.aclose())
    assert [step.index for step in await asyncio.gather(*writes)] == list(range(20))
    assert names(tmp_path) == ["sessions.db"]
    for thread in threading.enumerate():
        if thread.name.startswith("agentloop-store"):
            thread.join(10)
            assert not thread.is_alive()


def test_a_database_locked_for_long_is_a_store_error_that_says_so() -> None:
    error = explained("sessions.db", sqlite3.OperationalError("database is locked"))
    assert f"more than {BUSY_S} s; try again" in str(error)


def test_one_store_serves_several_event_loops(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "sessions.db")
    run = asyncio.run(new_run(store))
    assert asyncio.run(store.get_run(run.run_id)) == run
    asyncio.run(store.aclose())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET status = 'dreaming'",
        "UPDATE runs SET setup = '{'",
        "UPDATE sessions SET enabled = '{'",
        "UPDATE sessions SET status = x'ff'",
    ],
)
async def test_a_row_that_no_record_can_be_made_of_is_a_store_error_that_says_so(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sessions.db"
    async with SQLiteStore(path) as store:
        run = await new_run(store)
    db = sqlite3.connect(path)
    with db:
        db.execute(damage)
    db.close()
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match="a row that cannot be read") as caught:
            await store.last_run(run.session_id)
            await store.get_session(run.session_id)
    assert str(path) in str(caught.value)


async def test_a_number_that_the_database_cannot_hold_is_refused(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        run = await new_run(store)
        with pytest.raises(InvalidInput, match="63 bits"):
            await store.save_run(replace(run, steps=10**30))
