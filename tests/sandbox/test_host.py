"""What one script does, and what the host does with it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from agentloop.clock import Clock
from agentloop.errors import Closed, EndRun, EndTurn, InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.records import Status
from agentloop.sandbox import Limits, open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from agentloop.sandbox.toolbox import Toolbox
from agentloop.sandbox.zygote import SoloLauncher
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Hand, Probe


async def value(sandbox: ProcessSandbox, body: str, args: str = "{}") -> Any:
    outcome = await sandbox.run(f"function run(args) {{ {body} }}", args)
    assert outcome.error is None, outcome.error
    assert outcome.value_json is not None
    return json.loads(outcome.value_json)


# --- values ---


@pytest.mark.parametrize(
    "text",
    [
        "1700000000123",
        "9007199254740992",
        "-2147483649",
        "4294967296",
        "1e300",
        '"a\\u0000b"',
        '"\\ud800"',
        '"\\ufeffx"',
        "[[],{}]",
    ],
)
async def test_values_cross_unchanged_in_every_direction(sandbox: ProcessSandbox, probe: Probe, text: str) -> None:
    came = await value(sandbox, "return [args.v, h(args.v)]", f'{{"v": {text}}}')

    assert came == [json.loads(text)] * 2
    assert probe.seen == [json.loads(text)]


async def test_nan_in_args_and_from_primitives_becomes_null(sandbox: ProcessSandbox, probe: Probe) -> None:
    nan = Primitive(lambda: _returns({"x": float("nan"), "y": [float("inf")]}))
    async with open_sandbox(packs=[Pack(name="n", description="", primitives={"nan": nan})], engine=ENGINE) as other:
        assert await value(other, "return [args, nan()]", '{"a": NaN}') == [{"a": None}, {"x": None, "y": [None]}]


async def _returns(result: Any) -> Any:
    return result


@pytest.mark.parametrize("args", ["", "  ", "null"])
async def test_blank_args_are_an_empty_object(sandbox: ProcessSandbox, args: str) -> None:
    assert await value(sandbox, "return [args, globalThis.args === args]", args) == [{}, True]


async def test_args_that_are_no_json_warn(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("function run(a) { return a }", "{oops")

    assert outcome.value_json == "{}"
    assert "args were not JSON" in outcome.warnings[0]


async def test_ten_megabytes_of_astral_characters(sandbox: ProcessSandbox) -> None:
    args = json.dumps({"t": "😀" * 2_500_000}, ensure_ascii=False)

    assert await value(sandbox, "return [args.t.length, args.t.slice(-2)]", args) == [5_000_000, "😀"]


async def test_a_script_of_a_megabyte(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "/*" + "x" * 1_000_000 + "*/ return 1") == 1


async def test_warnings_name_paths_and_are_bounded(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run(
        "function run() { return {rows: [{n: NaN}], s: Symbol('x'), many: Array(100).fill(undefined)} }"
    )

    assert outcome.warnings[:2] == ("rows[0].n: NaN became null", "s: a symbol was left out")
    assert len(outcome.warnings) == 21
    assert outcome.warnings[-1] == "82 more values were changed"


async def test_a_forgotten_await_is_named(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("function run() { return {page: h.async(1)} }")

    assert outcome.value_json == '{"page":{}}'
    assert "page: a promise became {}: await it first" in outcome.warnings


async def test_getters_run_once(sandbox: ProcessSandbox, probe: Probe) -> None:
    await value(sandbox, "return {get a() { h('got'); return null }, b: null}")

    assert probe.seen == ["got"]


# --- primitives ---


async def test_errors_of_primitives_are_real_errors(sandbox: ProcessSandbox) -> None:
    caught = await value(
        sandbox, "try { boom('no row', 'E_ROW') } catch (e) { return [e instanceof Error, e.name, e.message, e.code] }"
    )

    assert caught == [True, "LookupError", "no row", "E_ROW"]


async def test_a_code_that_is_no_text_stays_away(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "try { boom('x', 5) } catch (e) { return 'code' in e }") is False


async def test_results_that_are_no_json_are_errors_of_the_call() -> None:
    odd = Primitive(lambda: _returns({1, 2}))
    async with open_sandbox(packs=[Pack(name="n", description="", primitives={"odd": odd})], engine=ENGINE) as sandbox:
        assert "set" in await value(sandbox, "try { odd() } catch (e) { return e.message }")


async def test_missing_and_surplus_arguments(sandbox: ProcessSandbox, probe: Probe) -> None:
    await value(sandbox, "h(); h(undefined); h(1, 2, 3); ['a', 'b'].map(h); return 1")

    assert probe.seen == [None, None, 1, "a", "b"]


async def test_async_calls_run_in_parallel(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("async function run() { return await Promise.all([1, 2].map(n => meet.async(n))) }")

    assert outcome.value_json == "[1,2]"


async def test_all_runs_in_parallel(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "return meet.all(['a', 'b'])") == ["a", "b"]


async def test_all_keeps_order_whatever_ends_first(sandbox: ProcessSandbox, probe: Probe) -> None:
    assert await value(sandbox, "return slow.all([1, {spread: [2, 0.001]}, [3]])") == [1, 2, [3]]
    assert probe.seen[0] == 2


async def test_all_throws_the_first_failure_when_all_have_ended(sandbox: ProcessSandbox, probe: Probe) -> None:
    failed = await value(sandbox, "try { boom.all(['first', 'second']) } catch (e) { return [e.message, e.index] }")

    assert failed == ["first", 0]
    assert await value(sandbox, "return h.all([])") == []


@pytest.mark.parametrize(
    "script",
    [
        "function run() { return page.act.all([1, 2, 3]) }",
        "async function run() { return await Promise.all([1, 2, 3].map(n => page.act.async(n))) }",
        "async function run() { page.act.async(1); page.act.async(2); page.act(3); return [1, 2, 3] }",
    ],
)
async def test_exclusive_calls_run_one_at_a_time_in_order(sandbox: ProcessSandbox, probe: Probe, script: str) -> None:
    outcome = await sandbox.run(script)

    assert outcome.value_json == "[1,2,3]"
    assert probe.seen == [1, 2, 3]
    assert probe.most_running == 1


@pytest.mark.parametrize(
    "body",
    [
        "const p = slow.async('a', 0.001); const r = slow('b', 0.05); return [await p, r]",
        "const p = slow.async('a', 0.05); const r = slow('b', 0.001); return [await p, r]",
    ],
)
async def test_replies_find_their_calls_in_either_order(sandbox: ProcessSandbox, body: str) -> None:
    outcome = await sandbox.run(f"async function run() {{ {body} }}")

    assert outcome.value_json == '["a","b"]'


async def test_no_more_calls_in_flight_than_allowed(probe: Probe) -> None:
    async with open_sandbox(packs=probe.packs(), limits=Limits(in_flight=2), engine=ENGINE) as sandbox:
        assert await value(sandbox, "return slow.all([1, 2, 3, 4, 5])") == [1, 2, 3, 4, 5]
    assert probe.most_running == 2


async def test_calls_left_behind_are_cancelled_and_named(sandbox: ProcessSandbox, probe: Probe) -> None:
    outcome = await sandbox.run("function run() { slow.async(1, 20); h(0); return 1 }")

    assert outcome.value_json == "1"
    assert "1 calls were still under way" in outcome.warnings[0]
    assert probe.cancelled == 1
    assert await value(sandbox, "return h('next')") == "next"


async def test_calls_from_a_promise_after_run_returned(sandbox: ProcessSandbox, probe: Probe) -> None:
    outcome = await sandbox.run("function run() { Promise.resolve().then(() => h('late')); return 1 }")

    assert outcome.value_json == "1"
    assert probe.seen == ["late"]


async def test_loose_statements_wait_for_what_they_began(sandbox: ProcessSandbox, probe: Probe) -> None:
    outcome = await sandbox.run("(async () => { log(await slow.async('done')) })()")

    assert (outcome.value_json, outcome.error, outcome.logs) == (None, None, "done")


async def test_loose_async_statements_that_fail_are_errors(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("(async () => { await null; throw new Error('late') })()")

    assert outcome.error is not None
    assert outcome.error.message == "late"


async def test_untrusted_and_calls_are_counted(sandbox: ProcessSandbox) -> None:
    plain = await sandbox.run("h(1); h.all([1, 2])")
    strange = await sandbox.run("stranger(1)")

    assert (plain.calls, plain.untrusted) == (3, False)
    assert (strange.calls, strange.untrusted) == (1, True)


async def test_a_result_of_fifty_megabytes_is_an_error_of_the_call() -> None:
    big = Primitive(lambda: _returns("x" * 50_000_000))
    async with open_sandbox(packs=[Pack(name="n", description="", primitives={"big": big})], engine=ENGINE) as sandbox:
        assert "at most 33554432" in await value(sandbox, "try { big() } catch (e) { return e.message }")


async def test_ten_thousand_primitives() -> None:
    primitives = {f"p{n}": Primitive(lambda n=n: _returns(n)) for n in range(10_000)}
    async with open_sandbox(packs=[Pack(name="n", description="", primitives=primitives)], engine=ENGINE) as sandbox:
        assert await value(sandbox, "return [p0(), p9999()]") == [0, 9999]


async def test_arguments_that_nest_too_deeply(sandbox: ProcessSandbox) -> None:
    deep = "let a = []; for (let i = 0; i < 1500; i++) a = [a];"

    assert "200 levels" in await value(sandbox, deep + "try { h(a) } catch (e) { return e.name + e.message }")
    assert "200 levels" in await value(sandbox, deep + "try { h.all([a]) } catch (e) { return e.name + e.message }")


async def test_a_small_result_limit_limits_results_only(probe: Probe) -> None:
    async with open_sandbox(packs=probe.packs(), limits=Limits(result_bytes=100), engine=ENGINE) as sandbox:
        outcome = await sandbox.run(
            "/*" + "x" * 1000 + "*/ log('y'.repeat(2e6)); function run() { return 'z'.repeat(98) }"
        )
        assert outcome.value_json is not None
        assert outcome.logs.startswith("yyy")
        long = await sandbox.run("function run() { return {['k'.repeat(5000)]: NaN, b: 'z'.repeat(98)} }")
        assert long.error is not None
        assert long.error.name == "ResultTooLarge"


async def test_long_paths_in_warnings_are_cut(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("function run() { return {['k'.repeat(100000)]: NaN} }")

    assert len(outcome.warnings[0]) < 250


# --- endings ---


async def test_end_run_is_not_catchable_and_carries_the_outcome(probe: Probe) -> None:
    async def end() -> None:
        raise EndRun(Status.BUDGET, "cost", 7)

    packs = (*probe.packs(), Pack(name="e", description="", primitives={"end": Primitive(end)}))
    async with open_sandbox(packs=packs, engine=ENGINE) as sandbox:
        with pytest.raises(EndRun) as raised:
            await sandbox.run("log('before'); slow.async(1, 20); try { end() } catch (e) { h(1) } finally { h(2) }")
        assert (raised.value.status, raised.value.reason, raised.value.data) == (Status.BUDGET, "cost", 7)
        assert raised.value.outcome.logs == "before"
        assert probe.cancelled == 1
        assert probe.seen == []
        assert await value(sandbox, "return 1") == 1


async def test_end_turn_in_a_batch(probe: Probe) -> None:
    async def end(value: Any) -> None:
        raise EndTurn("page changed", value)

    packs = (*probe.packs(), Pack(name="e", description="", primitives={"end": Primitive(end)}))
    async with open_sandbox(packs=packs, engine=ENGINE) as sandbox:
        with pytest.raises(EndTurn) as raised:
            await sandbox.run("end.all([5]); h(1)")
    assert (raised.value.data, raised.value.outcome.calls, probe.seen) == (5, 1, [])


async def test_cancellation_kills_the_child_and_its_calls(sandbox: ProcessSandbox, probe: Probe) -> None:
    child = sandbox.pid
    running = asyncio.create_task(sandbox.run("function run() { slow(1, 20) }"))
    await probe.started.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert probe.cancelled == 1
    assert await value(sandbox, "return 1") == 1
    assert sandbox.pid != child


async def test_the_deadline_covers_calls(sandbox: ProcessSandbox, probe: Probe) -> None:
    began = time.monotonic()
    outcome = await sandbox.run("log('waiting'); slow(1, 20)", wall_s=0.2)

    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.where, outcome.logs) == ("Timeout", "timeout", "waiting")
    assert time.monotonic() - began < 10
    assert probe.cancelled == 1


async def test_a_paused_clock_stops_the_deadline() -> None:
    hand = Hand()
    clock = Clock(hand)

    async def ask() -> str:
        with clock.pause():
            hand.now += 600
        await hand.next_look()  # the deadline has been compared with the time
        return "yes"

    packs = [Pack(name="ask", description="", primitives={"ask": Primitive(ask)})]
    async with open_sandbox(packs=packs, limits=Limits(wall_s=0.05), clock=clock, engine=ENGINE) as sandbox:
        outcome = await sandbox.run("function run() { return ask() }")
    assert (outcome.value_json, outcome.duration_ms) == ('"yes"', 0)


async def test_limits_can_only_be_narrowed(probe: Probe) -> None:
    async with open_sandbox(packs=probe.packs(), limits=Limits(calls=2, wall_s=0.5), engine=ENGINE) as sandbox:
        many = await sandbox.run("h(1); h(2); h(3)", calls=50)
        none = await sandbox.run("h(1)", calls=0)
        long = await sandbox.run("while (true) {}", wall_s=60)
    assert [o.error.where if o.error else "" for o in (many, none, long)] == ["limit", "limit", "timeout"]
    assert many.calls == 3


async def test_sleep_waits_and_is_cut_by_the_deadline(sandbox: ProcessSandbox) -> None:
    began = time.monotonic()
    slept = await sandbox.run("sleep(50)")
    assert slept.error is None
    assert time.monotonic() - began >= 0.05

    outcome = await sandbox.run("sleep(1e9)", wall_s=0.2)
    assert outcome.error is not None
    assert outcome.error.where == "timeout"


async def test_a_soft_stop_names_the_line_and_keeps_the_child(sandbox: ProcessSandbox) -> None:
    child = sandbox.pid
    spin = "function spin() {\n let s = '';\n for (;;) {\n  s = s.concat('');\n }\n}"
    outcome = await sandbox.run(f"function run() {{\n spin()\n}}\n{spin}", wall_s=4)

    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.where) == ("Timeout", "timeout")
    # The function that was running is always known, the statement within it not on every engine.
    assert 4 <= outcome.error.line <= 8
    assert sandbox.pid == child
    assert await value(sandbox, "return 1") == 1


async def test_a_script_that_cannot_be_stopped_softly_is_killed(sandbox: ProcessSandbox) -> None:
    child = sandbox.pid
    outcome = await sandbox.run("for (;;) { slow(1, 20) }", wall_s=0.3)

    assert outcome.error is not None
    assert outcome.error.where == "timeout"
    assert sandbox.pid is None
    assert await value(sandbox, "return 1") == 1
    assert sandbox.pid != child


async def test_memory_of_one_script_is_not_held_against_the_next(sandbox: ProcessSandbox) -> None:
    bomb = await sandbox.run("const a = []; while (1) a.push('x'.repeat(1e6) + a.length)")

    assert bomb.error is not None
    assert bomb.error.message == "out of memory" or bomb.error.where == "died"
    assert await value(sandbox, "return 'y'.repeat(3e7).length") == 30_000_000


async def test_many_turns_in_few_children(sandbox: ProcessSandbox) -> None:
    children = set()
    for n in range(230):
        outcome = await sandbox.run("globalThis.left = 1; function run(a) { return a.n }", f'{{"n": {n}}}')
        assert outcome.value_json == str(n)
        children.add(sandbox.pid)
    assert len(children) == 2


async def test_two_sandboxes_at_once(sandbox: ProcessSandbox, probe: Probe) -> None:
    async with open_sandbox(packs=probe.packs(), engine=ENGINE) as other:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one.run("meet()")) for one in (sandbox, other)]
        assert all(task.result().error is None for task in tasks)
        randoms = [await value(one, "return [Math.random(), crypto.randomUUID()]") for one in (sandbox, other)]
    assert randoms[0][0] != randoms[1][0]
    assert randoms[0][1] != randoms[1][1]


async def test_one_script_at_a_time(sandbox: ProcessSandbox, probe: Probe) -> None:
    async with asyncio.TaskGroup() as group:
        for n in range(3):
            group.create_task(sandbox.run(f"slow({n})"))
    assert probe.seen == [0, 1, 2]
    assert probe.most_running == 1


async def test_dates_are_utc(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "return [new Date(0).getHours(), new Date(1720000000000).getTimezoneOffset()]") == [
        0,
        0,
    ]


async def test_log_lines_are_emitted_while_the_script_runs(probe: Probe) -> None:
    events: list[tuple[str, str]] = []

    async def emit(type: str, **fields: Any) -> None:
        events.append((type, fields["content"]))

    async with open_sandbox(packs=probe.packs(), emit=emit, engine=ENGINE) as sandbox:
        await sandbox.run("log('one'); h(1); log('two'); for (let i = 0; i < 200; i++) log(i)")
    assert events[:2] == [("sandbox_event", "one"), ("sandbox_event", "two")]
    assert len(events) == 100


# --- opening and closing ---


async def test_used_after_it_was_closed(probe: Probe) -> None:
    async with open_sandbox(engine=ENGINE) as sandbox:
        pass
    with pytest.raises(Closed):
        await sandbox.run("1")


async def test_closing_ends_a_running_script(sandbox: ProcessSandbox, probe: Probe) -> None:
    running = asyncio.create_task(sandbox.run("slow(1, 20)"))
    await probe.started.wait()
    await sandbox.aclose()

    outcome = await running
    assert outcome.error is not None
    assert outcome.error.where == "died"


@pytest.mark.parametrize(
    "limits",
    [Limits(wall_s=0), Limits(memory_mb=1), Limits(in_flight=0), Limits(depth=0), Limits(result_bytes=0)],
)
async def test_impossible_limits(limits: Limits) -> None:
    with pytest.raises(InvalidInput, match="limits: "):
        async with open_sandbox(limits=limits, engine=ENGINE):
            pass


async def test_unknown_engine() -> None:
    with pytest.raises(InvalidInput, match="engine is"):
        async with open_sandbox(engine="v8"):  # type: ignore[arg-type]
            pass


async def test_isolation_is_reported(sandbox: ProcessSandbox) -> None:
    assert sandbox.isolation == "seccomp"
    assert sandbox.engine.startswith("quickjs")


async def test_too_much_script_and_args(sandbox: ProcessSandbox) -> None:
    with pytest.raises(InvalidInput, match="longer than"):
        await sandbox.run("1", json.dumps("x" * 70_000_000))


async def test_without_a_zygote_each_child_has_its_own_interpreter(probe: Probe) -> None:
    sandbox = ProcessSandbox(
        toolbox=Toolbox(probe.packs()),
        limits=Limits(),
        clock=Clock(),
        launcher=SoloLauncher(ENGINE),
        require_isolation="seccomp",
    )
    try:
        assert await value(sandbox, "return h(1)") == 1
        assert (await sandbox.run("while (true) {}", wall_s=0.3)).error is not None
        assert await value(sandbox, "return h(2)") == 2
    finally:
        await sandbox.aclose()
