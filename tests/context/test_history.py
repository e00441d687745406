from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.context.feedback import say
from agentloop.context.history import Entry, EntryKind, outgoing, rehydrate
from agentloop.context.progress import ProgressGuard
from agentloop.llm.base import Image, Message, Text
from agentloop.records import Step, StepType

EXAMPLES = (Message("user", "worked task"), Message("assistant", "worked script"))


def step(type: StepType, content: str, run_id: str = "r1") -> Step:
    return Step(session_id="s", run_id=run_id, type=type, content=content)


def entry(kind: EntryKind, content: str, run_id: str = "r1") -> Entry:
    return Entry(kind, content, run_id)


def run(turns: int, run_id: str = "r1") -> list[Entry]:
    entries = [entry("user", f"task of {run_id}", run_id)]
    for turn in range(turns):
        entries += [entry("script", f"{run_id}.step{turn}()", run_id), entry("result", f"{run_id} got {turn}", run_id)]
    return entries


def sent(entries: list[Entry], *, keep: int = 1, tail: str = "", drop: frozenset[int] = frozenset()) -> list[Message]:
    return outgoing(entries, run_id="r1", keep_scripts=keep, system="SYSTEM", examples=EXAMPLES, tail=tail, drop=drop)


def all_text(messages: list[Message]) -> str:
    return "\n".join(message.text for message in messages)


# Rehydration ---------------------------------------------------------------------------------------


def test_steps_become_entries_and_errors_and_summaries_do_not() -> None:
    steps = [
        step("user", "task"),
        step("execute_js", "go()"),
        step("execute_js_result", "went"),
        step("error", "broken"),
        step("summary", "before"),
        step("response", "done"),
    ]
    assert rehydrate(steps) == (
        entry("user", "task"),
        entry("script", "go()"),
        entry("result", "went"),
        entry("answer", "done"),
    )


def test_the_window_counts_steps_and_drops_an_orphan_result() -> None:
    steps = [step("user", "task"), step("execute_js", "go()"), step("execute_js_result", "went"), step("user", "more")]
    assert rehydrate(steps, window=2) == (entry("user", "more"),)
    assert rehydrate(steps, window=3)[0] == entry("script", "go()")
    assert len(rehydrate([step("user", str(n)) for n in range(100)])) == 80
    assert len(rehydrate([step("user", str(n)) for n in range(100)], window=0)) == 80


def test_a_script_without_a_result_is_told_to_be_interrupted() -> None:
    interrupted = entry("result", say("interrupted"))
    assert rehydrate([step("execute_js", "go()")])[-1] == interrupted
    assert rehydrate([step("execute_js", "go()"), step("user", "again", "r2")])[1:] == (
        interrupted,
        entry("user", "again", "r2"),
    )
    assert rehydrate([step("execute_js", "a()"), step("execute_js", "b()")])[1::2] == (interrupted, interrupted)


def test_a_script_that_answered_was_not_interrupted() -> None:
    assert say("interrupted") not in [e.content for e in rehydrate([step("execute_js", "a()"), step("response", "x")])]


@given(st.lists(st.sampled_from(get_args(StepType))), st.integers(min_value=-1, max_value=12))
def test_every_script_has_its_result_and_every_result_its_script(types: list[StepType], window: int) -> None:
    kinds = [e.kind for e in rehydrate([step(type, "x") for type in types], window=window)]
    for at, kind in enumerate(kinds):
        assert (kind == "script") == (kinds[at + 1 : at + 2] == ["result"])
    assert kinds[:1] != ["result"]


# What is sent --------------------------------------------------------------------------------------


def test_a_first_call_is_system_worked_pair_task_and_tail() -> None:
    assert sent(run(0), tail="PAGE NOW") == [
        Message("system", "SYSTEM"),
        *EXAMPLES,
        Message("user", "task of r1\n\nPAGE NOW"),
    ]


def test_older_scripts_of_this_run_are_one_line_and_their_results_stay() -> None:
    messages = sent(run(4), keep=2, tail="PAGE NOW")
    assert [message.role for message in messages[3:]] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[3].text == "\n\n".join(
        [
            "task of r1",
            "Result of your script:\nr1 got 0",
            "Result of your script:\nr1 got 1",
            say("scripts_left_out", count=2),
        ]
    )
    assert messages[4].text == "```javascript\nr1.step2()\n```"
    assert messages[-1].text == "Result of your script:\nr1 got 3\n\nPAGE NOW"


def test_the_line_for_left_out_scripts_does_not_look_like_a_script() -> None:
    line = say("scripts_left_out", count=2)
    assert "run(" not in line and "`" not in line and "{" not in line


