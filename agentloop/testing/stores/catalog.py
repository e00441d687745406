"""The part of the contract about listing, finding and deleting sessions."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from agentloop.errors import InvalidInput, RunOwned, UnknownSession
from agentloop.guard.grants import Grant
from agentloop.records import RunRecord, Session, Status, Usage
from agentloop.stores.base import Store
from agentloop.stores.lease import Lease
from agentloop.testing.stores.rows import new_event, new_id, new_question, new_run, new_step

__all__ = ["CatalogContract"]


class CatalogContract:
    """All sessions at once."""

    async def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        assert await store.list_sessions() == ()
        assert await store.most_recent_session() is None

    async def test_the_session_updated_last_comes_first(self, store: Store) -> None:
        ids = [(await store.create_session(Session(session_id=new_id()))).session_id for _ in range(4)]
        assert await _listed(store) == ids[::-1]
        await store.save_carry(ids[1], "1")
        await store.set_session_status(ids[2], Status.RUNNING)
        await store.save_state(ids[0], b"state")
        assert await _listed(store) == [ids[0], ids[2], ids[1], ids[3]]
        assert await _listed(store, 2) == [ids[0], ids[2]]
        assert await store.most_recent_session() == ids[0]

    async def test_a_summary_tells_what_a_session_holds(self, store: Store) -> None:
        run = await new_run(store)
        for type, content in (("summary", "s"), ("user", "first"), ("execute_js", "js"), ("user", "second")):
            await store.append_step(new_step(run, content, type))  # type: ignore[arg-type]
        await store.save_run(replace(run, tokens=Usage(prompt=10, completion=2), cost=0.5))
        other = await new_run(store, run.session_id)
        await store.save_run(replace(other, tokens=Usage(prompt=5, completion=1), cost=0.25))
        await store.save_carry(run.session_id, "[1]")
        await store.set_session_status(run.session_id, Status.COMPLETED)
        (summary,) = await store.list_sessions()
        assert (summary.steps, summary.runs, summary.opening) == (4, 2, "first")
        assert (summary.tokens, summary.cost) == (Usage(prompt=15, completion=3), 0.75)
        assert summary.status is Status.COMPLETED
        known = await store.get_session(run.session_id)
        assert known is not None and summary.session == replace(known, carry=None)

    async def test_a_session_without_runs_is_listed_too(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id()))
        (summary,) = await store.list_sessions()
        assert summary.session == session
        assert (summary.steps, summary.runs, summary.opening, summary.tokens) == (0, 0, "", Usage())

    async def test_a_session_is_found_by_how_its_id_begins(self, store: Store) -> None:
        one, two = "1" + new_id()[1:], "2" + new_id()[1:]
        for session_id in (one, two):
            await store.create_session(Session(session_id=session_id))
        assert await store.find_session(one) == one
        assert await store.find_session("2") == two
        for none in ("3", one + "0", one[1:], "_", "%", "*"):
            with pytest.raises(UnknownSession):
                await store.find_session(none)
        with pytest.raises(InvalidInput, match="empty id"):
            await store.find_session("")
        await store.create_session(Session(session_id="1" + new_id()[1:]))
        with pytest.raises(InvalidInput, match=one):
            await store.find_session("1")

    async def test_a_deleted_session_leaves_nothing(self, store: Store) -> None:
        gone, stays = [await _full_run(store) for _ in range(2)]
        await store.delete_session(gone.session_id)
        assert await _listed(store) == [stays.session_id]
        for run, count in ((gone, 0), (stays, 1)):
            assert (await store.get_session(run.session_id) is not None) is bool(count)
            assert (await store.load_state(run.session_id) is not None) is bool(count)
            assert (await store.get_run(run.run_id) is not None) is bool(count)
            assert len(await store.last_steps(run.session_id, 0)) == count
            assert await store.last_seq(run.run_id) == count
            assert len(await store.runs(run.session_id)) == count
            assert len(await store.grants(run.session_id)) == count
            assert len(await store.open_questions(run.run_id)) == count

    async def test_the_id_of_a_deleted_session_begins_anew(self, store: Store) -> None:
        run = await _full_run(store)
        await store.delete_session(run.session_id)
        again = await new_run(store, run.session_id)
        assert await store.load_state(run.session_id) is None
        assert (await store.append_step(new_step(again))).index == 0

    async def test_a_session_that_is_worked_on_is_not_deleted(self, store: Store) -> None:
        run = await new_run(store)
        await store.claim_run(run.run_id, Lease.of_this_process().to_text())
        with pytest.raises(RunOwned, match=str(os.getpid())):
            await store.delete_session(run.session_id)
        current = await store.get_run(run.run_id)
        assert current is not None
        await store.save_run(replace(current, status=Status.COMPLETED))
        await store.delete_session(run.session_id)
        assert await store.get_session(run.session_id) is None

    async def test_a_session_whose_owner_is_gone_can_be_deleted(self, store: Store) -> None:
        run = await new_run(store)
        await store.claim_run(run.run_id, replace(Lease.of_this_process(), started="before").to_text())
        await store.delete_session(run.session_id)
        assert await store.get_session(run.session_id) is None

    async def test_an_unknown_session_cannot_be_deleted(self, store: Store) -> None:
        run = await _full_run(store)
        with pytest.raises(UnknownSession):
            await store.delete_session(new_id())
        await store.delete_session(run.session_id)
        with pytest.raises(UnknownSession):
            await store.delete_session(run.session_id)


async def _listed(store: Store, limit: int = 0) -> list[str]:
    return [summary.session.session_id for summary in await store.list_sessions(limit)]


async def _full_run(store: Store) -> RunRecord:
    run = await new_run(store)
    await store.append_step(new_step(run), events=[new_event(run, 1)])
    await store.save_carry(run.session_id, "1")
    await store.save_state(run.session_id, b"state")
    await store.add_grant(run.session_id, Grant(kind="host", subject="a.example"))
    await store.add_question(new_question(run))
    return run
