from __future__ import annotations

import pytest

from agentloop.choices import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("1h", 3600), ("500ms", 0.5), (" 2 M ", 120)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "5 minutes", "nan", "inf", "1e3", "0s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        duration(text)
