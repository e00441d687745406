"""The loop against a scripted model, the memory store and the real sandbox."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from agentloop import (
    BuildContext,
    Capability,
    EndRun,
    Loop,
    LoopSettings,
    MemoryStore,
    Pack,
    Primitive,
    RunEvent,
    RunHandle,
    RunLimits,
    RunRequest,
    RunResult,
    Scripted,
    Status,
)
from agentloop.context.prompt import Prompt
from agentloop.errors import EndTurn, ModelAuthError, SandboxError, StoreError
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.packs.base import Observation
from agentloop.records import Prices, Scope, Usage


def js(body: str) -> str:
    return f"```javascript\n{body}\n```"


def returns(expression: str) -> str:
    return js(f"function run(args) {{ return {expression}; }}")


ANSWER = js('answer("done")')


def capability(name: str, *packs: Pack, always_on: bool = False) -> Capability:
    async def build(context: BuildContext) -> Sequence[Pack]:
        return packs

    return Capability(name=name, description=name, build=build, always_on=always_on)


def pack_of(name: str, call: Any, **primitive: bool) -> Pack:
    return Pack(name=name, description=name, primitives={name: Primitive(call, **primitive)})


async def _broken(context: BuildContext) -> Sequence[Pack]:
    raise SandboxError("no server")


async def play(
    replies: Sequence[Any], request: RunRequest | str = "do it", **loop: Any
) -> tuple[RunResult, list[RunEvent], Scripted]:
    events: list[RunEvent] = []
    llm = Scripted(replies)
    asked = RunRequest(request) if isinstance(request, str) else request
    collaborators: dict[str, Any] = {"llm": llm, "store": MemoryStore()} | loop
    result = await Loop(**collaborators).run(asked, on_event=events.append)
    return result, events, llm


def types(events: Sequence[RunEvent]) -> list[str]:
    return [event.type for event in events if event.seq is not None]


def sent(llm: Scripted, call: int = -1) -> str:
    """All text of one request but its system prompt."""
    return "\n".join(message.text for message in llm.requests[call].messages[1:])


# Answers --------------------------------------------------------------------------------------------


async def test_a_run_keeps_its_steps_and_events_in_order() -> None:
    store = MemoryStore()
    result, events, _ = await play([returns("{n: 1}"), ANSWER], store=store)
    assert (result.status, result.final_text, result.turns, result.steps) == (Status.COMPLETED, "done", 2, 6)
    assert types(events) == [
        "run_started",
        "user",
        "execute_js",
        "execute_js_result",
        "data_update",
        "execute_js",
        "execute_js_result",
        "response",
        "done",
    ]
    assert [event.seq for event in events if event.seq] == list(range(1, len(types(events)) + 1))
    kept = await store.events(result.run_id)
    assert [event.to_dict() for event in kept] == [event.to_dict() for event in events if event.seq]
    steps = await store.last_steps(result.session_id, 0)
    assert [step.type for step in steps] == [
        "user",
        "execute_js",
        "execute_js_result",
        "execute_js",
        "execute_js_result",
        "response",
    ]
    run = await store.get_run(result.run_id)
    assert run is not None and run.status is Status.COMPLETED and run.final_text == "done"


@pytest.mark.parametrize(
    ("value", "text"), [('"plain"', "plain"), ("42", "42"), ("true", "true"), ("{a: [1, 2]}", '{"a":[1,2]}')]
)
async def test_answers_of_every_kind(value: str, text: str) -> None:
    result, _, _ = await play([js(f"answer({value})")])
    assert result.final_text == text


async def test_prose_is_the_answer_where_the_prompt_takes_it() -> None:
    result, events, _ = await play(["It is 7."])
    assert (result.status, result.final_text) == (Status.COMPLETED, "It is 7.")
    assert "response" in types(events)


async def test_prose_is_sent_back_where_only_scripts_count() -> None:
    settings = LoopSettings(prompt=Prompt(system="{functions}", prose_answers=False))
    result, _, llm = await play(["I would click it.", ANSWER], settings=settings)
    assert result.final_text == "done"
    assert "function run(args)" in sent(llm)


async def test_bare_statements_run_with_a_line_of_reproach() -> None:
    settings = LoopSettings(prompt=Prompt(system="{functions}", prose_answers=False))
    result, _, llm = await play([js("log(6 * 7)"), returns("1"), ANSWER], settings=settings)
    assert result.status is Status.COMPLETED
    assert "42" in sent(llm, 1) and "inside function run(args)" in sent(llm, 1)
    assert sent(llm, 2).count("inside function run(args)") == 1


async def test_nothing_of_a_script_runs_after_answer() -> None:
    calls: list[str] = []

    async def touch(name: str) -> None:
        calls.append(name)

    script = js('touch("before"); try { answer(1) } catch (e) { touch("catch") } finally { touch("finally") }')
    result, _, _ = await play([script], capabilities=[capability("touch", pack_of("touch", touch))])
    assert (result.final_text, calls) == ("1", ["before"])


async def test_a_truncated_reply_is_never_an_answer() -> None:
    cut = ModelReply(content="```javascript\nfunction run() { retu", finish_reason="length")
    result, events, llm = await play([cut, ANSWER])
    assert (result.status, result.final_text) == (Status.COMPLETED, "done")
    assert "cut off" in sent(llm)
    assert "warning" in types(events)


async def test_done_inside_a_script_does_not_end_the_run() -> None:
    result, _, _ = await play([js("function run() {\n  return `\nDONE\nx`;\n}"), ANSWER])
    assert result.final_text == "done"


async def test_three_empty_replies_end_the_run_and_two_do_not() -> None:
    result, _, _ = await play(["", " ", ANSWER])
    assert result.final_text == "done"
    result, events, _ = await play(["", "", "", ANSWER])
    assert (result.status, result.reason) == (Status.ERROR, "empty_reply")
    assert types(events)[-2:] == ["error", "done"]


# The carry --------------------------------------------------------------------------------------------


async def test_what_a_script_returns_is_the_next_args_and_never_in_the_prompt() -> None:
    secret = "needle-in-the-carry"
    script = js("function run(args) { return args.word === undefined ? fail('lost') : args }")
    result, _, llm = await play([returns(f'{{word: "{secret}", list: Array(500).fill(7)}}'), script, ANSWER])
    assert result.status is Status.COMPLETED
    assert secret not in sent(llm).replace(llm.requests[-1].messages[2].text, "")
    assert "word: string" in sent(llm)
    snapshot = len(json.dumps({"word": secret, "list": [7] * 500}, separators=(",", ":")))
    assert snapshot / 2 < result.data_bytes_carried / 2 <= snapshot, "two calls carried it"


async def test_returning_nothing_keeps_args_and_says_so_and_null_clears_them() -> None:
    probe = js("function run(args) { log(JSON.stringify(args)) }")
    _, _, llm = await play([returns("{a: 1}"), probe, returns("null"), probe, ANSWER])
    assert '{"a":1}' in sent(llm, 2)
    assert "args stay as they were" in sent(llm, 2)
    assert "{}" in sent(llm, 4)


async def test_a_new_run_of_a_session_starts_from_its_carry_and_a_fresh_one_does_not() -> None:
    store = MemoryStore()
    first, _, _ = await play([returns('{seen: "yes"}'), ANSWER], RunRequest("one", session="s"), store=store)
    probe = js("answer(JSON.stringify(args))")
    second, _, llm = await play([probe], RunRequest("two", session="s"), store=store)
    assert json.loads(second.final_text) == {"seen": "yes"}
    assert second.run_id != first.run_id and second.session_id == first.session_id == "s"
    assert "one" in sent(llm) and "two" in sent(llm)
    third, _, _ = await play([probe], RunRequest("three", session="s", fresh=True), store=store)
    assert third.final_text == "{}"
    assert [step.index for step in await store.last_steps("s", 0)] == list(
        range(first.steps + second.steps + third.steps)
    )


# Errors of scripts -------------------------------------------------------------------------------------


async def test_a_throw_reaches_the_model_with_its_logs_and_its_line() -> None:
    script = js('function run() {\n  log("first fact");\n  null.x;\n}')
    result, _, llm = await play([script, ANSWER])
    assert result.status is Status.COMPLETED
    told = sent(llm)
    assert "first fact" in told and "TypeError" in told and "line 3" in told


async def test_a_primitive_s_error_is_catchable_with_name_and_message() -> None:
    async def broken() -> None:
        raise LookupError("no such row")

    script = js("function run() { try { broken() } catch (e) { answer(`${e.name}: ${e.message}`) } }")
    result, _, _ = await play([script], capabilities=[capability("broken", pack_of("broken", broken))])
    assert result.final_text == "LookupError: no such row"


async def test_the_same_script_with_the_same_outcome_ends_the_run_at_the_fourth() -> None:
    result, events, llm = await play([returns("1")] * 6)
    assert (result.status, result.reason) == (Status.ERROR, "no_progress")
    assert len(llm.requests) == 4
    assert types(events)[-1] == "done"
    assert sent(llm, 3).count("return 1;") == 0, "repeated scripts leave the history at the third"


async def test_a_busy_script_ends_with_the_run_s_deadline() -> None:
    result, events, _ = await play([js("while (true) {}")], limits=RunLimits(wall_s=0.8))
    assert (result.status, result.reason) == (Status.TIMEOUT, "wall")
    assert types(events)[-3:] == ["execute_js_result", "error", "done"]


# Ends from host code ------------------------------------------------------------------------------------


async def test_end_run_is_not_catchable_and_ends_with_its_status() -> None:
    store = MemoryStore()
    calls: list[int] = []

    async def stop() -> None:
        raise EndRun(Status.DIVERGED, "turn 1", "the button is gone")

    async def note() -> None:
        calls.append(1)

    packs = [pack_of("stop", stop), pack_of("note", note)]
    script = js('log("before"); try { stop() } catch (e) {} finally { note() } note()')
    result, _, _ = await play([script], capabilities=[capability("x", *packs)], store=store)
    assert (result.status, result.reason, calls) == (Status.DIVERGED, "turn 1", [])
    steps = await store.last_steps(result.session_id, 0)
    assert [step.type for step in steps[-2:]] == ["execute_js_result", "error"]
    assert "before" in steps[-2].content and steps[-1].content == "the button is gone"


async def test_end_turn_goes_on_with_its_data_as_feedback() -> None:
    async def halt() -> None:
        raise EndTurn("moved", "the page moved on")

    result, _, llm = await play(
        [js("halt(); answer('no')"), ANSWER], capabilities=[capability("h", pack_of("halt", halt))]
    )
    assert result.final_text == "done"
    assert "the page moved on" in sent(llm)


async def test_fail_ends_as_an_error_with_its_reason() -> None:
    result, _, _ = await play([js('fail("sold out")')])
    assert (result.status, result.reason) == (Status.ERROR, "task_failed")


async def test_model_failures_have_their_own_status() -> None:
    class Refusing:
        name = "refusing"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            raise ModelAuthError("bad key", status=401)

    result, events, _ = await play([], llm=Refusing())
    assert (result.status, result.reason) == (Status.MODEL_ERROR, "auth")
    assert types(events)[-2:] == ["error", "done"]


async def test_iterations_run_out_and_the_model_is_warned_two_before() -> None:
    replies = [returns(str(n)) for n in range(9)]
    result, events, llm = await play(replies, limits=RunLimits(iterations=4))
    assert result.status is Status.MAX_ITERATIONS
    assert len(llm.requests) == 4
    assert ["Turns left" in sent(llm, call) for call in range(4)] == [False, False, True, True]
    assert types(events)[-1] == "done"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (RunLimits(prompt_tokens=150), "prompt_tokens"),
        (RunLimits(completion_tokens=25), "completion_tokens"),
        (RunLimits(cost=0.0001, prices=Prices(prompt=1.0)), "cost"),
        (RunLimits(carry_bytes=10), "carry_bytes"),
    ],
)
async def test_budgets_end_the_run(limits: RunLimits, reason: str) -> None:
    replies = [ModelReply(content=returns(f'"{n:020d}"'), usage=Usage(prompt=100, completion=20)) for n in range(9)]
    result, events, llm = await play(replies, limits=limits)
    assert (result.status, result.reason) == (Status.BUDGET, reason)
    assert result.turns == len(llm.requests) < 4
    (spent,) = [event for event in events if event.type == "budget_spent"]
    assert spent.args == {"reason": reason} and str(getattr(limits, reason)) in spent.content
    assert types(events)[-3:] == ["budget_spent", "error", "done"]


@pytest.mark.parametrize(
    ("replies", "loop", "status"),
    [
        ([ANSWER], {}, Status.COMPLETED),
        ([js('fail("sold out")')], {}, Status.ERROR),
        (["", "", ""], {}, Status.ERROR),
        ([returns("1"), returns("2")], {"limits": RunLimits(iterations=2)}, Status.MAX_ITERATIONS),
        ([returns("'long enough'")], {"limits": RunLimits(carry_bytes=3)}, Status.BUDGET),
        ([js("for (;;);")], {"limits": RunLimits(wall_s=2)}, Status.TIMEOUT),
        ([], {}, Status.MODEL_ERROR),
        (
            [ANSWER],
            {"capabilities": [Capability(name="a", description="", build=_broken, required=True)]},
            Status.ERROR,
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Status) else "",
)
async def test_every_end_is_told_once_and_last(replies: list[Any], loop: dict[str, Any], status: Status) -> None:
    result, events, _ = await play(replies, **loop)
    kinds = types(events)
    assert (result.status, kinds[-1], kinds.count("done")) == (status, "done", 1)
    assert (kinds.count("error") == 1) is (status is not Status.COMPLETED)
    assert events[-1].content == str(status)


async def test_primitive_calls_are_a_budget_of_the_run() -> None:
    async def tick() -> int:
        return 1

    script = js("function run(args) { for (let i = 0; i < 6; i++) tick(); return { n: (args.n || 0) + 1 } }")
    result, events, _ = await play(
        [script] * 3, capabilities=[capability("t", pack_of("tick", tick))], limits=RunLimits(primitive_calls=10)
    )
    assert (result.status, result.reason) == (Status.BUDGET, "primitive_calls")
    assert types(events).count("budget_spent") == 1


async def test_cancel_ends_a_run_inside_a_script_and_writes_its_last_steps() -> None:
    store = MemoryStore()
    inside = asyncio.Event()

    async def wait() -> None:
        inside.set()
        await asyncio.Event().wait()

    loop = Loop(llm=Scripted([js("wait()")]), store=store, capabilities=[capability("w", pack_of("wait", wait))])
    async with await loop.open(RunRequest("x")) as handle:
        turn = asyncio.create_task(handle.turn())
        await inside.wait()
        handle.cancel("signal")
        outcome = await turn
    assert outcome.done and handle.result is not None
    assert (handle.result.status, handle.result.reason) == (Status.CANCELLED, "signal")
    steps = await store.last_steps(handle.result.session_id, 0)
    assert [step.type for step in steps] == ["user", "execute_js", "execute_js_result", "error"]
    assert steps[-1].content == "ended by a signal"


async def test_a_cancelled_task_still_finalizes_and_passes_the_cancellation_on() -> None:
    store = MemoryStore()
    inside = asyncio.Event()
    events: list[RunEvent] = []

    async def wait() -> None:
        inside.set()
        await asyncio.Event().wait()

    loop = Loop(llm=Scripted([js("wait()")]), store=store, capabilities=[capability("w", pack_of("wait", wait))])
    task = asyncio.create_task(loop.run(RunRequest("x"), on_event=events.append))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert types(events)[-1] == "done" and events[-1].content == "cancelled"
    run = await store.get_run(events[0].run_id)
    assert run is not None and run.status is Status.CANCELLED


async def test_leaving_a_stream_early_cancels_the_run() -> None:
    store = MemoryStore()
    loop = Loop(llm=Scripted([returns("1"), returns("2"), ANSWER]), store=store)
    run_id = ""
    stream = loop.stream(RunRequest("x"))
    async for event in stream:
        run_id = event.run_id
        if event.type == "execute_js":
            break
    await stream.aclose()  # type: ignore[attr-defined]
    run = await store.get_run(run_id)
    assert run is not None and run.status.terminal


async def test_a_stream_ends_with_done() -> None:
    loop = Loop(llm=Scripted([ANSWER]), store=MemoryStore())
    assert [event.type async for event in loop.stream(RunRequest("x"))][-1] == "done"


def test_run_sync_needs_no_event_loop() -> None:
    assert Loop(llm=Scripted([ANSWER]), store=MemoryStore()).run_sync(RunRequest("x")).final_text == "done"


async def test_closing_an_open_run_ends_it_once() -> None:
    events: list[RunEvent] = []
    loop = Loop(llm=Scripted([returns("1")]), store=MemoryStore())
    handle = await loop.open(RunRequest("x"), on_event=events.append)
    assert not (await handle.turn()).done
    await handle.close()
    await handle.close()
    assert handle.result is not None and handle.result.status is Status.CANCELLED
    assert types(events).count("done") == 1
    assert (await handle.turn()).done


async def test_a_store_that_breaks_mid_run_still_tells_the_end() -> None:
    class Breaking(MemoryStore):
        async def save_carry(self, session_id: str, carry: str | None) -> None:
            raise StoreError("disk full")

    result, events, _ = await play([returns("1"), ANSWER], store=Breaking())
    assert (result.status, result.reason) == (Status.ERROR, "store")
    assert events[-1].type == "done"


# Capabilities ---------------------------------------------------------------------------------------------


async def test_build_context_knows_its_run_and_user() -> None:
    seen: list[BuildContext] = []

    async def build(context: BuildContext) -> Sequence[Pack]:
        seen.append(context)
        return ()

    loop = {"capabilities": [Capability(name="c", description="", build=build)]}
    result, _, _ = await play([ANSWER], RunRequest("x", user_id="ann"), **loop)
    assert (seen[0].run_id, seen[0].session_id, seen[0].user_id) == (result.run_id, result.session_id, "ann")
    assert result.session_id


async def test_a_failing_build_warns_and_the_run_goes_on() -> None:
    async def build(context: BuildContext) -> Sequence[Pack]:
        raise OSError("no database")

    result, events, _ = await play([ANSWER], capabilities=[Capability(name="db", description="", build=build)])
    assert result.final_text == "done"
    assert any("no database" in event.content for event in events if event.type == "warning")


async def test_without_a_required_capability_there_is_no_run() -> None:
    async def build(context: BuildContext) -> Sequence[Pack]:
        raise StoreError("no database")

    capabilities = [Capability(name="db", description="", build=build, required=True)]
    result, events, llm = await play([ANSWER], capabilities=capabilities)
    assert (result.status, llm.requests) == (Status.ERROR, [])
    assert any("no database" in event.content for event in events if event.type == "error")


async def test_a_build_may_end_the_run() -> None:
    async def build(context: BuildContext) -> Sequence[Pack]:
        raise EndRun(Status.ERROR, "page_down", "https://x.test did not answer")

    result, events, llm = await play([ANSWER], capabilities=[Capability(name="b", description="", build=build)])
    assert (result.status, result.reason, llm.requests) == (Status.ERROR, "page_down", [])
    assert types(events)[-2:] == ["error", "done"]


async def test_only_enabled_and_always_on_capabilities_are_built() -> None:
    async def one() -> int:
        return 1

    capabilities = [
        capability("a", pack_of("a", one)),
        capability("b", pack_of("b", one)),
        capability("c", pack_of("c", one), always_on=True),
    ]
    probe = js("answer([typeof a, typeof b, typeof c].join())")
    result, _, _ = await play([probe], RunRequest("x", enabled=["b"]), capabilities=capabilities)
    assert result.final_text == "undefined,function,function"


async def test_a_pack_is_closed_once_whatever_happened() -> None:
    closed: list[int] = []

    async def aclose() -> None:
        closed.append(1)

    pack = Pack(name="p", description="", aclose=aclose)
    for replies in ([ANSWER], ["", "", ""], [js("while(true){}")]):
        closed.clear()
        await play(replies, capabilities=[capability("p", pack)], limits=RunLimits(wall_s=1.0))
        assert closed == [1], replies


def test_a_loop_takes_capabilities_or_a_builder() -> None:
    with pytest.raises(TypeError, match="not both"):
        Loop(llm=Scripted([]), store=MemoryStore(), capabilities=[capability("x")], sandbox_builder=object())  # type: ignore[arg-type]


# What the model sees ---------------------------------------------------------------------------------------


def observing(texts: Sequence[str | Exception]) -> Pack:
    shown = iter(texts)

    async def observe() -> Observation | None:
        text = next(shown)
        if isinstance(text, Exception):
            raise text
        return Observation(text=text)

    return Pack(name="page", description="", observe=observe)


async def test_an_observation_is_in_one_request_and_in_no_step() -> None:
    store = MemoryStore()
    pack = observing(["PAGE one", "PAGE two", "PAGE three"])
    result, events, llm = await play(
        [returns("1"), returns("2"), ANSWER], capabilities=[capability("p", pack)], store=store
    )
    assert ["PAGE one" in sent(llm, n) for n in range(3)] == [True, False, False]
    assert sent(llm).count("PAGE") == 1
    assert all("PAGE" not in step.content for step in await store.last_steps(result.session_id, 0))
    assert [event.content for event in events if event.type == "observation"] == ["PAGE one", "PAGE two", "PAGE three"]
    assert llm.requests[-1].messages[-1].role == "user" and "PAGE three" in llm.requests[-1].messages[-1].text


async def test_an_observation_that_fails_is_one_line() -> None:
    pack = observing([StoreError("lost"), "fine"])
    result, _, llm = await play([returns("1"), ANSWER], capabilities=[capability("p", pack)])
    assert result.status is Status.COMPLETED
    assert "page could not be looked at" in sent(llm, 0)


async def test_roles_alternate_whatever_happened() -> None:
    replies = [
        returns("1"),
        "",
        js("throw 1"),
        ModelReply(content="```js\nx", finish_reason="length"),
        returns("2"),
        ANSWER,
    ]
    _, _, llm = await play(replies, capabilities=[capability("p", observing(["PAGE"] * 9))])
    for request in llm.requests:
        roles = [message.role for message in request.messages]
        assert roles[0] == "system" and roles[-1] == "user"
        assert all(a != b for a, b in pairwise(roles)), roles


async def test_context_and_persona_are_in_the_system_prompt_only() -> None:
    result, events, llm = await play([ANSWER], RunRequest("x", context="House rule: be brief."))
    assert llm.requests[0].messages[0].text.endswith("House rule: be brief.")
    assert "House rule" not in sent(llm) and all("House rule" not in event.content for event in events)
    assert result.system_prompt == llm.requests[0].messages[0].text


async def test_declarations_of_packs_are_in_the_system_prompt() -> None:
    pack = Pack(name="p", description="", declarations="declare function zap(): void;")
    _, _, llm = await play([ANSWER], capabilities=[capability("p", pack)])
    assert "declare function zap(): void;" in llm.requests[0].messages[0].text
    assert "{functions}" not in llm.requests[0].messages[0].text


async def test_answer_text_streams_and_code_does_not() -> None:
    _, events, _ = await play([returns("1"), "It is seven, and that is all there is to say."])
    streamed = "".join(event.content for event in events if event.type == "response_chunk")
    assert streamed == "It is seven, and that is all there is to say."


# Asking, verifying, metering ----------------------------------------------------------------------------------


def asking(calls: list[Answer]) -> Capability:
    async def build(context: BuildContext) -> Sequence[Pack]:
        async def permit() -> Answer:
            assert context.ask is not None
            given: Answer = await context.ask("May I?", grant=Grant(kind="host", subject="a.test:443"))
            calls.append(given)
            return given

        return [pack_of("permit", permit)]

    return Capability(name="asking", description="", build=build)


async def test_an_approval_holds_for_the_session_and_a_refusal_for_the_run() -> None:
    store, asked, given = MemoryStore(), [], []  # type: ignore[var-annotated]

    def answer_with(answer: Answer) -> Any:
        async def on_ask(question: Question) -> Answer:
            stored = await store.get_question(question.id)
            assert stored is not None, "a question is a row before anybody sees it"
            asked.append(question.message)
            return answer

        return on_ask

    twice = [js("function run() { return [permit(), permit()] }"), ANSWER]
    request = RunRequest("x", session="s")
    loop = {"store": store, "capabilities": [asking(given)]}
    await play(twice, request, on_ask=answer_with(False), **loop)
    assert (given, len(asked)) == ([False, False], 1)
    await play(twice, request, on_ask=answer_with(True), **loop)
    assert (given[2:], len(asked)) == ([True, True], 2)
    await play(twice, request, on_ask=answer_with(False), **loop)
    assert (given[4:], len(asked)) == ([True, True], 2)


async def test_the_clock_stops_while_a_question_is_open() -> None:
    handles, events = list[RunHandle](), list[RunEvent]()

    async def on_ask(question: Question) -> Answer:
        clock = handles[0].context.clock
        before, began = clock.now(), time.monotonic()
        while time.monotonic() == began:
            pass
        assert clock.now() == before
        return True

    llm = Scripted([js("answer(String(permit()))")])
    loop = Loop(llm=llm, store=MemoryStore(), on_ask=on_ask, capabilities=[asking([])])
    async with await loop.open(RunRequest("do it"), on_event=events.append) as handle:
        handles.append(handle)
        result = await handle.run()
    assert (result.status, result.final_text) == (Status.COMPLETED, "true")
    assert types(events).count("ask") == types(events).count("ask_result") == 1


async def test_checks_run_while_the_packs_are_open_and_turn_the_status() -> None:
    open_packs: list[Pack] = []

    async def aclose() -> None:
        open_packs.clear()

    pack = Pack(name="p", description="", aclose=aclose)
    open_packs.append(pack)

    async def verify(handle: RunHandle) -> Sequence[Mapping[str, Any]]:
        assert open_packs and handle.final_text == "done"
        return [{"check": "title", "passed": True}, {"check": "url", "passed": False}]

    result, events, _ = await play([ANSWER], capabilities=[capability("p", pack)], verify=verify)
    assert (result.status, result.reason, result.final_text) == (Status.CHECK_FAILED, "url", "done")
    assert types(events)[-4:] == ["response", "check", "check", "done"]


async def test_what_packs_spend_on_the_model_counts_for_the_run() -> None:
    async def build(context: BuildContext) -> Sequence[Pack]:
        async def think() -> str:
            assert context.llm is not None
            return (await context.llm.complete(ModelRequest(messages=[]))).content

        return [pack_of("think", think)]

    replies = [
        ModelReply(content=js("answer(think())"), usage=Usage(prompt=10, completion=1)),
        ModelReply(content="aha", usage=Usage(prompt=5, completion=2)),
    ]
    result, _, _ = await play(replies, capabilities=[Capability(name="t", description="", build=build)])
    assert (result.final_text, result.tokens) == ("aha", Usage(prompt=15, completion=3))


# Foreign code that fails ------------------------------------------------------------------------------------------


class Lasting(MemoryStore):
    """Asks packs for their state, as a store on disk does."""

    durable = True


@pytest.mark.parametrize("part", ["observe", "receipts", "save", "aclose"])
async def test_a_pack_that_breaks_costs_a_line_and_never_the_run(part: str) -> None:
    async def breaks() -> Any:
        raise ValueError("the pack is broken")

    def breaks_at_once() -> Any:
        raise ValueError("the pack is broken")

    parts: dict[str, Any] = {part: breaks_at_once if part == "receipts" else breaks}
    pack = Pack(name="p", description="", **parts)
    store = Lasting()
    result, events, llm = await play([returns("1"), ANSWER], store=store, capabilities=[capability("p", pack)])
    assert (result.status, types(events).count("done")) == (Status.COMPLETED, 1)
    run = await store.get_run(result.run_id)
    assert run is not None and run.status is Status.COMPLETED
    told = sent(llm) + "".join(event.content for event in events)
    assert part == "aclose" or "the pack is broken" in told


@pytest.mark.parametrize("verdicts", [ValueError("no verdict"), [5], None])
async def test_a_judge_that_breaks_is_how_the_run_ended_and_the_answer_is_kept(verdicts: Any) -> None:
    async def verify(handle: RunHandle) -> Any:
        if isinstance(verdicts, Exception):
            raise verdicts
        return verdicts

    result, events, _ = await play([ANSWER], verify=verify)
    assert (result.status, result.reason, result.final_text) == (Status.ERROR, "internal", "done")
    assert types(events)[-3:] == ["response", "error", "done"] and "could not be judged" in events[-2].content


@pytest.mark.parametrize("broken", ["user", "execute_js_result", "done"])
async def test_a_listener_that_breaks_leaves_a_story_with_one_end(broken: str) -> None:
    def listen(event: RunEvent) -> None:
        if event.type == broken:
            raise ValueError("not listening")

    store = MemoryStore()
    loop = Loop(llm=Scripted([returns("1"), ANSWER]), store=store)
    if broken == "done":
        assert (await loop.run(RunRequest("x", session="s"), on_event=listen)).reason == "internal"
    else:
        with pytest.raises(ValueError, match="not listening"):
            await loop.run(RunRequest("x", session="s"), on_event=listen)
    run = await store.last_run("s")
    assert run is not None and run.status is (Status.COMPLETED if broken == "done" else Status.ERROR)
    assert [event.type for event in await store.events(run.run_id)].count("done") == 1


@pytest.mark.parametrize("broken", ["save_run", "set_session_status", "append_step"])
async def test_a_store_that_breaks_in_its_own_way_still_gives_the_run_an_end(broken: str) -> None:
    async def breaks(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("the store is broken")

    events: list[RunEvent] = []
    store = type("Broken", (MemoryStore,), {broken: breaks})()
    async with await Loop(llm=Scripted([ANSWER]), store=store).open(RunRequest("x"), on_event=events.append) as handle:
        try:
            await handle.run()
        except ZeroDivisionError:
            pass
        assert handle.result is not None and handle.result.reason == "internal"
    assert [event.type for event in events].count("done") == 1


async def test_a_run_taken_up_again_may_do_no_more_than_was_asked_for() -> None:
    store, seen = MemoryStore(), []

    async def build(context: BuildContext) -> Sequence[Pack]:
        seen.append(context)
        return ()

    asked = RunRequest(
        "x",
        session="s",
        allow=["https://a.test"],
        enabled=["c"],
        limits=RunLimits(iterations=3, wall_s=7),
        scope=Scope(project_id="p"),
        user_id="ann",
    )
    loop = Loop(
        llm=Scripted([returns("1"), ANSWER]),
        store=store,
        capabilities=[Capability(name="c", description="", build=build)],
    )
    first = await loop.open(asked)
    await first.turn()
    again = await loop.open("s")  # this process holds both: only the newer epoch may write
    assert (await again.run()).final_text == "done"
    before, after = seen
    for name in ("allow", "enabled", "scope", "user_id", "run_id", "start_url"):
        assert getattr(before, name) == getattr(after, name), name
    assert again.context.spending.limits == first.context.spending.limits
    await first.close()
    run = await store.last_run("s")
    assert run is not None and run.status is Status.COMPLETED, "the one that lost the run wrote nothing more"