def test_scripts_and_answers_of_earlier_runs_stay() -> None:
    entries = [*run(3, "r0"), entry("answer", "the first answer", "r0"), *run(3)]
    text = all_text(sent(entries))
    assert all(f"r0.step{n}()" in text for n in range(3))
    assert "the first answer" in text and "r1.step1()" not in text and "r1.step2()" in text


def test_what_was_sent_stays_the_prefix_of_what_is_sent_next() -> None:
    before, after = all_text(sent(run(6), keep=2)), all_text(sent(run(7), keep=2))
    shared = before[: before.index(say("scripts_left_out", count=4))]
    assert "r1 got 3" in shared and after.startswith(shared)


def test_dropped_scripts_are_not_sent_and_a_repeated_result_is_sent_once() -> None:
    entries, guard = run(1), ProgressGuard()
    for _ in range(3):
        guard.feed("again()", position=len(entries))
        entries += [entry("script", "again()"), entry("result", "nothing new")]
    messages = sent(entries, keep=3, tail="PAGE NOW", drop=guard.dropped)
    assert "again()" not in all_text(messages)
    assert all_text(messages).count("nothing new") == 1
    assert "r1.step0()" in all_text(messages)
    assert say("scripts_left_out", count=3) in messages[-1].text and messages[-1].text.endswith("PAGE NOW")


def test_a_history_cut_before_a_script_begins_with_a_user_line() -> None:
    messages = sent([entry("script", "a()", "r0"), entry("result", "b", "r0"), entry("user", "task")])
    assert messages[3] == Message("user", say("earlier_left_out"))
    assert messages[4].role == "assistant"


def test_a_script_with_fences_of_its_own_is_fenced_longer() -> None:
    script = "answer(`\n```js\nx\n```\n`)"
    assert sent([entry("user", "t"), entry("script", script)])[-1].text == f"````javascript\n{script}\n````"


def test_feedback_to_a_reply_without_a_script_bears_no_label() -> None:
    nudged = [*run(1), entry("result", say("empty"))]
    assert sent(nudged)[-1].text == f"Result of your script:\nr1 got 0\n\n{say('empty')}"


def test_pictures_survive_merging() -> None:
    picture = Message("user", (Text("look"), Image(b"png")))
    messages = outgoing(run(0), run_id="r1", keep_scripts=1, system="S", examples=[picture], tail="now")
    assert messages[1:] == [Message("user", (Text("look"), Image(b"png"), Text("task of r1"), Text("now")))]


@pytest.mark.parametrize("keep", [0, -3])
def test_one_script_is_always_kept(keep: int) -> None:
    assert "r1.step2()" in all_text(sent(run(3), keep=keep))


RUNS = st.lists(st.tuples(st.sampled_from(["r0", "r1", "r2"]), st.integers(0, 5), st.booleans()), max_size=5)


def history(runs: list[tuple[str, int, bool]]) -> list[Entry]:
    entries: list[Entry] = []
    for run_id, turns, answered in [*runs, ("r1", 4, False)]:
        entries += run(turns, run_id)
        entries += [entry("answer", f"answer of {run_id}", run_id)] if answered else []
    return entries


@given(RUNS, st.integers(1, 6), st.sampled_from(["", "PAGE NOW"]))
def test_of_a_whole_history_nothing_that_matters_is_lost(
    runs: list[tuple[str, int, bool]], keep: int, tail: str
) -> None:
    entries = history(runs)
    messages = sent(entries, keep=keep, tail=tail)
    text = all_text(messages)
    assert all(e.content in text for e in entries if e.kind != "script")
    assert all(e.content in text for e in entries if e.kind == "script" and e.run_id != "r1")
    assert [m.role for m in messages[-2:]] == ["assistant", "user"]
    assert messages[-2].text.endswith("```javascript\nr1.step3()\n```")
    assert "r1 got 3" in messages[-1].text and messages[-1].text.endswith(tail)
    assert text.count("scripts of yours left out") <= 1


@given(
    st.lists(st.builds(Entry, st.sampled_from(get_args(EntryKind)), st.text(), st.sampled_from(["r0", "r1"]))),
    st.integers(1, 4),
    st.frozensets(st.integers(0, 20)),
    st.sampled_from(["", "PAGE NOW"]),
)
def test_roles_alternate_whatever_came_before(entries: list[Entry], keep: int, drop: frozenset[int], tail: str) -> None:
    roles = [message.role for message in sent(entries, keep=keep, drop=drop, tail=tail)]
    assert roles[:3] == ["system", "user", "assistant"]
    assert all(first != second for first, second in pairwise(roles))
