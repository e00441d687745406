"""What every store must do, as tests. Subclass `StoreContract` and give it a fixture `store`:

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self) -> AsyncIterator[Store]:
            store = MyStore(...)
            yield store
            await store.aclose()

Each test makes its session and run before it writes to them, so that foreign keys work.
It needs pytest and pytest-asyncio, with `asyncio_mode = auto`: `pytest -o asyncio_mode=auto`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

from agentloop.testing.extras import needs

try:
    import pytest
except ModuleNotFoundError as error:
    raise needs("test", error) from None

from agentloop.errors import Closed, StoreError
from agentloop.records import Json, RunRecord, Session, Step, Usage
from agentloop.stores.base import Store
from agentloop.testing.stores.catalog import CatalogContract
from agentloop.testing.stores.rows import UTC_TEXT, new_event, new_id, new_run, new_step
from agentloop.testing.stores.runs import RunsContract
from agentloop.testing.stores.sessions import SessionsContract

__all__ = ["StoreContract"]


class StoreContract(SessionsContract, CatalogContract, RunsContract):
    """All seven protocols, and how they hold under concurrency and cancellation."""

    # Steps

    async def test_a_step_keeps_every_field(self, store: Store) -> None:
        run = await new_run(store)
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
        run = await new_run(store)
        assert UTC_TEXT.fullmatch((await store.append_step(new_step(run))).created_at)

    async def test_half_a_surrogate_pair_is_text_too(self, store: Store) -> None:
        run = await new_run(store)
        half = 'a "\ud83d" b'
        await store.append_step(
            replace(new_step(run, half), tool_args={half: half}), events=[new_event(run, 1, half, {half: half})]
        )
        (step,) = await store.last_steps(run.session_id, 0)
        (event,) = await store.events(run.run_id)
        assert step.content == event.content == half
        assert step.tool_args == event.args == {half: half}

    async def test_the_index_counts_on_across_the_runs_of_a_session(self, store: Store) -> None:
        first = await new_run(store)
        second = await new_run(store, first.session_id)
        kept = [await store.append_step(new_step(run)) for run in (first, first, second, first, second)]
        assert [step.index for step in kept] == [0, 1, 2, 3, 4]
        assert (await store.append_step(new_step(await new_run(store)))).index == 0

    async def test_the_index_is_the_stores_to_give(self, store: Store) -> None:
        run = await new_run(store)
        assert (await store.append_step(replace(new_step(run), index=17))).index == 0

    async def test_the_last_steps_come_oldest_first(self, store: Store) -> None:
        run = await new_run(store)
        for number in range(5):
            await store.append_step(new_step(run, str(number)))
        for n, expected in ((2, "34"), (5, "01234"), (9, "01234"), (0, "01234"), (-1, "01234")):
            assert "".join(step.content for step in await store.last_steps(run.session_id, n)) == expected

    async def test_the_last_summaries_are_found_among_other_steps(self, store: Store) -> None:
        run, other = await new_run(store), await new_run(store)
        for content in ("a", "b", "c"):
            await store.append_step(replace(new_step(run, content), type="summary", tool_args={"from": content}))
            await store.append_step(new_step(run, "between"))
            await store.append_step(replace(new_step(other, "other"), type="summary"))
        assert [step.index for step in await store.last_summaries(run.session_id, 0)] == [0, 2, 4]
        (newest,) = await store.last_summaries(run.session_id, 1)
        assert (newest.content, newest.tool_args) == ("c", {"from": "c"})
        assert [step.content for step in await store.last_summaries(run.session_id, 2)] == ["b", "c"]
        assert await store.last_summaries("nobody", 1) == ()

    async def test_order_is_by_arrival_not_by_time(self, store: Store) -> None:
        run = await new_run(store)
        for time in ("2026-01-31T08:00:02.000000Z", "2026-01-31T08:00:01.000000Z"):
            await store.append_step(replace(new_step(run, time), created_at=time))
        assert [step.created_at[18] for step in await store.last_steps(run.session_id, 0)] == ["2", "1"]

    # Events

    async def test_events_are_kept_in_order_and_read_in_pages(self, store: Store) -> None:
        run = await new_run(store)
        events = [new_event(run, seq, str(seq), {"n": [seq]}) for seq in range(1, 6)]
        await store.append_events(events[:2])
        await store.append_events(events[2:])
        assert await store.events(run.run_id) == tuple(events)
        assert await store.events(run.run_id, after=3) == tuple(events[3:])
        assert await store.events(run.run_id, after=1, limit=2) == tuple(events[1:3])
        assert await store.events(run.run_id, after=9) == ()
        assert await store.last_seq(run.run_id) == 5

    async def test_an_event_keeps_every_field(self, store: Store) -> None:
        run = await new_run(store)
        event = replace(
            new_event(run, 1, "é\n😀"),
            type="done",
            tool="t",
            summary={"steps": 3},
            tokens={"prompt": 1, "completion": 2},
        )
        await store.append_events([event])
        assert await store.events(run.run_id) == (event,)

    async def test_an_unknown_run_has_no_events(self, store: Store) -> None:
        assert await store.events(new_id()) == ()
        assert await store.last_seq(new_id()) == 0

    @pytest.mark.parametrize("wrong", [[2], [1, 3], [1, 1], [0], [None], [1, None]])
    async def test_a_gap_is_refused_and_nothing_of_the_batch_is_kept(
        self, store: Store, wrong: list[int | None]
    ) -> None:
        run = await new_run(store)
        with pytest.raises(StoreError):
            await store.append_events([new_event(run, seq) for seq in wrong])
        assert await store.events(run.run_id) == ()
        await store.append_events([new_event(run, 1)])
        assert await store.last_seq(run.run_id) == 1

    async def test_each_run_counts_its_own_events(self, store: Store) -> None:
        first = await new_run(store)
        second = await new_run(store, first.session_id)
        for run in (first, second):
            await store.append_events([new_event(run, 1)])
        assert await store.last_seq(first.run_id) == await store.last_seq(second.run_id) == 1

    async def test_live_events_are_not_stored(self, store: Store) -> None:
        run = await new_run(store)
        for live in (
            replace(new_event(run, None), type="observation"),
            replace(new_event(run, 1), type="response_chunk"),
        ):
            with pytest.raises(StoreError):
                await store.append_events([live])
        assert await store.last_seq(run.run_id) == 0

    async def test_a_step_and_its_events_are_one_write(self, store: Store) -> None:
        run = await new_run(store)
        await store.append_step(new_step(run, "kept"), events=[new_event(run, 1), new_event(run, 2)])
        with pytest.raises(StoreError):
            await store.append_step(new_step(run, "refused"), events=[new_event(run, 3), new_event(run, 5)])
        assert [step.content for step in await store.last_steps(run.session_id, 0)] == ["kept"]
        assert await store.last_seq(run.run_id) == 2

    # Copies, concurrency, cancellation, the end

    async def test_what_was_kept_cannot_be_changed_from_outside(self, store: Store) -> None:
        run = await new_run(store)
        args: dict[str, Json] = {"list": [1]}
        event = replace(new_event(run, 1, args=args), summary=args)
        kept = await store.append_step(replace(new_step(run), tool_args=args), events=[event])
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
        first = await new_run(store)
        runs = [first, *[await new_run(store, first.session_id) for _ in range(5)]]

        async def write(run: RunRecord) -> None:
            for seq in range(1, 9):
                await store.append_step(new_step(run, f"{seq}"), events=[new_event(run, seq)])

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
        run = await new_run(store)
        write = asyncio.create_task(store.append_step(new_step(run), events=[new_event(run, 1), new_event(run, 2)]))
        for _ in range(turns):
            await asyncio.sleep(0)
        write.cancel()
        await asyncio.wait([write])
        steps = len(await store.last_steps(run.session_id, 0))
        assert (steps, await store.last_seq(run.run_id)) in ((0, 0), (1, 2))
        await store.append_step(new_step(run), events=[new_event(run, 1 + 2 * steps)])
        kept = await store.last_steps(run.session_id, 0)
        assert all(before.index < after.index for before, after in pairwise(kept))

    async def test_cancelled_writers_among_others_leave_no_gap(self, store: Store) -> None:
        run = await new_run(store)
        writes = [asyncio.create_task(store.append_step(new_step(run, str(n)))) for n in range(24)]
        for write in writes[::2]:
            await asyncio.sleep(0)
            write.cancel()
        await asyncio.wait(writes)
        await store.append_step(new_step(run, "last"))
        steps = await store.last_steps(run.session_id, 0)
        assert [step.index for step in steps] == list(range(len(steps)))
        kept = [step.content for step in steps]
        assert len(set(kept)) == len(kept) and {str(n) for n in range(1, 24, 2)} <= set(kept)

    async def test_closing_twice_is_fine_and_use_after_it_is_not(self, store: Store) -> None:
        run = await new_run(store)
        await store.aclose()
        await store.aclose()
        for use in (
            store.get_session(run.session_id),
            store.create_session(Session(session_id=new_id())),
            store.append_step(new_step(run)),
            store.append_events([new_event(run, 1)]),
            store.save_run(run),
            store.list_sessions(),
            store.delete_session(run.session_id),
            store.grants(run.session_id),
            store.open_questions(run.run_id),
        ):
            with pytest.raises(Closed):
                await use
