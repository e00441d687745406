from __future__ import annotations

import pytest

from agentloop.choices import count, duration, some_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("1h", 3600), ("500ms", 0.5), (" 2 M ", 120)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "5 minutes", "nan", "inf", "1e3", "0s", "9" * 400])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        duration(text)


def test_a_number_that_not_every_part_could_hold_is_refused() -> None:
    assert count(1 << 52) == 1 << 52
    with pytest.raises(ValueError, match="from 1 to 9007199254740991"):
        count(10**30)


def test_names_may_be_some_of_these_words() -> None:
    read = some_of("a", "b")
    assert read("b, a,b") == ("b", "a")
    for wrong in ("a,c", "", 3):
        with pytest.raises(ValueError, match="must"):
            read(wrong)
