"""What outlives a run, and what must not: the real sandbox, the real loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agentloop.capabilities import BuildContext, Capability
from agentloop.clock import Clock
from agentloop.errors import Closed, EndRun, InvalidInput, SandboxError
from agentloop.events import RunEvent
from agentloop.guard.policy import DefaultPolicy, ToolCall
from agentloop.llm.base import Message, ModelReply, ModelRequest
from agentloop.llm.scripted import Scripted
from agentloop.loop import Loop
from agentloop.packs.base import Pack, Primitive
from agentloop.records import Json, RunLimits, RunRequest, RunResult, Scope, Status
from agentloop.sandbox import BuiltSandbox, CapabilityBuilder, Limits, SandboxPool
from agentloop.stores.memory import MemoryStore
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Hand

ENDS_S = 20.0


@dataclass
class Desk:
    """A capability with something worth keeping: it counts, and it tells what became of it."""

    builds: int = 0
    closed: list[int] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    contexts: list[BuildContext] = field(default_factory=list)
    renew: Callable[[BuildContext], Awaitable[None]] | None = None
    fails: Exception | None = None
    inside: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    meeting: asyncio.Barrier = field(default_factory=lambda: asyncio.Barrier(2))
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def capability(self) -> Capability:
        return Capability(name="desk", description="keeps a count", build=self.build, required=True)

    async def build(self, context: BuildContext) -> Sequence[Pack]:
        self.builds += 1
        self.contexts.append(context)
        if self.fails is not None:
            raise self.fails
        number, count = self.builds, 0

        async def bump() -> int:
            nonlocal count
            count += 1
            await context.emit("act", content=f"bump {count}")
            return count

        async def hold() -> None:
            self.begun.append(context.run_id)
            self.inside.set()
            await self.go.wait()

        async def meet() -> None:
            await self.meeting.wait()

        async def broken() -> None:
            raise EndRun(Status.ERROR, "task_failed", "out of paper")

        async def renew() -> None:
            self.renewed.append(context.run_id)
            if self.renew is not None:
                await self.renew(context)

        async def aclose() -> None:
            self.closed.append(number)
            self.gone.set()

        calls = {"bump": bump, "hold": hold, "meet": meet, "broken": broken}
        primitives = {name: Primitive(call) for name, call in calls.items()}
        return [Pack(name="desk", description="", primitives=primitives, renew=renew, aclose=aclose)]


@dataclass
class Hours:
    """A clock that a test winds."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
async def pool(desk: Desk, hours: Hours) -> AsyncIterator[SandboxPool]:
    async with SandboxPool(CapabilityBuilder([desk.capability()], engine=ENGINE), idle_s=50, now=hours) as opened:
        yield opened


def of(session_id: str = "s", **fields: Any) -> BuildContext:
    return BuildContext(session_id=session_id, **fields)


def js(body: str) -> str:
    return f"```javascript\n{body}\n```"


async def eventually_empty(pool: SandboxPool) -> None:
    async with asyncio.timeout(ENDS_S):
        while len(pool):  # noqa: ASYNC110  (what is awaited has no event: a task that falls apart by itself)
            await asyncio.sleep(0.01)


async def count(pool: SandboxPool, context: BuildContext | None = None) -> int:
    """One run that bumps once; the number tells whether it found what an earlier one left."""
    async with pool.build(context or of()) as built:
        outcome = await built.sandbox.run("function run() { return bump() }")
    assert outcome.error is None, outcome.error
    return int(outcome.value_json or -1)


async def play(
    pool: SandboxPool, *replies: str, store: MemoryStore, **request: Any
) -> tuple[RunResult, list[RunEvent]]:
    events: list[RunEvent] = []
    loop = Loop(llm=Scripted(replies), store=store, sandbox_builder=pool)
    result = await loop.run(RunRequest("go", **request), on_event=events.append)
    return result, events


async def held(pool: SandboxPool, context: BuildContext, entered: asyncio.Event, leave: asyncio.Event) -> None:
    """A run that holds its sandbox until it is told to leave."""
    async with pool.build(context):
        entered.set()
        await leave.wait()


