"""The part of the contract about runs, grants and questions."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from agentloop.clock import utc_text
from agentloop.errors import InvalidInput, RunOwned, StaleEpoch, UnknownSession
from agentloop.guard.grants import Grant, Question
from agentloop.records import RunRecord, Session, Status, Usage
from agentloop.stores.base import Store
from agentloop.stores.lease import HEARTBEAT_TIMEOUT_S, Lease
from agentloop.testing.stores.rows import UTC_TEXT, new_event, new_id, new_question, new_run, new_step

__all__ = ["RunsContract"]


class RunsContract:
    """Who may write a run; what a person approved and answered."""

    # Runs and epochs

    async def test_a_run_keeps_every_field_and_is_stamped(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id()))
        run = RunRecord(
            run_id=new_id(),
            session_id=session.session_id,
            message="task",
            url="https://a.example/",
            status=Status.WAITING,
            reason="r",
            final_text="f",
            iterations=1,
            steps=2,
            tokens=Usage(prompt=3, completion=4),
            cost=0.25,
            primitive_calls=5,
            active_ms=6,
            setup={"allow": ["*.example"]},
            data_bytes_carried=7,
            owner="host:1",
            epoch=8,
            heartbeat_at="2026-01-31T08:00:00.000000Z",
        )
        created = await store.create_run(run)
        assert created.created_at and created.updated_at
        assert replace(created, created_at="", updated_at="") == run
        assert await store.get_run(run.run_id) == created

    async def test_a_run_id_is_taken_once(self, store: Store) -> None:
        run = await new_run(store)
        with pytest.raises(InvalidInput):
            await store.create_run(replace(run, message="other"))
        assert await store.get_run(run.run_id) == run

    async def test_unknown_runs(self, store: Store) -> None:
        assert await store.get_run(new_id()) is None
        with pytest.raises(UnknownSession):
            await store.claim_run(new_id(), "me")
        with pytest.raises(UnknownSession):
            await store.save_run(RunRecord(run_id=new_id(), session_id=new_id()))

    async def test_saving_replaces_what_was_spent_and_how_it_stands(self, store: Store) -> None:
        run = await new_run(store)
        await store.save_run(
            replace(run, status=Status.BUDGET, reason="cost", final_text="so far", iterations=3, cost=1.5, message="x")
        )
        known = await store.get_run(run.run_id)
        assert known is not None and known.message == "task" and known.created_at == run.created_at
        assert (known.status, known.reason, known.final_text) == (Status.BUDGET, "cost", "so far")
        assert (known.iterations, known.cost) == (3, 1.5)

    async def test_the_runs_of_a_session_come_oldest_first(self, store: Store) -> None:
        first = await new_run(store)
        others = [await new_run(store, first.session_id) for _ in range(3)]
        assert await store.runs(first.session_id) == (first, *others)

    async def test_a_claim_makes_the_old_owner_stale_everywhere(self, store: Store) -> None:
        run = await new_run(store, epoch=1)
        await store.append_step(new_step(run, "before"), events=[new_event(run, 1)], epoch=1)
        claimed = await store.claim_run(run.run_id, "new owner")
        assert (claimed.owner, claimed.epoch) == ("new owner", 2) and claimed.heartbeat_at
        assert await store.get_run(run.run_id) == claimed
        with pytest.raises(StaleEpoch):
            await store.append_step(new_step(run, "zombie"), epoch=1)
        with pytest.raises(StaleEpoch):
            await store.append_events([new_event(run, 2)], epoch=1)
        with pytest.raises(StaleEpoch):
            await store.save_run(replace(run, status=Status.COMPLETED))
        assert [step.content for step in await store.last_steps(run.session_id, 0)] == ["before"]
        assert await store.last_seq(run.run_id) == 1
        await store.append_step(new_step(run, "after"), events=[new_event(run, 2)], epoch=2)
        await store.save_run(replace(claimed, status=Status.COMPLETED))

    # Leases

    async def test_of_many_claims_at_once_one_is_granted(self, store: Store) -> None:
        run = await new_run(store)
        async with asyncio.TaskGroup() as group:
            claims = [group.create_task(_claimed(store, run, f"owner {n}")) for n in range(8)]
        (granted,) = [task.result() for task in claims if task.result()]
        assert granted is not None and granted.epoch == run.epoch + 1
        assert await store.get_run(run.run_id) == granted

    async def test_each_claim_of_the_owner_itself_is_a_new_epoch(self, store: Store) -> None:
        run = await new_run(store)
        async with asyncio.TaskGroup() as group:
            claims = [group.create_task(store.claim_run(run.run_id, "owner")) for _ in range(8)]
        epochs = sorted(task.result().epoch for task in claims)
        assert epochs == list(range(run.epoch + 1, run.epoch + 9))

    async def test_a_run_made_with_an_owner_is_owned_from_the_start(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id()))
        run = await store.create_run(RunRecord(run_id=new_id(), session_id=session.session_id, owner="owner"))
        assert UTC_TEXT.fullmatch(run.heartbeat_at)
        with pytest.raises(RunOwned, match="owner"):
            await store.claim_run(run.run_id, "other")
        assert await store.get_run(run.run_id) == run

    async def test_a_living_process_keeps_its_run_and_a_dead_one_loses_it_at_once(self, store: Store) -> None:
        run = await new_run(store)
        here = Lease.of_this_process()
        await store.claim_run(run.run_id, here.to_text())
        with pytest.raises(RunOwned, match=str(here.pid)):
            await store.claim_run(run.run_id, "other", now=time.time() + 3600)
        dead = replace(here, started="before this boot")
        other = await new_run(store)
        await store.claim_run(other.run_id, dead.to_text())
        assert (await store.claim_run(other.run_id, "other")).owner == "other"

    async def test_an_owner_elsewhere_is_gone_when_its_heart_stopped(self, store: Store) -> None:
        run = await new_run(store)
        elsewhere = replace(Lease.of_this_process(), host="elsewhere.example")
        beat = 1_800_000_000.0
        claimed = await store.claim_run(run.run_id, elsewhere.to_text(), now=beat)
        assert claimed.heartbeat_at == utc_text(beat)
        with pytest.raises(RunOwned, match=r"elsewhere\.example"):
            await store.claim_run(run.run_id, "other", now=beat + HEARTBEAT_TIMEOUT_S)
        taken = await store.claim_run(run.run_id, "other", now=beat + HEARTBEAT_TIMEOUT_S + 1)
        assert (taken.owner, taken.epoch) == ("other", claimed.epoch + 1)

    async def test_a_heartbeat_is_the_owners_alone(self, store: Store) -> None:
        run = await new_run(store)
        claimed = await store.claim_run(run.run_id, "owner", now=1_700_000_000.0)
        await store.heartbeat(run.run_id, claimed.epoch)
        beating = await store.get_run(run.run_id)
        assert beating is not None and beating.heartbeat_at > claimed.heartbeat_at
        assert replace(beating, heartbeat_at=claimed.heartbeat_at) == claimed
        for epoch in (claimed.epoch - 1, claimed.epoch + 1):
            with pytest.raises(StaleEpoch):
                await store.heartbeat(run.run_id, epoch)
        with pytest.raises(UnknownSession):
            await store.heartbeat(new_id(), 1)

    async def test_saving_neither_turns_the_heartbeat_back_nor_changes_the_owner(self, store: Store) -> None:
        run = await new_run(store)
        claimed = await store.claim_run(run.run_id, "owner", now=1_700_000_000.0)
        await store.heartbeat(run.run_id, claimed.epoch)
        beating = await store.get_run(run.run_id)
        await store.save_run(replace(claimed, owner="", iterations=1))
        known = await store.get_run(run.run_id)
        assert known is not None and beating is not None
        assert (known.owner, known.heartbeat_at, known.iterations) == ("owner", beating.heartbeat_at, 1)

    async def test_the_last_run_is_the_newest(self, store: Store) -> None:
        first = await new_run(store)
        assert await store.last_run(first.session_id) == first
        second = await new_run(store, first.session_id)
        await store.save_run(replace(first, iterations=1))
        assert await store.last_run(first.session_id) == second
        assert [run.run_id for run in await store.runs(first.session_id)] == [first.run_id, second.run_id]
        assert await store.last_run(new_id()) is None

    # Grants and questions

    async def test_grants_come_oldest_first_and_a_renewed_one_is_kept_once(self, store: Store) -> None:
        run = await new_run(store)
        times = [f"2026-01-31T08:00:0{n}.000000Z" for n in range(4)]
        for at, subject in zip(times, ("a", "b", "c", "a"), strict=True):
            await store.add_grant(run.session_id, Grant(kind="host", subject=subject, granted_at=at))
        await store.add_grant(run.session_id, Grant(kind="path", subject="a", granted_at="2026-01-31T08:00:09.000000Z"))
        kept = await store.grants(run.session_id)
        assert [(grant.kind, grant.subject) for grant in kept] == [
            ("host", "b"),
            ("host", "c"),
            ("host", "a"),
            ("path", "a"),
        ]

    async def test_a_grant_without_a_time_gets_one(self, store: Store) -> None:
        run = await new_run(store)
        await store.add_grant(run.session_id, Grant(kind="host", subject="a"))
        assert (await store.grants(run.session_id))[0].granted_at.endswith("Z")

    async def test_revoking_forgets_all_grants_and_counts_them(self, store: Store) -> None:
        run = await new_run(store)
        for subject in "ab":
            await store.add_grant(run.session_id, Grant(kind="host", subject=subject))
        assert await store.revoke_grants(run.session_id) == 2
        assert await store.revoke_grants(run.session_id) == 0
        assert await store.grants(run.session_id) == ()

    async def test_a_question_keeps_every_field(self, store: Store) -> None:
        run = await new_run(store)
        question = Question(
            id=new_id(),
            session_id=run.session_id,
            run_id=run.run_id,
            kind="choice",
            message="Which?",
            options=("a", "b"),
            grant=Grant(kind="host", subject="a.example"),
            asked_at="2026-01-31T08:00:00.000000Z",
            expires_at="2026-01-31T08:10:00.000000Z",
        )
        await store.add_question(question)
        assert await store.get_question(question.id) == question

    @pytest.mark.parametrize(("first", "second"), [(False, True), (True, False), ("", "text"), ("text", "")])
    async def test_the_first_answer_stands(self, store: Store, first: bool | str, second: bool | str) -> None:
        question = new_question(await new_run(store))
        await store.add_question(question)
        assert await store.answer_question(question.id, first) is True
        assert await store.answer_question(question.id, second) is False
        known = await store.get_question(question.id)
        assert known is not None and known.answer == first and type(known.answer) is type(first)

    async def test_of_many_answers_at_once_one_is_taken(self, store: Store) -> None:
        question = new_question(await new_run(store))
        await store.add_question(question)
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(store.answer_question(question.id, f"{n}")) for n in range(8)]
        taken = [str(n) for n, task in enumerate(answers) if task.result()]
        known = await store.get_question(question.id)
        assert known is not None and taken == [known.answer]

    async def test_an_unknown_question_cannot_be_answered(self, store: Store) -> None:
        assert await store.answer_question(new_id(), True) is False
        assert await store.get_question(new_id()) is None

    async def test_open_questions_come_oldest_first_and_answered_ones_do_not(self, store: Store) -> None:
        run, other = await new_run(store), await new_run(store)
        questions = [new_question(run, str(n)) for n in range(3)]
        for question in [*questions, new_question(other)]:
            await store.add_question(question)
        await store.answer_question(questions[1].id, False)
        assert [q.message for q in await store.open_questions(run.run_id)] == ["0", "2"]


async def _claimed(store: Store, run: RunRecord, owner: str) -> RunRecord | None:
    try:
        return await store.claim_run(run.run_id, owner)
    except RunOwned:
        return None
