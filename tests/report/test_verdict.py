from __future__ import annotations

import pytest

from agentloop.records import Status
from agentloop.report import describe, exit_code


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("completed", "", 0),
        ("error", "no_progress", 1),
        ("error", "page_down", 1),
        ("max_iterations", "", 2),
        ("check_failed", "price", 4),
        ("budget", "cost", 5),
        ("timeout", "wall", 5),
        ("refused", "", 6),
        ("browser_lost", "", 7),
        ("model_error", "auth", 8),
        ("diverged", "", 9),
        ("cancelled", "signal", 130),
        ("cancelled", "api", 1),
        ("running", "", 1),
    ],
)
def test_exit_codes(status: str, reason: str, code: int) -> None:
    assert exit_code(Status(status), reason) == code


def test_every_end_has_words_and_a_code_of_its_own() -> None:
    ends = [status for status in Status if status.terminal]
    assert len({describe(status) for status in ends}) == len(ends)
    assert all(exit_code(status) != 0 for status in ends if status is not Status.COMPLETED)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (Status.COMPLETED, "", "completed"),
        (Status.BUDGET, "prompt_tokens", "out of budget: prompt tokens"),
        (Status.TIMEOUT, "wall", "out of time"),
        (Status.CANCELLED, "signal", "cancelled: by a signal"),
        (Status.MODEL_ERROR, "replies_used_up", "the model failed: the scripted replies are used up"),
        (Status.CHECK_FAILED, "price, title", "a check failed: price, title"),
    ],
)
def test_words(status: Status, reason: str, words: str) -> None:
    assert describe(status, reason) == words