async def settle() -> None:
    """Lets every task that can go on without the outside world do so."""
    for _ in range(20):
        await asyncio.sleep(0)


BUMPS = js("answer(bump())")


# Keeping ------------------------------------------------------------------------------------------


async def test_a_session_finds_what_its_last_run_left_and_its_own_listener(pool: SandboxPool, desk: Desk) -> None:
    store = MemoryStore()
    first, first_events = await play(pool, BUMPS, store=store, session="s", run_id="one")
    before = len(first_events)
    second, second_events = await play(pool, BUMPS, store=store, session="s", run_id="two")
    assert (first.final_text, second.final_text, desk.builds, len(pool)) == ("1", "2", 1, 1)
    acts = [(event.run_id, event.content) for event in second_events if event.type == "act"]
    assert acts == [("two", "bump 2")]
    assert len(first_events) == before
    assert [event.content for event in await store.events("two") if event.type == "act"] == ["bump 2"]
    assert desk.closed == []


async def test_one_process_serves_both_runs_and_the_realm_is_fresh(pool: SandboxPool) -> None:
    async with pool.build(of()) as built:
        sandbox = built.sandbox
        await sandbox.run("globalThis.left = 1")
    async with pool.build(of()) as built:
        assert built.sandbox is sandbox
        assert (await built.sandbox.run("function run() { return typeof left }")).value_json == '"undefined"'


@pytest.mark.parametrize(
    "other",
    [of("t"), of(scope=Scope(workspace_id="w")), of(scope=Scope(project_id="p"))],
    ids=["session", "workspace", "project"],
)
async def test_sessions_and_scopes_share_nothing(pool: SandboxPool, other: BuildContext) -> None:
    assert [await count(pool), await count(pool, other), await count(pool), await count(pool, other)] == [1, 1, 2, 2]
    assert len(pool) == 2


async def test_runs_without_a_session_share_nothing(pool: SandboxPool, desk: Desk) -> None:
    assert [await count(pool, of("")), await count(pool, of(""))] == [1, 1]
    assert (desk.closed, len(pool)) == ([1, 2], 0)


