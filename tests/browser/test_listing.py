"""Which mark took the place of a lost one, and which marks are meant: pure questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentloop.browser.base import Mark
from agentloop.browser.listing import ScrollState, same_words, select_marks, twin

DELETE = Mark(id=2, tag="button", role="button", name="Delete", x=50, y=60, w=40, h=20, context="b")
OTHER = replace(DELETE, id=7, y=0, context="a")
SAME = replace(DELETE, id=8, y=0)
AWAY = replace(DELETE, id=9, y=200)


@pytest.mark.parametrize(
    ("alone", "fresh", "found"),
    [
        (True, [SAME], SAME),
        (True, [OTHER], OTHER),
        (True, [], None),
        (True, [replace(SAME, name="Remove")], None),
        (True, [replace(SAME, role="link")], None),
        (True, [OTHER, SAME], SAME),
        (False, [OTHER], None),
        (False, [OTHER, SAME], SAME),
        (False, [SAME, AWAY], None),
        (False, [AWAY, replace(DELETE, id=10, y=61)], replace(DELETE, id=10, y=61)),
        (False, [replace(DELETE, id=10), replace(DELETE, id=11)], None),
    ],
)
def test_a_twin_is_taken_only_when_there_is_no_doubt(alone: bool, fresh: list[Mark], found: Mark | None) -> None:
    assert twin(DELETE, alone=alone, fresh=fresh) == found


def test_without_any_text_beside_only_the_one_that_did_not_move_is_taken() -> None:
    bare = replace(DELETE, context="")
    assert twin(bare, alone=False, fresh=[replace(bare, id=5, y=120)]) is None
    assert twin(bare, alone=False, fresh=[replace(bare, id=5)]) == replace(bare, id=5)


def test_figures_do_not_count_as_words() -> None:
    assert same_words("Like (3)", "Like (42)")
    assert not same_words("Follow", "Following")


def test_marks_are_chosen_by_role_name_place_and_number() -> None:
    link = Mark(id=3, tag="a", role="link", name="", hint="Shopping  cart", x=1, y=1, w=1, h=1)
    marks = (DELETE, link, OTHER)
    assert select_marks(marks) == marks
    assert select_marks(marks, role="link") == (link,)
    assert select_marks(marks, name="shopping CART") == (link,)
    assert select_marks(marks, inside=frozenset({7})) == (OTHER,)
    assert select_marks(marks, name="delete", limit=1) == (DELETE,)


def test_scroll_tells_what_lies_above_and_below() -> None:
    scroll = ScrollState(y=100, height=2000, view_height=720)
    assert (scroll.above, scroll.below) == (100, 1180)
    assert ScrollState(y=-5, height=700, view_height=720).below == 0
