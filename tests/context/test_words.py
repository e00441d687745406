from __future__ import annotations

import pytest

from agentloop.context.words import fill, sections
from agentloop.errors import InvalidInput


def test_sections_are_read_by_heading() -> None:
    texts = sections("feedback.md")
    assert texts["result_label"] == "Result of your script:"
    assert not any(text.startswith("\n") or text.endswith("\n") for text in texts.values())


def test_values_are_filled_in_once_and_code_is_left_alone() -> None:
    assert fill("{a} {b}: run(args) { return {x: 1}; } {}", a="{b}", b=2) == "{b} 2: run(args) { return {x: 1}; } {}"


@pytest.mark.parametrize("values", [{}, {"count": 1, "more": 2}])
def test_a_missing_or_homeless_value_is_an_error(values: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="count"):
        fill("left: {count}", **values)
