from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentloop.context.checkpoint import marker, newest_checkpoint
from agentloop.context.feedback import say
from agentloop.context.history import Entry, rehydrate
from agentloop.records import Step, StepType


def step(index: int, type: StepType, content: str, tool_args: Mapping[str, Any] | None = None) -> Step:
    return Step(session_id="s", run_id="r", type=type, content=content, index=index, tool_args=tool_args or {})


def turns(first: int, last: int) -> list[Step]:
    """User steps with their index as content."""
    return [step(index, "user", str(index)) for index in range(first, last + 1)]


def contents(steps: list[Step], window: int = 80) -> list[str]:
    return [entry.content for entry in rehydrate(steps, window=window)]


def test_a_checkpoint_stands_for_the_steps_before_its_mark() -> None:
    steps = [*turns(0, 9), step(10, "summary", "NOTES", marker(7)), *turns(11, 12)]
    assert contents(steps) == ["NOTES", "7", "8", "9", "11", "12"]
    assert rehydrate(steps)[0] == Entry("summary", "NOTES", "r")
    assert [entry.step for entry in rehydrate(steps)] == [10, 7, 8, 9, 11, 12]


def test_the_newest_checkpoint_counts_and_older_ones_are_not_told_again() -> None:
    steps = [*turns(0, 3), step(4, "summary", "OLD", marker(2)), *turns(5, 8), step(9, "summary", "NEW", marker(6))]
    assert contents(steps) == ["NEW", "6", "7", "8"]


MARKS: list[Any] = [0, -2, 99, "3", True, None, 2.5, [3], {}]


@pytest.mark.parametrize("tool_args", [{}, *({"retain_from_step": mark} for mark in MARKS)])
def test_a_mark_that_points_nowhere_is_passed_over_for_an_older_one(tool_args: Mapping[str, Any]) -> None:
    broken = step(6, "summary", "BROKEN", tool_args)
    assert newest_checkpoint([*turns(0, 5), broken]) is None
    assert contents([*turns(0, 5), broken]) == ["0", "1", "2", "3", "4", "5"]
    good = step(3, "summary", "GOOD", marker(2))
    assert contents([*turns(0, 2), good, *turns(4, 5), broken]) == ["GOOD", "2", "4", "5"]


def test_a_blank_summary_is_none() -> None:
    assert contents([*turns(0, 3), step(4, "summary", " \n", marker(2))]) == ["0", "1", "2", "3"]


def test_the_window_counts_what_the_summary_does_not_stand_for_and_a_gap_is_told() -> None:
    steps = [*turns(0, 9), step(10, "summary", "NOTES", marker(7)), *turns(11, 20)]
    assert contents(steps, window=3) == [f"NOTES\n\n{say('earlier_left_out')}", "18", "19", "20"]
    assert contents(steps, window=13)[0] == "NOTES"


def test_a_mark_at_the_end_keeps_only_what_came_later() -> None:
    assert contents([*turns(0, 5), step(6, "summary", "ALL", marker(6)), *turns(7, 7)]) == ["ALL", "7"]


def test_a_result_whose_script_is_in_the_summary_is_not_told() -> None:
    steps = [step(0, "user", "u"), step(1, "execute_js", "a()"), step(2, "execute_js_result", "b")]
    assert contents([*steps, step(3, "summary", "NOTES", marker(2))]) == ["NOTES"]
