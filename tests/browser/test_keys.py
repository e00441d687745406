"""What models write for keys."""

from __future__ import annotations

import pytest

from agentloop.browser.keys import chord


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Enter", "Enter"),
        ("enter", "Enter"),
        ("Return", "Enter"),
        ("esc", "Escape"),
        ("down", "ArrowDown"),
        ("a", "a"),
        ("A", "A"),
        ("7", "7"),
        (" ", "Space"),
        ("+", "+"),
        ("ctrl+A", "Control+a"),
        ("Control+Shift+Tab", "Control+Shift+Tab"),
        ("cmd + c", "Meta+c"),
        ("Control++", "Control++"),
        ("F5", "F5"),
        ("Shift", "Shift"),
    ],
)
def test_keys_get_their_names(written: str, name: str) -> None:
    assert chord(written) == name


@pytest.mark.parametrize("written", ["Submit", "Save", "12", "Place order", "F13", "Hyper+x", "Control+Save", ""])
def test_other_words_are_no_keys(written: str) -> None:
    assert chord(written) is None
