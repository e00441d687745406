from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.errors import Closed, StaleEpoch, StoreError
from agentloop.stores import JoinedStore, MemoryStore, SQLiteStore, Store
from agentloop.testing.store_contract import StoreContract
from agentloop.testing.stores.rows import new_event, new_run, new_step


class TestJoinedStoreOfNothing(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with JoinedStore() as store:
            yield store


class TestJoinedStoreOfEachItsOwn(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with JoinedStore(
            sessions=SQLiteStore(tmp_path / "sessions.db"),
            steps=SQLiteStore(tmp_path / "steps.db"),
            events=MemoryStore(),
            runs=SQLiteStore(tmp_path / "runs.db"),
            grants=MemoryStore(),
            questions=MemoryStore(),
        ) as store:
            yield store


class TestJoinedStoreOverSQLite(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with JoinedStore(steps=MemoryStore(), rest=SQLiteStore(tmp_path / "rest.db")) as store:
            yield store


class Sessions:
    """A part that neither lists nor deletes."""

    def __init__(self) -> None:
        self._kept = MemoryStore()
        for name in (
            "create_session",
            "get_session",
            "save_carry",
            "set_session_status",
            "save_state",
            "load_state",
        ):
            setattr(self, name, getattr(self._kept, name))


async def test_a_part_that_cannot_list_or_delete_says_so_and_nothing_is_deleted() -> None:
    async with JoinedStore(sessions=Sessions()) as store:  # type: ignore[arg-type]
        run = await new_run(store)
        await store.append_step(new_step(run))
        with pytest.raises(StoreError, match="Sessions cannot list"):
            await store.list_sessions()
        with pytest.raises(StoreError, match="Sessions cannot delete"):
            await store.delete_session(run.session_id)
        assert len(await store.last_steps(run.session_id, 0)) == 1


async def test_a_part_that_knows_no_epochs_is_kept_from_zombies() -> None:
    steps = MemoryStore()
    async with JoinedStore(steps=steps) as store:
        run = await new_run(store)
        await store.claim_run(run.run_id, "owner")
        with pytest.raises(StaleEpoch):
            await store.append_step(new_step(run), events=[new_event(run, 1)], epoch=run.epoch)
        assert await steps.last_steps(run.session_id, 0) == ()


async def test_every_part_is_closed_also_when_one_fails(tmp_path: Path) -> None:
    class Failing(MemoryStore):
        async def aclose(self) -> None:
            raise StoreError("the disk is gone")

    first, last = SQLiteStore(tmp_path / "first.db"), SQLiteStore(tmp_path / "last.db")
    store = JoinedStore(sessions=first, steps=Failing(), rest=last)
    await new_run(store)
    with pytest.raises(StoreError, match="disk"):
        await store.aclose()
    for part in (first, last):
        with pytest.raises(Closed):
            await part.get_session("s")
