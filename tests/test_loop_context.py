"""What a loop sends when a session grows long: summaries, windows, budgets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest

from agentloop import Loop, LoopSettings, MemoryStore, RunEvent, RunLimits, RunRequest, RunResult, Scripted, Status
from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import Compaction, SummarizingCompactor, compact_prompt, merge_prompt
from agentloop.context.feedback import say
from agentloop.context.history import LOOK_BACK, Entry
from agentloop.context.profile import Profile
from agentloop.context.prompt import Prompt
from agentloop.context.tokens import estimate_tokens, message_tokens
from agentloop.llm import OpenAI
from agentloop.llm.base import LLM, Message, ModelReply, ModelRequest
from agentloop.llm.scripted import rough_tokens
from agentloop.records import Prices, RunRecord, Session, Step, StepType, Usage
from agentloop.run.conversation import Conversation
from agentloop.testing.llm_server import Received, llm_server
from benchmarks.transcript import kept, measure, transcript

ANSWER = '```javascript\nanswer("done")\n```'


def logs(text: str) -> str:
    return f"```javascript\nfunction run(args) {{ log({text}); }}\n```"


def is_summary_call(request: ModelRequest) -> bool:
    return request.messages[0].text[:60] in (compact_prompt()[:60], merge_prompt()[:60])


def sent(request: ModelRequest) -> str:
    """All text of one request but its system prompt."""
    return "\n".join(message.text for message in request.messages[1:])


async def grown(store: MemoryStore, *, turns: int, session: str = "s", chars: int = 0) -> None:
    """A finished run in the store: one request, scripts with results that each hold a fact, an answer."""
    await store.create_session(Session(session_id=session))
    await store.create_run(RunRecord(run_id="r0", session_id=session, status=Status.COMPLETED))
    steps: list[tuple[StepType, str]] = [("user", "the first request")]
    for turn in range(turns):
        steps.append(("execute_js", f"step{turn}()"))
        steps.append(("execute_js_result", f"fact-{turn}. {'lorem ipsum ' * (chars // 12)}"))
    for type, content in [*steps, ("response", "the first answer")]:
        await store.append_step(Step(session_id=session, run_id="r0", type=type, content=content))


async def play(store: MemoryStore, llm: LLM, message: str = "go on", **loop: Any) -> tuple[RunResult, list[RunEvent]]:
    events: list[RunEvent] = []
    result = await Loop(llm=llm, store=store, **loop).run(RunRequest(message, session="s"), on_event=events.append)
    return result, events


def of_type(events: Sequence[RunEvent], type: str) -> list[RunEvent]:
    return [event for event in events if event.type == type]


SUMMARY = ModelReply(content="Lamps cost 12.", usage=Usage(prompt=900, completion=30))
DONE = ModelReply(content=ANSWER, usage=Usage(prompt=100, completion=5))


# Summaries ------------------------------------------------------------------------------------------


async def test_earlier_runs_are_summed_up_and_the_request_is_sent_as_it_is() -> None:
    store, llm = MemoryStore(), Scripted([SUMMARY, DONE])
    await grown(store, turns=35)
    result, events = await play(store, llm, compactor=SummarizingCompactor())
    assert result.status is Status.COMPLETED
    assert "go on" not in sent(llm.requests[0]) and "fact-0." in sent(llm.requests[0])
    turn = sent(llm.requests[1])
    assert "Lamps cost 12." in turn and "fact-0." not in turn and "fact-34." in turn and turn.endswith("go on")
    (compacted,) = of_type(events, "compacted")
    assert (compacted.args["messages_before"], compacted.args["messages_after"]) == (72, 22)
    assert compacted.args["persisted"] is True
    assert compacted.tokens == {"prompt": 900, "completion": 30}
    assert result.tokens == Usage(prompt=1000, completion=35)


async def test_the_summary_is_a_step_and_a_second_run_starts_from_it() -> None:
    store = MemoryStore()
    await grown(store, turns=35)
    await play(store, Scripted([SUMMARY, logs('"second run"'), ANSWER]), compactor=SummarizingCompactor())
    steps = await store.last_steps("s", 0)
    (checkpoint,) = [step for step in steps if step.type == "summary"]
    retained = steps[checkpoint.tool_args["retain_from_step"]]
    assert (retained.type, steps[checkpoint.index - 1].content) == ("execute_js", "go on")
    again = Scripted([ANSWER])
    _, events = await play(store, again, "and now?", compactor=SummarizingCompactor())
    prompt = sent(again.requests[0])
    assert prompt.startswith(checkpoint.content) and "fact-0." not in prompt
    assert all(text in prompt for text in (retained.content, "fact-34.", "go on", "second run"))
    assert prompt.endswith("and now?") and of_type(events, "compacted") == []


async def test_without_a_compactor_the_window_counts_from_the_checkpoint_on() -> None:
    store, llm = MemoryStore(), Scripted([SUMMARY, ANSWER])
    await grown(store, turns=50)
    await play(store, llm, compactor=SummarizingCompactor())
    plain = Scripted([ANSWER])
    await play(store, plain)
    assert "Lamps cost 12." in sent(plain.requests[0]) and say("earlier_left_out") not in sent(plain.requests[0])
    small = Scripted([ANSWER])
    await play(store, small, history_window=4)
    left_out = re.escape(say("earlier_left_out"))
    assert re.search(rf"Lamps cost 12\.\n\[end of notes \w{{8}}\]\n\n{left_out}", sent(small.requests[0]))


@pytest.mark.parametrize("compactor", [None, SummarizingCompactor()])
async def test_a_checkpoint_is_found_however_many_steps_came_after_it(compactor: SummarizingCompactor | None) -> None:
    store = MemoryStore()
    await grown(store, turns=35)
    await play(store, Scripted([SUMMARY, ANSWER]), compactor=SummarizingCompactor())
    for n in range(700):
        await store.append_step(Step(session_id="s", run_id="r9", type="error", content=f"error {n}"))
    llm = Scripted([ANSWER])
    await play(store, llm, compactor=compactor)
    assert sent(llm.requests[0]).count("Lamps cost 12.") == 1
    assert ("fact-34." in sent(llm.requests[0])) == (compactor is not None)
    assert (say("earlier_left_out") in sent(llm.requests[0])) == (compactor is None)


async def test_a_long_run_s_own_steps_are_all_in_the_next_summary() -> None:
    store = MemoryStore()
    await grown(store, turns=35)
    await play(store, Scripted([SUMMARY, ANSWER]), compactor=SummarizingCompactor())
    for n in range(300):
        await store.append_step(Step(session_id="s", run_id="r9", type="user", content=f"remark {n};"))
    llm = Scripted([SUMMARY, ANSWER])
    await play(store, llm, compactor=SummarizingCompactor())
    asked = sent(llm.requests[0])
    assert "Lamps cost 12." in asked and all(f"remark {n};" in asked for n in range(280))


@pytest.mark.parametrize("compactor", [None, SummarizingCompactor()])
async def test_what_is_read_back_does_not_grow_with_the_session(compactor: SummarizingCompactor | None) -> None:
    asked: list[int] = []

    class Counting(MemoryStore):
        async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
            asked.append(n)
            return await super().last_steps(session_id, n)

    store = Counting()
    await grown(store, turns=2500)
    await play(store, Scripted([SUMMARY, ANSWER]), compactor=compactor)
    assert asked == [80]
    await store.append_step(
        Step(session_id="s", run_id="r0", type="summary", content="OLD", tool_args={"retain_from_step": 3})
    )
    await play(store, Scripted([SUMMARY, ANSWER]), compactor=compactor)
    assert asked[1:] == ([80] if compactor is None else [80, LOOK_BACK])


async def test_a_summary_that_fails_is_a_warning_and_the_full_history_is_sent() -> None:
    store = MemoryStore()
    await grown(store, turns=35, chars=2000)
    compactor = SummarizingCompactor(budget=ContextBudget(4096))
    replies = [SUMMARY, SUMMARY, ModelReply(content="", usage=Usage(prompt=7)), DONE]
    llm = Scripted(replies)
    result, events = await play(store, llm, compactor=compactor)
    assert result.status is Status.COMPLETED
    (warning,) = [event for event in of_type(events, "warning") if event.args.get("reason") == "compaction"]
    assert "no summary" in warning.content
    assert "fact-0." in sent(llm.requests[-1]) and "Lamps" not in sent(llm.requests[-1])
    assert result.tokens.prompt == 900 + 900 + 7 + 100


@dataclass(frozen=True)
class Own:
    """A compactor that gives what it was told to."""

    done: Compaction | Exception
    llm: LLM | None = None

    async def compact(self, entries: Sequence[Entry], *, llm: LLM, model: str = "") -> Compaction:
        if self.llm is not None:
            await llm.complete(ModelRequest(messages=[Message("user", f"model {model!r}")], model=model))
        if isinstance(self.done, Exception):
            raise self.done
        return replace(self.done, entries=(*self.done.entries, *entries[self.done.retained_from :]))


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (Compaction(entries=(), retained_from=1000), "nothing"),
        (RuntimeError("my bug"), "RuntimeError: my bug"),
    ],
)
async def test_whatever_a_compactor_does_the_run_goes_on(done: Compaction | Exception, words: str) -> None:
    store, llm = MemoryStore(), Scripted([ANSWER])
    await grown(store, turns=3)
    result, events = await play(store, llm, compactor=Own(done))
    assert result.status is Status.COMPLETED and "fact-0." in sent(llm.requests[0])
    assert [words in event.content for event in of_type(events, "warning")] == [True]


async def test_a_compaction_without_a_summary_holds_for_one_run() -> None:
    store, llm = MemoryStore(), Scripted([ANSWER])
    await grown(store, turns=3)
    _, events = await play(store, llm, compactor=Own(Compaction(entries=(), retained_from=5)))
    (compacted,) = of_type(events, "compacted")
    assert compacted.args == {"messages_before": 8, "messages_after": 3, "persisted": False}
    assert "fact-0." not in sent(llm.requests[0]) and "fact-2." in sent(llm.requests[0])
    assert all(step.type != "summary" for step in await store.last_steps("s", 0))


@pytest.mark.parametrize("retained", [0, 8, 9])
async def test_a_summary_is_kept_only_where_it_stands_for_something(retained: int) -> None:
    store = MemoryStore()
    await grown(store, turns=3)
    first = Entry("summary", "NOTES", "r0")
    done = Compaction(entries=(first,), summary="NOTES", retained_from=retained)
    await play(store, Scripted([ANSWER]), compactor=Own(done))
    marks = [step.tool_args["retain_from_step"] for step in await store.last_steps("s", 0) if step.type == "summary"]
    assert marks == {0: [], 8: [8], 9: []}[retained]


async def test_a_compactor_s_own_client_counts_for_the_run_and_has_its_own_model() -> None:
    store, own = MemoryStore(), Scripted([ModelReply(content="ok", usage=Usage(prompt=40, completion=2))])
    await grown(store, turns=3)
    compactor = Own(Compaction(entries=(), retained_from=5), llm=own)
    result, _ = await play(store, Scripted([DONE]), compactor=compactor, model="large")
    assert sent(replace(own.requests[0], messages=[own.requests[0].messages[0]] * 2)) == "model ''"
    assert result.tokens == Usage(prompt=140, completion=7)


async def test_the_run_s_model_sums_up_where_no_other_is_given() -> None:
    store, llm = MemoryStore(), Scripted([SUMMARY, ANSWER])
    await grown(store, turns=35)
    await play(store, llm, compactor=SummarizingCompactor(), model="large")
    assert [request.model for request in llm.requests] == ["large", "large"]


async def test_a_budget_spent_on_summaries_ends_the_run() -> None:
    store = MemoryStore()
    await grown(store, turns=35, chars=2000)
    settings = LoopSettings(
        limits=RunLimits(prompt_tokens=1000, prices=Prices(prompt=1)),
        compactor=SummarizingCompactor(budget=ContextBudget(4096)),
    )
    result, events = await play(store, Scripted([SUMMARY] * 9), settings=settings)
    assert (result.status, result.reason) == (Status.BUDGET, "prompt_tokens")
    assert result.tokens.prompt == 1800 and of_type(events, "warning") == []


def test_a_resumed_run_keeps_its_request_and_its_own_steps_out_of_the_summary() -> None:
    steps = [
        Step(session_id="s", run_id="r1", type="execute_js", content="a()", index=90),
        Step(session_id="s", run_id="r1", type="execute_js_result", content="b", index=91),
    ]
    said = Conversation(steps, run_id="r1", window=80, request="THE REQUEST")
    assert said.earlier == ()
    messages = said.draft(Prompt(system="S"), system="S", tail="").messages()
    assert [message.text[:11] for message in messages[1:2]] == ["THE REQUEST"]
    said.replace_earlier([Entry("summary", "NOTES", "r0")])
    assert said.draft(Prompt(system="S"), system="S", tail="").messages()[1].text == "NOTES\n\nTHE REQUEST"


def test_a_resumed_run_that_made_the_summary_itself_knows_what_is_its_own() -> None:
    mark = {"retain_from_step": 3}
    steps = [
        Step(session_id="s", run_id="r0", type="user", content="an older request", index=3),
        Step(session_id="s", run_id="r0", type="response", content="an older answer", index=4),
        Step(session_id="s", run_id="r1", type="summary", content="NOTES", index=6, tool_args=mark),
        Step(session_id="s", run_id="r1", type="execute_js", content="a()", index=7),
    ]
    said = Conversation(steps, run_id="r1", window=80, request="THE REQUEST")
    assert [entry.content for entry in said.earlier] == ["NOTES", "an older request", "an older answer"]
    texts = [message.text for message in said.draft(Prompt(system="S"), system="S", tail="").messages()]
    assert "THE REQUEST" in texts[3] and texts[4].startswith("```javascript")


# The budget -----------------------------------------------------------------------------------------


def estimated(request: ModelRequest) -> int:
    return sum(message_tokens(message, estimate_tokens) for message in request.messages)


async def test_each_call_is_trimmed_to_the_allowance_and_says_so() -> None:
    store = MemoryStore()
    llm = Scripted([*(logs(f'"turn {n} ".repeat(400)') for n in range(12)), ANSWER])
    budget = ContextBudget(8192)
    result, events = await play(store, llm, "THE REQUEST", context_budget=budget)
    assert result.status is Status.COMPLETED
    assert max(map(estimated, llm.requests)) <= budget.allowance
    assert {request.max_tokens for request in llm.requests} == {1024}
    trims = of_type(events, "budget_trimmed")
    assert trims and all(event.args["messages_dropped"] > 0 for event in trims)
    assert all(event.args["estimated_tokens"] <= event.args["allowance"] == 7168 for event in trims)
    for number, request in enumerate(llm.requests[1:]):
        assert "THE REQUEST" in sent(request)
        assert f"turn {number} " in request.messages[-1].text and f"turn {number} " in request.messages[-2].text
        assert all(first.role != second.role for first, second in pairwise(request.messages))
    assert of_type(events, "warning") == []


async def test_a_prompt_that_cannot_fit_is_sent_with_a_warning() -> None:
    llm = Scripted([ANSWER])
    result, events = await play(MemoryStore(), llm, context_budget=ContextBudget(600))
    assert result.status is Status.COMPLETED and len(llm.requests) == 1
    (warning,) = of_type(events, "warning")
    assert "context budget" in warning.content and warning.args["allowance"] == 300


async def test_without_a_budget_nothing_is_capped_or_left_out() -> None:
    llm = Scripted([*(logs(f'"turn {n} ".repeat(400)') for n in range(10)), ANSWER])
    _, events = await play(MemoryStore(), llm)
    assert {request.max_tokens for request in llm.requests} == {None}
    assert all(f"turn {n} " in sent(llm.requests[-1]) for n in range(10))
    assert of_type(events, "budget_trimmed") == []


async def test_the_reserve_is_sent_and_the_estimator_is_the_given_one() -> None:
    counted: list[str] = []

    def estimate(text: str) -> int:
        counted.append(text)
        return rough_tokens(text)

    llm = Scripted([logs("1"), logs("2"), ANSWER])
    await play(MemoryStore(), llm, context_budget=ContextBudget(8192, reserve=1500, estimate=estimate))
    assert {request.max_tokens for request in llm.requests} == {1500}
    assert "go on" in counted and len(counted) == len(set(counted)), "each text is counted once a run"


def test_settings_replace_compactor_and_budget() -> None:
    for extra in ({"compactor": SummarizingCompactor()}, {"context_budget": ContextBudget(4096)}):
        with pytest.raises(TypeError, match="settings"):
            Loop(llm=Scripted([]), store=MemoryStore(), settings=LoopSettings(), **extra)


# On the wire ----------------------------------------------------------------------------------------


def on_the_wire(received: Received) -> int:
    messages = [Message(message["role"], message["content"]) for message in received.body["messages"]]
    return sum(message_tokens(message, estimate_tokens) for message in messages)


async def test_a_long_session_in_a_window_of_8192_stays_within_it_and_is_answered() -> None:
    window = 8192
    listing = '- [12] link "Glass lamp" · 143 EUR · [13] button "Add to cart"\\n'

    def reply(body: Any) -> str:
        if body["messages"][0]["content"].startswith(compact_prompt()[:60]):
            return "The person wants the cheapest lamp. Glass lamp: 143 EUR."
        turns_seen = body["messages"][-1]["content"]
        return ANSWER if "page 14" in turns_seen else logs(f"\"page {len(seen)}\\n\" + '{listing}'.repeat(20)")

    seen: list[Any] = []

    def counted(body: Any) -> str:
        is_turn = not body["messages"][0]["content"].startswith((compact_prompt()[:60], merge_prompt()[:60]))
        seen.extend([body] if is_turn else [])
        return reply(body)

    store = MemoryStore()
    settings = Profile.for_window(window).apply(LoopSettings(compactor=SummarizingCompactor()))
    results, summaries = [], 0
    async with (
        llm_server([counted] * 200) as server,
        OpenAI(base_url=server.base_url, model="tiny", api_key="k") as llm,
    ):
        for n in range(4):
            seen.clear()
            result, events = await play(store, llm, f"request {n}: find the lamp", settings=settings)
            results.append(result.status)
            summaries += len(of_type(events, "compacted"))
            assert f"request {n}" in "".join(message["content"] for message in seen[-1]["messages"])
    assert results == [Status.COMPLETED] * 4 and summaries >= 2
    assert len(server.requests) > 50
    assert max(map(on_the_wire, server.requests)) <= 7168 < window - 1023
    assert {received.body["max_tokens"] for received in server.requests} == {1024}


# The benchmark's claims -----------------------------------------------------------------------------


@pytest.mark.parametrize("window", [131_072, 4_096])
async def test_a_transcript_of_242_kb_costs_what_the_benchmark_says(window: int) -> None:
    assert sum(len(content.encode()) for _, content in transcript()) == 242_000
    measured = await measure(window)
    assert kept(measured), measured
