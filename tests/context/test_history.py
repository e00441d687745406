from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from agentloop.context.feedback import say
from agentloop.context.history import Entry, EntryKind, rehydrate
from agentloop.records import Step, StepType


def step(type: StepType, content: str, run_id: str = "r1") -> Step:
    return Step(session_id="s", run_id=run_id, type=type, content=content)


def entry(kind: EntryKind, content: str, run_id: str = "r1") -> Entry:
    return Entry(kind, content, run_id)


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
