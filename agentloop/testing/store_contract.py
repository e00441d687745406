"""What every store must do, as tests. Subclass `StoreContract` and give it a fixture `store`:

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self) -> AsyncIterator[Store]:
            store = MyStore(...)
            yield store
            await store.aclose()

Ids are UUIDs, so that stores with UUID columns work. Each test makes its session and run before it
writes to them, so that foreign keys work.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from agentloop.errors import Closed, InvalidInput, StaleEpoch, StoreError, UnknownSession
from agentloop.events import RunEvent
from agentloop.guard.grants import Grant, Question
from agentloop.records import Json, RunRecord, Session, Status, Step, StepType, Usage
from agentloop.stores.base import Store

__all__ = ["StoreContract"]


def _id() -> str:
    return str(uuid.uuid4())


async def _run(store: Store, session_id: str | None = None, *, epoch: int = 0) -> RunRecord:
    session = await store.create_session(Session(session_id=session_id or _id()))
    return await store.create_run(RunRecord(run_id=_id(), session_id=session.session_id, message="task", epoch=epoch))


def _step(run: RunRecord, content: str = "text", type: StepType = "user") -> Step:
    return Step(session_id=run.session_id, run_id=run.run_id, type=type, content=content)


def _event(run: RunRecord, seq: int | None, content: str = "", args: Mapping[str, Json] | None = None) -> RunEvent:
    return RunEvent(
        type="warning",
        run_id=run.run_id,
        session_id=run.session_id,
        seq=seq,
        turn=1,
        time="2026-01-31T08:00:00.000000Z",
        content=content,
        args=args or {},
    )


def _question(run: RunRecord, message: str = "May I?") -> Question:
    return Question(id=_id(), session_id=run.session_id, run_id=run.run_id, kind="confirm", message=message)


class StoreContract:
    """Sessions, steps, events, runs, grants and questions, and how they hold under concurrency."""

    # Sessions

    async def test_an_unknown_session_is_none_and_stays_unknown(self, store: Store) -> None:
        unknown = _id()
        assert await store.get_session(unknown) is None
        assert await store.last_steps(unknown, 10) == ()
        assert await store.load_state(unknown) is None
        assert await store.runs(unknown) == ()
        assert await store.grants(unknown) == ()
        assert await store.get_session(unknown) is None

    async def test_writing_to_an_unknown_session_is_an_error_and_creates_none(self, store: Store) -> None:
        unknown = _id()
        for write in (
            store.save_carry(unknown, "{}"),
            store.set_session_status(unknown, Status.COMPLETED),
            store.save_state(unknown, b"state"),
        ):
            with pytest.raises(UnknownSession):
                await write
        assert await store.get_session(unknown) is None

    async def test_a_session_keeps_every_field_and_is_stamped(self, store: Store) -> None:
        session = Session(session_id=_id(), model="m", persona="p", message_id="i", enabled=("a", "b"), carry='{"a":1}')
        created = await store.create_session(session)
        assert created.created_at and created.updated_at
        assert replace(created, created_at="", updated_at="") == session
        assert await store.get_session(session.session_id) == created

    async def test_nothing_enabled_differs_from_everything(self, store: Store) -> None:
        nothing = await store.create_session(Session(session_id=_id(), enabled=()))
        everything = await store.create_session(Session(session_id=_id()))
        assert (await store.get_session(nothing.session_id) or everything).enabled == ()
        assert (await store.get_session(everything.session_id) or nothing).enabled is None

    async def test_creating_a_session_again_leaves_it_as_it_is(self, store: Store) -> None:
        first = await store.create_session(Session(session_id=_id(), model="first"))
        again = await store.create_session(Session(session_id=first.session_id, model="second"))
        assert again == first == await store.get_session(first.session_id)

    async def test_the_latest_carry_is_kept_byte_for_byte_and_may_be_none(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=_id()))
        for carry in ('{"b": 2,  "a": "\\u00e9é\\ud83d\\ude00"}', None, "[1]"):
            await store.save_carry(session.session_id, carry)
            known = await store.get_session(session.session_id)
            assert known is not None and known.carry == carry

    async def test_a_status_leaves_the_carry_and_may_be_set_again(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=_id(), carry="1"))
        for status in (Status.RUNNING, Status.COMPLETED, Status.ERROR):
            await store.set_session_status(session.session_id, status)
            known = await store.get_session(session.session_id)
            assert known is not None and (known.status, known.carry) == (status, "1")

    async def test_the_browser_state_is_bytes(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=_id()))
        assert await store.load_state(session.session_id) is None
        await store.save_state(session.session_id, b"first")
        await store.save_state(session.session_id, b"\x00\xff")
        assert await store.load_state(session.session_id) == b"\x00\xff"

    async def test_sessions_do_not_see_each_other(self, store: Store) -> None:
        one, other = await _run(store), await _run(store)
        await store.append_step(_step(one))
        await store.save_carry(one.session_id, "1")
        await store.save_state(one.session_id, b"1")
        await store.add_grant(one.session_id, Grant(kind="host", subject="a"))
        known = await store.get_session(other.session_id)
        assert known is not None and known.carry is None
        assert await store.last_steps(other.session_id, 0) == ()
        assert await store.load_state(other.session_id) is None
        assert await store.grants(other.session_id) == ()
        assert await store.runs(other.session_id) == (other,)

    # Steps

    async def test_a_step_keeps_every_field(self, store: Store) -> None:
        run = await _run(store)
        step = Step(
            session_id=run.session_id,
            run_id=run.run_id,
            type="summary",
            content="two\nlines \x00 é 😀",
            tool_args={"retain_from": 3, "nested": {"list": [1, None, "x"]}},
            duration_ms=12,
            tokens=Usage(prompt=3, completion=4),
            created_at="2026-01-31T08:00:00.123450Z",
        )
        kept = await store.append_step(step)
        assert replace(kept, index=-1) == step
        assert await store.last_steps(run.session_id, 1) == (kept,)

    async def test_a_step_without_a_time_gets_one(self, store: Store) -> None:
        run = await _run(store)
        assert (await store.append_step(_step(run))).created_at.endswith("Z")

    async def test_the_index_counts_on_across_the_runs_of_a_session(self, store: Store) -> None:
        first = await _run(store)
        second = await _run(store, first.session_id)
        kept = [await store.append_step(_step(run)) for run in (first, first, second, first, second)]
        assert [step.index for step in kept] == [0, 1, 2, 3, 4]
        assert (await store.append_step(_step(await _run(store)))).index == 0

    async def test_the_index_is_the_stores_to_give(self, store: Store) -> None:
        run = await _run(store)
        assert (await store.append_step(replace(_step(run), index=17))).index == 0

    async def test_the_last_steps_come_oldest_first(self, store: Store) -> None:
        run = await _run(store)
        for number in range(5):
            await store.append_step(_step(run, str(number)))
        for n, expected in ((2, "34"), (5, "01234"), (9, "01234"), (0, "01234"), (-1, "01234")):
            assert "".join(step.content for step in await store.last_steps(run.session_id, n)) == expected

    async def test_order_is_by_arrival_not_by_time(self, store: Store) -> None:
        run = await _run(store)
        for time in ("2026-01-31T08:00:02.000000Z", "2026-01-31T08:00:01.000000Z"):
            await store.append_step(replace(_step(run, time), created_at=time))
        assert [step.created_at[18] for step in await store.last_steps(run.session_id, 0)] == ["2", "1"]

    # Events

    async def test_events_are_kept_in_order_and_read_in_pages(self, store: Store) -> None:
        run = await _run(store)
        events = [_event(run, seq, str(seq), {"n": [seq]}) for seq in range(1, 6)]
        await store.append_events(events[:2])
        await store.append_events(events[2:])
        assert await store.events(run.run_id) == tuple(events)
        assert await store.events(run.run_id, after=3) == tuple(events[3:])
        assert await store.events(run.run_id, after=1, limit=2) == tuple(events[1:3])
        assert await store.events(run.run_id, after=9) == ()
        assert await store.last_seq(run.run_id) == 5

    async def test_an_event_keeps_every_field(self, store: Store) -> None:
        run = await _run(store)
        event = replace(
            _event(run, 1, "é\n😀"), type="done", tool="t", summary={"steps": 3}, tokens={"prompt": 1, "completion": 2}
        )
        await store.append_events([event])
        assert await store.events(run.run_id) == (event,)

    async def test_an_unknown_run_has_no_events(self, store: Store) -> None:
        assert await store.events(_id()) == ()
        assert await store.last_seq(_id()) == 0

    @pytest.mark.parametrize("wrong", [[2], [1, 3], [1, 1], [0], [None], [1, None]])
    async def test_a_gap_is_refused_and_nothing_of_the_batch_is_kept(
        self, store: Store, wrong: list[int | None]
    ) -> None:
        run = await _run(store)
        with pytest.raises(StoreError):
            await store.append_events([_event(run, seq) for seq in wrong])
        assert await store.events(run.run_id) == ()
        await store.append_events([_event(run, 1)])
        assert await store.last_seq(run.run_id) == 1

    async def test_each_run_counts_its_own_events(self, store: Store) -> None:
        first = await _run(store)
        second = await _run(store, first.session_id)
        for run in (first, second):
            await store.append_events([_event(run, 1)])
        assert await store.last_seq(first.run_id) == await store.last_seq(second.run_id) == 1

    async def test_live_events_are_not_stored(self, store: Store) -> None:
        run = await _run(store)
        for live in (
            replace(_event(run, None), type="observation"),
            replace(_event(run, 1), type="response_chunk"),
        ):
            with pytest.raises(StoreError):
                await store.append_events([live])
        assert await store.last_seq(run.run_id) == 0

    async def test_a_step_and_its_events_are_one_write(self, store: Store) -> None:
        run = await _run(store)
        await store.append_step(_step(run, "kept"), events=[_event(run, 1), _event(run, 2)])
        with pytest.raises(StoreError):
            await store.append_step(_step(run, "refused"), events=[_event(run, 3), _event(run, 5)])
        assert [step.content for step in await store.last_steps(run.session_id, 0)] == ["kept"]
        assert await store.last_seq(run.run_id) == 2

    # Runs and epochs

    async def test_a_run_keeps_every_field_and_is_stamped(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=_id()))
        run = RunRecord(
            run_id=_id(),
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
        run = await _run(store)
        with pytest.raises(InvalidInput):
            await store.create_run(replace(run, message="other"))
        assert await store.get_run(run.run_id) == run

    async def test_unknown_runs(self, store: Store) -> None:
        assert await store.get_run(_id()) is None
        with pytest.raises(UnknownSession):
            await store.claim_run(_id(), "me")
        with pytest.raises(UnknownSession):
            await store.save_run(RunRecord(run_id=_id(), session_id=_id()))

    async def test_saving_replaces_what_was_spent_and_how_it_stands(self, store: Store) -> None:
        run = await _run(store)
        await store.save_run(
            replace(run, status=Status.BUDGET, reason="cost", final_text="so far", iterations=3, cost=1.5, message="x")
        )
        known = await store.get_run(run.run_id)
        assert known is not None and known.message == "task" and known.created_at == run.created_at
        assert (known.status, known.reason, known.final_text) == (Status.BUDGET, "cost", "so far")
        assert (known.iterations, known.cost) == (3, 1.5)

    async def test_the_runs_of_a_session_come_oldest_first(self, store: Store) -> None:
        first = await _run(store)
        others = [await _run(store, first.session_id) for _ in range(3)]
        assert await store.runs(first.session_id) == (first, *others)

    async def test_a_claim_makes_the_old_owner_stale_everywhere(self, store: Store) -> None:
        run = await _run(store, epoch=1)
        await store.append_step(_step(run, "before"), events=[_event(run, 1)], epoch=1)
        claimed = await store.claim_run(run.run_id, "new owner")
        assert (claimed.owner, claimed.epoch) == ("new owner", 2) and claimed.heartbeat_at
        assert await store.get_run(run.run_id) == claimed
        with pytest.raises(StaleEpoch):
            await store.append_step(_step(run, "zombie"), epoch=1)
        with pytest.raises(StaleEpoch):
            await store.append_events([_event(run, 2)], epoch=1)
        with pytest.raises(StaleEpoch):
            await store.save_run(replace(run, status=Status.COMPLETED))
        assert [step.content for step in await store.last_steps(run.session_id, 0)] == ["before"]
        assert await store.last_seq(run.run_id) == 1
        await store.append_step(_step(run, "after"), events=[_event(run, 2)], epoch=2)
        await store.save_run(replace(claimed, status=Status.COMPLETED))

    async def test_only_one_of_many_claims_is_current(self, store: Store) -> None:
        run = await _run(store)
        async with asyncio.TaskGroup() as group:
            claims = [group.create_task(store.claim_run(run.run_id, f"owner {n}")) for n in range(8)]
        epochs = sorted(task.result().epoch for task in claims)
        assert epochs == list(range(run.epoch + 1, run.epoch + 9))

    # Grants and questions

    async def test_grants_come_oldest_first_and_a_renewed_one_is_kept_once(self, store: Store) -> None:
        run = await _run(store)
        times = [f"2026-01-31T08:00:0{n}.000000Z" for n in range(4)]
        for time, subject in zip(times, ("a", "b", "c", "a"), strict=True):
            await store.add_grant(run.session_id, Grant(kind="host", subject=subject, granted_at=time))
        await store.add_grant(run.session_id, Grant(kind="path", subject="a", granted_at="2026-01-31T08:00:09.000000Z"))
        kept = await store.grants(run.session_id)
        assert [(grant.kind, grant.subject) for grant in kept] == [
            ("host", "b"),
            ("host", "c"),
            ("host", "a"),
            ("path", "a"),
        ]

    async def test_a_grant_without_a_time_gets_one(self, store: Store) -> None:
        run = await _run(store)
        await store.add_grant(run.session_id, Grant(kind="host", subject="a"))
        assert (await store.grants(run.session_id))[0].granted_at.endswith("Z")

    async def test_revoking_forgets_all_grants_and_counts_them(self, store: Store) -> None:
        run = await _run(store)
        for subject in "ab":
            await store.add_grant(run.session_id, Grant(kind="host", subject=subject))
        assert await store.revoke_grants(run.session_id) == 2
        assert await store.revoke_grants(run.session_id) == 0
        assert await store.grants(run.session_id) == ()

    async def test_a_question_keeps_every_field(self, store: Store) -> None:
        run = await _run(store)
        question = Question(
            id=_id(),
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
        question = _question(await _run(store))
        await store.add_question(question)
        assert await store.answer_question(question.id, first) is True
        assert await store.answer_question(question.id, second) is False
        known = await store.get_question(question.id)
        assert known is not None and known.answer == first and type(known.answer) is type(first)

    async def test_of_many_answers_at_once_one_is_taken(self, store: Store) -> None:
        question = _question(await _run(store))
        await store.add_question(question)
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(store.answer_question(question.id, f"{n}")) for n in range(8)]
        taken = [str(n) for n, task in enumerate(answers) if task.result()]
        known = await store.get_question(question.id)
        assert known is not None and taken == [known.answer]

    async def test_an_unknown_question_cannot_be_answered(self, store: Store) -> None:
        assert await store.answer_question(_id(), True) is False
        assert await store.get_question(_id()) is None

    async def test_open_questions_come_oldest_first_and_answered_ones_do_not(self, store: Store) -> None:
        run, other = await _run(store), await _run(store)
        questions = [_question(run, str(n)) for n in range(3)]
        for question in [*questions, _question(other)]:
            await store.add_question(question)
        await store.answer_question(questions[1].id, False)
        assert [q.message for q in await store.open_questions(run.run_id)] == ["0", "2"]

    # Copies, concurrency, cancellation, the end

    async def test_what_was_kept_cannot_be_changed_from_outside(self, store: Store) -> None:
        run = await _run(store)
        args: dict[str, Json] = {"list": [1]}
        event = replace(_event(run, 1, args=args), summary=args)
        kept = await store.append_step(replace(_step(run), tool_args=args), events=[event])
        args["list"].append(2)
        for step in (kept, *await store.last_steps(run.session_id, 1)):
            assert step.tool_args == {"list": [1]}
            step.tool_args["list"].append(3)
        for known in await store.events(run.run_id):
            assert known.args == known.summary == {"list": [1]}
            known.args["list"].append(3)
        assert (await store.last_steps(run.session_id, 1))[0].tool_args == {"list": [1]}
        assert (await store.events(run.run_id))[0].args == {"list": [1]}

    async def test_writers_at_once_each_get_an_index_of_their_own(self, store: Store) -> None:
        first = await _run(store)
        runs = [first, *[await _run(store, first.session_id) for _ in range(5)]]

        async def write(run: RunRecord) -> None:
            for seq in range(1, 9):
                await store.append_step(_step(run, f"{seq}"), events=[_event(run, seq)])

        async with asyncio.TaskGroup() as group:
            for run in runs:
                group.create_task(write(run))
        steps = await store.last_steps(first.session_id, 0)
        assert [step.index for step in steps] == list(range(48))
        for run in runs:
            assert [step.content for step in steps if step.run_id == run.run_id] == list("12345678")
            assert [event.seq for event in await store.events(run.run_id)] == list(range(1, 9))

    @pytest.mark.parametrize("turns", range(4))
    async def test_a_cancelled_write_is_whole_or_not_there(self, store: Store, turns: int) -> None:
        run = await _run(store)
        write = asyncio.create_task(store.append_step(_step(run), events=[_event(run, 1), _event(run, 2)]))
        for _ in range(turns):
            await asyncio.sleep(0)
        write.cancel()
        await asyncio.wait([write])
        steps = len(await store.last_steps(run.session_id, 0))
        assert (steps, await store.last_seq(run.run_id)) in ((0, 0), (1, 2))
        await store.append_step(_step(run), events=[_event(run, 1 + 2 * steps)])
        kept = await store.last_steps(run.session_id, 0)
        assert all(before.index < after.index for before, after in pairwise(kept))

    async def test_closing_twice_is_fine_and_use_after_it_is_not(self, store: Store) -> None:
        run = await _run(store)
        await store.aclose()
        await store.aclose()
        for use in (
            store.get_session(run.session_id),
            store.create_session(Session(session_id=_id())),
            store.append_step(_step(run)),
            store.append_events([_event(run, 1)]),
            store.save_run(run),
            store.grants(run.session_id),
            store.open_questions(run.run_id),
        ):
            with pytest.raises(Closed):
                await use
