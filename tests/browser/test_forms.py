"""The forms in which scripts write calls."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop.browser.forms import Arguments
from agentloop.errors import InvalidInput


@pytest.mark.parametrize(
    ("values", "after", "target", "rest"),
    [
        (["Add", 9], 0, ("Add", 9), []),
        ([9, "Add"], 0, ("Add", 9), []),
        ([9], 0, 9, []),
        (["#css"], 0, "#css", []),
        ([{"x": 1, "y": 2}], 0, {"x": 1, "y": 2}, []),
        ([["Add", 9]], 0, ("Add", 9), []),
        (["Name", 6, "Ann"], 1, ("Name", 6), ["Ann"]),
        ([6, "Name", "Ann"], 1, ("Name", 6), ["Ann"]),
        ([6, "Ann"], 1, 6, ["Ann"]),
        (["#q", "Ann"], 1, "#q", ["Ann"]),
        (["#q", 3], 1, "#q", [3]),
        (["", 6, "Ann"], 1, 6, ["Ann"]),
        ([{"id": 6, "name": "Name"}, "Ann"], 1, {"id": 6, "name": "Name"}, ["Ann"]),
    ],
)
def test_a_target_is_taken_off_the_front(values: list[Any], after: int, target: Any, rest: list[Any]) -> None:
    arguments = Arguments("type", values)
    assert arguments.target(after=after) == target
    assert arguments.rest() == rest


def test_two_targets_follow_each_other() -> None:
    for values, pair in (([3, 5], [3, 5]), (["A", 3, "B", 5], [("A", 3), ("B", 5)]), (["#a", "#b"], ["#a", "#b"])):
        arguments = Arguments("drag", values)
        assert [arguments.target(after=1), arguments.target()] == pair


def test_options_are_taken_off_the_end_but_no_target() -> None:
    arguments = Arguments("type", [6, "Ann", {"submit": True}])
    assert arguments.options() == {"submit": True}
    assert len(arguments) == 2
    assert Arguments("click", [{"x": 1, "y": 2}]).options() == {}
    assert Arguments("click", [{"id": 4}]).options() == {}


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InvalidInput, match="click: a target is required"):
        Arguments("click", []).target()
    with pytest.raises(InvalidInput, match="goto: url is required"):
        Arguments("goto", []).words("url")
    with pytest.raises(InvalidInput, match="goto: url is required"):
        Arguments("goto", [None]).words("url")
    with pytest.raises(InvalidInput, match="text is a text"):
        Arguments("type", [["a"]]).words("text")
    with pytest.raises(InvalidInput, match="ms is a number"):
        Arguments("sleep", ["soon"]).number("ms")


def test_numbers_given_as_text_are_written_plainly() -> None:
    assert [Arguments("type", [value]).words("text") for value in (3, 2.5, 1e6)] == ["3", "2.5", "1000000"]
