from __future__ import annotations

from email.utils import formatdate

import pytest

from agentloop.llm.retry import RetryPolicy, retry_after_s, retryable

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("status", "again"), [(429, True), (500, True), (503, True), (599, True), (501, False), (400, False), (404, False)]
)
def test_which_statuses_are_tried_again(status: int, again: bool) -> None:
    assert retryable(status) is again


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        (" 7 ", 7.0),
        ("999", 999.0),
        (formatdate(NOW + 12, usegmt=True), 12.0),
        (formatdate(NOW - 12, usegmt=True), 0.0),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=NOW) == seconds


def test_waits_double_up_to_the_cap() -> None:
    policy = RetryPolicy()
    assert [policy.delay_s(attempt) for attempt in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert policy.delay_s(10_000) == 30
    assert policy.delay_s(-3) == 0.5


def test_jitter_adds_at_most_half_and_never_passes_the_cap() -> None:
    policy = RetryPolicy()
    assert policy.delay_s(0, jitter=1) == 0.75
    assert policy.delay_s(0, jitter=99) == 0.75
    assert policy.delay_s(0, jitter=-1) == 0.5
    assert policy.delay_s(5, jitter=1) == 24
    assert policy.delay_s(6, jitter=1) == 30


def test_what_the_server_asks_for_wins_without_jitter_but_is_capped() -> None:
    policy = RetryPolicy()
    assert policy.delay_s(3, jitter=1, retry_after=0) == 0
    assert policy.delay_s(0, jitter=1, retry_after=7) == 7
    assert policy.delay_s(0, retry_after=999) == 30


def test_a_base_of_nothing_is_half_a_second() -> None:
    assert RetryPolicy(base_s=0).delay_s(0) == 0.5