@pytest.mark.parametrize(
    "change",
    [
        {"user_id": "eve"},
        {"enabled": ["desk"]},
        {"allow": ["shop.example"]},
        {"workspace": "/elsewhere"},
        {"settings": {"a": 1}},
        {"policy": DefaultPolicy()},
        {"resumed": True},
        {"start_url": "https://other.example/"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_run_that_may_do_something_else_is_built_afresh(
    pool: SandboxPool, desk: Desk, change: dict[str, Any]
) -> None:
    start = of(start_url="https://shop.example/")
    assert await count(pool, start) == 1
    assert await count(pool, replace(start, **change)) == 1
    assert (desk.closed, len(pool)) == ([1], 1)


async def test_a_run_that_may_do_the_same_is_not(pool: SandboxPool) -> None:
    first = of(allow=["a.example", "b.example"], settings={"a": [1]}, start_url="https://shop.example/one")
    assert await count(pool, first) == 1
    again = replace(first, allow=("b.example", "a.example"), settings={"a": [1]}, run_id="2", state=b"kept")
    assert await count(pool, replace(again, start_url="https://SHOP.example/two")) == 2
    assert await count(pool, replace(again, start_url=None)) == 3


async def test_without_a_pack_that_renews_a_start_url_needs_a_new_build() -> None:
    opened: list[str | None] = []

    async def build(context: BuildContext) -> Sequence[Pack]:
        opened.append(context.start_url)
        return []

    page = Capability(name="page", description="", build=build)
    start = of(start_url="https://shop.example/")
    async with SandboxPool(CapabilityBuilder([page], engine=ENGINE)) as pool:
        for context in (start, replace(start, start_url=None), start):
            async with pool.build(context):
                pass
    assert opened == ["https://shop.example/"] * 2


# The run that is served ---------------------------------------------------------------------------


async def test_packs_see_the_run_that_is_served(pool: SandboxPool, desk: Desk) -> None:
    llms = [Scripted(["from one"]), Scripted(["from two"])]
    policies = [DefaultPolicy(), DefaultPolicy()]
    asked: list[str] = []

    def ask(name: str) -> Callable[..., Awaitable[bool]]:
        async def answer(message: str, **_: Any) -> bool:
            asked.append(f"{name}: {message}")
            return True

        return answer

    runs = [
        of(run_id=name, message_id=f"m-{name}", llm=llms[i], ask=ask(name), policy=policies[i], state=name.encode())
        for i, name in enumerate(("one", "two"))
    ]
    for run, said in zip(runs, ("from one", "from two"), strict=True):
        async with pool.build(run):
            [seen] = desk.contexts
            assert (seen.run_id, seen.message_id, seen.state) == (run.run_id, run.message_id, run.state)
            assert seen.llm and seen.ask and seen.policy
            assert (await reply_of(seen)).content == said
            assert await seen.ask("may I?", kind="confirm")
            call = ToolCall(tool="x", args={}, scope=seen.scope, session_id="s", run_id=seen.run_id)
            assert (await seen.policy.check(call)).allowed
            assert seen.llm.name == "scripted"
    assert asked == ["one: may I?", "two: may I?"]
    assert [len(llm.requests) for llm in llms] == [1, 1]


async def reply_of(context: BuildContext) -> ModelReply:
    assert context.llm is not None
    return await context.llm.complete(ModelRequest(messages=(Message("user", "hello"),)))


async def test_a_copy_of_the_context_still_follows_in_what_it_does(pool: SandboxPool, desk: Desk) -> None:
    told: list[str] = []

    def teller(run: str) -> Callable[..., Awaitable[None]]:
        async def emit(type: str, **fields: Json) -> None:
            told.append(f"{run}: {type}")

        return emit

    async with pool.build(of(run_id="one", emit=teller("one"))):
        copy = replace(desk.contexts[0], state=b"other")
        assert (copy.state, copy.run_id) == (b"other", "one")
    async with pool.build(of(run_id="two", emit=teller("two"))):
        await copy.emit("act")
    assert told == ["two: act"]


async def test_after_its_end_a_run_hears_nothing_and_is_asked_nothing(pool: SandboxPool, desk: Desk) -> None:
    told: list[str] = []

    async def emit(type: str, **fields: Json) -> None:
        told.append(type)

    async with pool.build(of(run_id="one", emit=emit, llm=Scripted(["late"]), ask=emit)):
        [seen] = desk.contexts
        await seen.emit("act")
    await seen.emit("warning")
    assert told == ["act"]
    assert seen.run_id == "one"
    with pytest.raises(Closed, match="llm"):
        await reply_of(seen)
    assert seen.ask is not None
    with pytest.raises(Closed, match="ask"):
        await seen.ask("anybody?")


async def test_the_clock_is_that_of_the_run_that_is_served(pool: SandboxPool, desk: Desk) -> None:
    hours = Hours(now=1000.0)
    async with pool.build(of()):
        pass
    clock = Clock(hours)
    async with pool.build(of(clock=clock)) as built:
        [seen] = desk.contexts
        hours.now += 7
        assert seen.clock.now() == 7
        running = asyncio.create_task(built.sandbox.run("hold()"))
        await desk.inside.wait()
        with seen.clock.pause():
            hours.now += 100
            assert clock.now() == 7
        hours.now += 3
        desk.go.set()
        assert (await running).duration_ms == 3000
        await seen.clock.until(10)


async def test_a_question_of_the_second_run_stops_the_deadline_of_its_script() -> None:
    async def wait_for_a_person() -> None:
        with seen[0].clock.pause():
            hand.now += 600
        await hand.next_look()

    hand = Hand()
    seen: list[BuildContext] = []

    async def build(context: BuildContext) -> Sequence[Pack]:
        seen.append(context)
        return [Pack(name="p", description="", primitives={"person": Primitive(wait_for_a_person)})]

    person = Capability(name="p", description="", build=build)
    async with SandboxPool(CapabilityBuilder([person], limits=Limits(wall_s=0.05), engine=ENGINE)) as pool:
        for _ in range(2):
            async with pool.build(of(clock=Clock(hand))) as built:
                assert (await built.sandbox.run("person()")).error is None
                running = asyncio.create_task(built.sandbox.run("while (true) {}"))
                await hand.until_done(running)
                spinning = await running
                assert spinning.error and spinning.error.where == "timeout"
    assert len(seen) == 1


# Renewing -----------------------------------------------------------------------------------------


async def test_packs_are_renewed_for_each_further_run_and_old_receipts_dropped(desk: Desk) -> None:
    lines: list[str] = []

    def receipts() -> tuple[str, ...]:
        taken = tuple(lines)
        lines.clear()
        return taken

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [*await desk.build(context), Pack(name="notes", description="", receipts=receipts)]

    async with SandboxPool(CapabilityBuilder([replace(desk.capability(), build=build)], engine=ENGINE)) as pool:
        await count(pool, of(run_id="one"))
        lines.append("the first run's last act")
        async with pool.build(of(run_id="two")) as built:
            assert [pack.receipts() for pack in built.packs if pack.receipts] == [()]
    assert desk.renewed == ["two"]


async def test_a_pack_that_cannot_be_renewed_is_built_afresh(pool: SandboxPool, desk: Desk) -> None:
    async def lost(context: BuildContext) -> None:
        raise LookupError("the page is gone")

    store = MemoryStore()
    await play(pool, BUMPS, store=store, session="s")
    desk.renew = lost
    result, events = await play(pool, BUMPS, store=store, session="s")
    assert (result.final_text, desk.builds, desk.closed, len(pool)) == ("1", 2, [1], 1)
    [warning] = [event.content for event in events if event.type == "warning"]
    assert "the page is gone" in warning


async def test_a_renewal_may_end_the_run_and_what_is_kept_stays(pool: SandboxPool, desk: Desk) -> None:
    async def down(context: BuildContext) -> None:
        raise EndRun(Status.ERROR, "page_down", "it is not there")

    store = MemoryStore()
    await play(pool, BUMPS, store=store, session="s")
    desk.renew = down
    result, _ = await play(pool, BUMPS, store=store, session="s")
    assert (result.status, result.reason) == (Status.ERROR, "page_down")
    desk.renew = None
    again, _ = await play(pool, BUMPS, store=store, session="s")
    assert (again.final_text, desk.builds) == ("2", 1)


# One after another --------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [Scope(), Scope(project_id="p")])
async def test_runs_of_one_session_wait_for_each_other(pool: SandboxPool, desk: Desk, scope: Scope) -> None:
    await count(pool)
    await count(pool, of(scope=scope))
    entered, leave = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(ENDS_S), asyncio.TaskGroup() as group:
        async with pool.build(of()):
            group.create_task(held(pool, of(scope=scope), entered, leave))
            await settle()
            assert not entered.is_set()
        await entered.wait()
        leave.set()


async def test_two_loops_on_one_session_wait_for_each_other(pool: SandboxPool, desk: Desk) -> None:
    replies = js('hold(); answer("done")')
    async with asyncio.timeout(ENDS_S), asyncio.TaskGroup() as group:
        group.create_task(play(pool, replies, store=MemoryStore(), session="s", run_id="one"))
        await desk.inside.wait()
        second = group.create_task(play(pool, replies, store=MemoryStore(), session="s", run_id="two"))
        await settle()
        assert (desk.begun, second.done()) == (["one"], False)
        desk.go.set()
    assert desk.begun == ["one", "two"]
    assert (second.result()[0].status, desk.builds) == (Status.COMPLETED, 1)


async def test_runs_of_different_sessions_do_not(pool: SandboxPool) -> None:
    store = MemoryStore()
    async with asyncio.timeout(ENDS_S), asyncio.TaskGroup() as group:
        runs = [
            group.create_task(play(pool, js('meet(); answer("met")'), store=store, session=session))
            for session in ("s", "t")
        ]
    assert [run.result()[0].final_text for run in runs] == ["met", "met"]


async def test_a_run_that_waits_can_be_cancelled(pool: SandboxPool) -> None:
    async with pool.build(of()):
        waiting = asyncio.create_task(count(pool))
        await settle()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(ENDS_S):
        assert await count(pool) == 1


async def test_a_run_that_waits_has_its_deadline(pool: SandboxPool) -> None:
    async with pool.build(of()):
        result, _ = await play(pool, BUMPS, store=MemoryStore(), session="s", limits=RunLimits(wall_s=0.1))
    assert (result.status, result.reason) == (Status.TIMEOUT, "wall")
    async with asyncio.timeout(ENDS_S):
        assert await count(pool) == 1


async def test_a_failing_run_among_others_leaves_the_pool_whole(pool: SandboxPool, desk: Desk) -> None:
    entered = asyncio.Event()

    async def fail() -> None:
        await entered.wait()
        raise LookupError("one of them")

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(held(pool, of(), entered, asyncio.Event()))
            group.create_task(count(pool))
            group.create_task(fail())
    async with asyncio.timeout(ENDS_S):
        assert await count(pool) == 1
    assert desk.builds == 1


# Bad ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["bump(); broken()", 'bump(); fail("no")'])
async def test_a_run_that_failed_does_no_harm(pool: SandboxPool, desk: Desk, script: str) -> None:
    store = MemoryStore()
    bad, _ = await play(pool, js(script), store=store, session="s")
    assert (bad.status, bad.reason) == (Status.ERROR, "task_failed")
    good, _ = await play(pool, BUMPS, store=store, session="s")
    assert (good.final_text, desk.builds) == ("2", 1)


async def test_a_killed_script_does_no_harm(pool: SandboxPool, desk: Desk) -> None:
    async with pool.build(of()) as built:
        await built.sandbox.run("bump()")
        killed = await built.sandbox.run("while (true) {}", wall_s=0.2)
        assert killed.error and killed.error.where == "timeout"
    assert (await count(pool), desk.builds) == (2, 1)


async def test_a_cancelled_run_does_no_harm(pool: SandboxPool, desk: Desk) -> None:
    running = asyncio.create_task(play(pool, js("bump(); hold()"), store=MemoryStore(), session="s"))
    await desk.inside.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    again, _ = await play(pool, BUMPS, store=MemoryStore(), session="s")
    assert (again.final_text, desk.builds) == ("2", 1)


@pytest.mark.parametrize("error", [EndRun(Status.ERROR, "page_down"), SandboxError("no room")])
async def test_a_failed_build_is_not_kept(pool: SandboxPool, desk: Desk, error: Exception) -> None:
    desk.fails = error
    with pytest.raises(type(error)) as raised:
        await count(pool)
    assert raised.value is error
    assert len(pool) == 0
    desk.fails = None
    assert await count(pool) == 1


async def test_a_run_cancelled_while_it_builds_leaves_nothing() -> None:
    begun, undone = asyncio.Event(), asyncio.Event()

    async def build(context: BuildContext) -> Sequence[Pack]:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            undone.set()
        return []

    slow = Capability(name="slow", description="", build=build)
    async with SandboxPool(CapabilityBuilder([slow], engine=ENGINE)) as pool:
        building = asyncio.create_task(count(pool))
        await begun.wait()
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        assert undone.is_set()
        assert len(pool) == 0


class Grouping:
    """A builder whose block is a task group, which only the task that entered it may leave."""

    def __init__(self) -> None:
        self.inner = CapabilityBuilder([], engine=ENGINE)
        self.spoil = asyncio.Event()
        self.ended = 0

    def build(self, context: BuildContext) -> AbstractAsyncContextManager[BuiltSandbox]:
        return self._build(context)

    @asynccontextmanager
    async def _build(self, context: BuildContext) -> AsyncIterator[BuiltSandbox]:
        async with asyncio.TaskGroup() as group, self.inner.build(context) as built:
            companion = group.create_task(self._companion())
            try:
                yield built
            finally:
                companion.cancel()
                self.ended += 1

    async def _companion(self) -> None:
        await self.spoil.wait()
        raise LookupError("the companion died")


async def test_a_build_is_left_by_the_task_that_entered_it(caplog: pytest.LogCaptureFixture) -> None:
    builder = Grouping()
    async with SandboxPool(builder) as pool:
        for _ in range(2):
            async with pool.build(of()) as built:
                await built.sandbox.run("1")
        assert await asyncio.create_task(pool.evict("s")) == 1
    assert builder.ended == 1
    assert caplog.records == []


async def test_a_build_that_falls_apart_between_runs_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    builder = Grouping()
    async with SandboxPool(builder) as pool:
        async with pool.build(of()) as built:
            first = built.sandbox
        builder.spoil.set()
        await eventually_empty(pool)
        builder.spoil.clear()
        async with pool.build(of()) as built:
            assert built.sandbox is not first
            assert (await built.sandbox.run("function run() { return 1 }")).value_json == "1"
    assert builder.ended == 2


# Letting go ---------------------------------------------------------------------------------------


async def test_idleness_counts_from_the_end_of_the_last_run(pool: SandboxPool, desk: Desk, hours: Hours) -> None:
    async with pool.build(of()):
        hours.now = 1000
        assert await pool.evict_idle() == 0
    hours.now = 1049
    assert await pool.evict_idle() == 0
    assert await count(pool) == 1
    hours.now = 1098
    assert await pool.evict_idle() == 0
    hours.now = 1099
    assert (await pool.evict_idle(), desk.closed, len(pool)) == (1, [1], 0)
    assert await count(pool) == 1


async def test_only_what_is_idle_goes(pool: SandboxPool, desk: Desk, hours: Hours) -> None:
    await count(pool, of("old"))
    hours.now = 30
    await count(pool, of("new"))
    hours.now = 60
    assert (await pool.evict_idle(), desk.closed) == (1, [1])
    assert await count(pool, of("new")) == 2


async def test_the_sweeper_lets_go_by_itself_and_again(desk: Desk, hours: Hours) -> None:
    builder = CapabilityBuilder([desk.capability()], engine=ENGINE)
    async with SandboxPool(builder, idle_s=50, sweep_s=0.01, now=hours) as pool, asyncio.timeout(ENDS_S):
        for _ in range(2):
            assert await count(pool) == 1
            hours.now += 50
            await desk.gone.wait()
            desk.gone.clear()
    assert desk.closed == [1, 2]


async def test_an_eviction_takes_every_scope_of_its_session_only(pool: SandboxPool, desk: Desk) -> None:
    for context in (of("s"), of("s", scope=Scope(project_id="p")), of("t")):
        await count(pool, context)
    assert (await pool.evict("s"), sorted(desk.closed), len(pool)) == (2, [1, 2], 1)
    assert (await pool.evict("s"), await pool.evict("unknown")) == (0, 0)
    assert [await count(pool, of("s")), await count(pool, of("t"))] == [1, 2]


async def test_an_eviction_waits_for_the_run_and_who_comes_later_gets_a_new_build(
    pool: SandboxPool, desk: Desk
) -> None:
    await count(pool)
    async with asyncio.timeout(ENDS_S), asyncio.TaskGroup() as group, pool.build(of()) as built:
        before = group.create_task(count(pool))
        await settle()
        evicting = group.create_task(pool.evict("s"))
        await settle()
        after = group.create_task(count(pool))
        await settle()
        assert (await built.sandbox.run("function run() { return bump() }")).value_json == "2"
        assert desk.closed == []
    assert (before.result(), evicting.result(), after.result()) == (3, 1, 1)


async def test_who_comes_while_it_is_evicted_gets_a_new_build(hours: Hours) -> None:
    closing, go_on = asyncio.Event(), asyncio.Event()
    made: list[str] = []

    async def aclose() -> None:
        closing.set()
        await go_on.wait()
        made.append("closed")

    async def build(context: BuildContext) -> Sequence[Pack]:
        made.append("built")
        return [Pack(name="p", description="", aclose=aclose)]

    slow = Capability(name="slow", description="", build=build)
    async with SandboxPool(CapabilityBuilder([slow], engine=ENGINE), idle_s=50, now=hours) as pool:
        async with pool.build(of()):
            pass
        hours.now = 50
        entered, leave = asyncio.Event(), asyncio.Event()
        leave.set()
        async with asyncio.timeout(ENDS_S), asyncio.TaskGroup() as group:
            group.create_task(pool.evict_idle())
            await closing.wait()
            group.create_task(held(pool, of(), entered, leave))
            await settle()
            assert not entered.is_set()
            go_on.set()
        assert made == ["built", "closed", "built"]


async def test_what_does_not_close_is_told_and_keeps_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Sticky(Grouping):
        @asynccontextmanager
        async def _build(self, context: BuildContext) -> AsyncIterator[BuiltSandbox]:
            async with self.inner.build(context) as built:
                yield built
            raise LookupError("stuck")

    with caplog.at_level(logging.WARNING):
        async with SandboxPool(Sticky()) as pool:
            async with pool.build(of()):
                pass
            assert await pool.evict("s") == 1
    assert [record.getMessage() for record in caplog.records] == ["a kept sandbox did not close: stuck"]


# The end ------------------------------------------------------------------------------------------


async def test_closing_closes_everything_once_and_for_all(pool: SandboxPool, desk: Desk) -> None:
    await count(pool, of("s"))
    await count(pool, of("t"))
    await asyncio.gather(pool.aclose(), pool.aclose())
    assert (sorted(desk.closed), len(pool)) == ([1, 2], 0)
    await pool.aclose()
    for session in ("s", ""):
        with pytest.raises(Closed, match="pool is closed"):
            await count(pool, of(session))
    result, _ = await play(pool, BUMPS, store=MemoryStore(), session="s")
    assert (result.status, result.reason) == (Status.ERROR, "setup")
    assert (await pool.evict("s"), await pool.evict_idle(), desk.builds) == (0, 0, 2)


async def test_closing_waits_for_no_run(pool: SandboxPool, desk: Desk) -> None:
    async with asyncio.timeout(ENDS_S), pool.build(of()) as built:
        running = asyncio.create_task(built.sandbox.run("hold()"))
        await desk.inside.wait()
        waiting = asyncio.create_task(count(pool))
        await settle()
        await pool.aclose()
        outcome = await running
        assert outcome.error and outcome.error.where == "died"
        with pytest.raises(Closed):
            await built.sandbox.run("1")
    with pytest.raises(Closed):
        await waiting
    assert (desk.closed, desk.builds) == ([1], 1)


async def test_closing_ends_a_build_under_way(desk: Desk) -> None:
    begun = asyncio.Event()

    async def build(context: BuildContext) -> Sequence[Pack]:
        begun.set()
        await asyncio.sleep(3600)
        return []

    slow = Capability(name="slow", description="", build=build)
    pool = SandboxPool(CapabilityBuilder([slow], engine=ENGINE))
    async with asyncio.timeout(ENDS_S):
        building = asyncio.create_task(count(pool))
        await begun.wait()
        await pool.aclose()
        with pytest.raises(Closed):
            await building


async def test_nothing_is_left_running(desk: Desk, hours: Hours) -> None:
    before = asyncio.all_tasks()
    async with SandboxPool(CapabilityBuilder([desk.capability()], engine=ENGINE)) as pool:
        await count(pool)
        await settle()
        assert len(asyncio.all_tasks() - before) == 2
    assert asyncio.all_tasks() == before


def test_an_event_loop_that_ends_takes_its_builds_along() -> None:
    desk = Desk()
    pool = SandboxPool(CapabilityBuilder([desk.capability()], engine=ENGINE))
    texts = [
        Loop(llm=Scripted([BUMPS]), store=MemoryStore(), sandbox_builder=pool)
        .run_sync(RunRequest("go", session="s"))
        .final_text
        for _ in range(2)
    ]
    assert (texts, desk.closed, len(pool)) == (["1", "1"], [1, 2], 0)
    asyncio.run(pool.aclose())


@pytest.mark.parametrize("times", [{"idle_s": -1}, {"sweep_s": 0}])
def test_times_that_cannot_be(times: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="idle_s"):
        SandboxPool(CapabilityBuilder([]), **times)
