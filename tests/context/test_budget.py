from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentloop.context.budget import ContextBudget, Fitted
from agentloop.context.draft import Draft, draft
from agentloop.context.feedback import say
from agentloop.context.history import Entry, EntryKind
from agentloop.context.tokens import MESSAGE_TOKENS, estimate_tokens, message_tokens
from agentloop.errors import InvalidInput
from agentloop.llm.base import Message
from agentloop.llm.scripted import rough_tokens

EXAMPLES = (Message("user", "worked task"), Message("assistant", "worked script"))


def run(turns: int, run_id: str = "r1", *, chars: int = 400) -> list[Entry]:
    entries = [Entry("user", f"request of {run_id}", run_id)]
    for turn in range(turns):
        entries.append(Entry("script", f"{run_id}.step{turn}()", run_id))
        entries.append(Entry("result", f"{run_id} got {turn} {'x' * chars}", run_id))
    return entries


def drafted(entries: list[Entry], *, keep: int = 100, tail: str = "PAGE NOW") -> Draft:
    return draft(entries, run_id="r1", keep_scripts=keep, system="SYSTEM", examples=EXAMPLES, tail=tail)


def fitted(entries: list[Entry], window: int, *, keep: int = 100, tail: str = "PAGE NOW") -> Fitted:
    return ContextBudget(window, estimate=rough_tokens).fit(drafted(entries, keep=keep, tail=tail))


def all_text(messages: list[Message]) -> str:
    return "\n".join(message.text for message in messages)


def size(messages: list[Message], estimate: Callable[[str], int] = rough_tokens) -> int:
    return sum(message_tokens(message, estimate) for message in messages)


# Its figures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "reserved"),
    [(2, 1), (600, 300), (1024, 512), (2048, 512), (4096, 512), (8192, 1024), (16_384, 2048), (131_072, 4096)],
)
def test_an_eighth_is_kept_for_the_reply_within_bounds(window: int, reserved: int) -> None:
    budget = ContextBudget(window)
    assert (budget.reserved, budget.allowance) == (reserved, window - reserved)


def test_a_reserve_is_taken_as_given() -> None:
    budget = ContextBudget(8192, reserve=1500)
    assert (budget.reserved, budget.allowance) == (1500, 6692)


@pytest.mark.parametrize("reserve", [8192, 9000, 0, -1])
def test_a_reserve_that_leaves_no_room_is_refused(reserve: int) -> None:
    with pytest.raises(InvalidInput, match="reserve"):
        ContextBudget(8192, reserve=reserve)


@pytest.mark.parametrize("window", [0, -1, 1])
def test_a_window_is_positive(window: int) -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        ContextBudget(window)


# What stays -------------------------------------------------------------------------------------------


def test_what_fits_is_sent_as_it_is() -> None:
    entries = run(3)
    exact = size(drafted(entries).messages()) + 2 * MESSAGE_TOKENS
    whole = fitted(entries, 2 * exact)
    assert whole.messages == drafted(entries).messages()
    assert (whole.dropped, whole.over) == (0, False)


def test_what_fits_only_without_the_line_about_what_is_missing_is_not_trimmed() -> None:
    entries = run(6)
    budget = ContextBudget(100_000, reserve=1, estimate=rough_tokens)
    needed = budget.fit(drafted(entries)).estimated_tokens
    tight = ContextBudget(needed + 1, reserve=1, estimate=rough_tokens).fit(drafted(entries))
    assert (tight.dropped, tight.estimated_tokens, tight.allowance) == (0, needed, needed)
    assert ContextBudget(needed, reserve=1, estimate=rough_tokens).fit(drafted(entries)).dropped > 0


def test_the_oldest_turns_go_first_and_a_line_says_how_many() -> None:
    entries = [*run(5, "r0"), *run(5)]
    trimmed = fitted(entries, 1400)
    text = all_text(trimmed.messages)
    assert not trimmed.over and trimmed.dropped > 0
    assert say("messages_left_out", count=trimmed.dropped) in text
    assert "r0 got 0" not in text and "r1 got 4" in text
    left = [f"{name} got {turn}" in text for name in ("r0", "r1") for turn in range(5)]
    assert left == sorted(left)


def test_twenty_turns_of_a_thousand_tokens_fit_into_a_window_of_8192() -> None:
    entries = run(20, chars=4000)
    trimmed = fitted(entries, 8192)
    assert len(trimmed.messages) < len(drafted(entries).messages())
    assert trimmed.messages[0] == Message("system", "SYSTEM")
    assert size(trimmed.messages) <= trimmed.estimated_tokens <= trimmed.allowance == 7168
    assert size(trimmed.messages) > 7168 - 1100


def test_the_request_the_newest_script_its_result_and_the_tail_stay_however_long_the_run() -> None:
    trimmed = fitted(run(200), 700)
    text = all_text(trimmed.messages)
    assert trimmed.messages[3].text.startswith("request of r1\n\n(earlier messages left out here")
    assert trimmed.messages[-2].text == "```javascript\nr1.step199()\n```"
    assert "r1 got 199" in trimmed.messages[-1].text and trimmed.messages[-1].text.endswith("PAGE NOW")
    assert "worked script" in text and not trimmed.over


def test_the_newest_script_stays_when_its_feedback_was_followed_by_other_feedback() -> None:
    entries = [*run(9), *(Entry("result", f"{say('empty')} {'x' * 800}", "r1") for _ in range(3))]
    trimmed = fitted(entries, 1000)
    assert "r1.step8()" in all_text(trimmed.messages) and "r1 got 8" in all_text(trimmed.messages)
    assert trimmed.messages[-1].text.endswith("x\n\nPAGE NOW")


def test_the_worked_pair_stays_before_older_turns_and_goes_before_what_must_stay() -> None:
    assert "worked script" in all_text(fitted(run(50), 600).messages)
    one = run(1)
    needed = ContextBudget(5000, estimate=rough_tokens).fit(drafted(one)).estimated_tokens
    without = ContextBudget(needed, reserve=1, estimate=rough_tokens).fit(drafted(one))
    assert "worked" not in all_text(without.messages)
    assert (without.dropped, without.over) == (2, False)


def test_a_summary_stays_before_newer_turns_when_it_fits() -> None:
    entries = [Entry("summary", "what came before", "r0"), *run(5, "r0"), *run(5)]
    trimmed = fitted(entries, 1400)
    assert trimmed.dropped > 0
    assert trimmed.messages[3].text.startswith("what came before\n\n(earlier messages left out here")
    huge = [Entry("summary", "z" * 9000, "r0"), *entries[1:]]
    assert "zzz" not in all_text(fitted(huge, 1400).messages)
    assert "r1 got 3" in all_text(fitted(huge, 1400).messages)


def test_what_may_not_go_is_sent_though_it_is_too_large() -> None:
    trimmed = fitted(run(2, chars=8000), 600)
    assert trimmed.over and trimmed.estimated_tokens > trimmed.allowance == 300
    assert "r1 got 1" in all_text(trimmed.messages) and "r1 got 0" not in all_text(trimmed.messages)


def test_scripts_left_out_are_counted_among_those_that_stay() -> None:
    trimmed = fitted(run(30), 1400, keep=1)
    text = all_text(trimmed.messages)
    shown = sum(f"r1 got {turn} " in text for turn in range(30))
    assert say("scripts_left_out", count=shown - 1) in text
    assert size(trimmed.messages) <= trimmed.allowance


def test_every_count_is_the_given_estimator_s() -> None:
    seen: list[str] = []

    def words(text: str) -> int:
        seen.append(text)
        return len(text.split())

    entries = run(9)
    whole = ContextBudget(1000, estimate=words).fit(drafted(entries))
    assert whole.dropped == 0 and {"SYSTEM", "PAGE NOW", "worked task", "request of r1"} <= set(seen)
    assert whole.estimated_tokens >= size(whole.messages, words)


HISTORY = st.lists(
    st.builds(
        Entry,
        st.sampled_from(get_args(EntryKind)),
        st.text(max_size=300),
        st.sampled_from(["r0", "r1"]),
    ),
    max_size=30,
)


@given(HISTORY, st.integers(2, 3000), st.integers(1, 4), st.sampled_from(["", "PAGE NOW"]))
@example([Entry("script", "", "r0"), Entry("script", "", "r1")], 669, 3, "")
def test_whatever_came_before_the_request_fits_and_the_rules_hold(
    before: list[Entry], window: int, keep: int, tail: str
) -> None:
    entries = [*before, Entry("user", "THE REQUEST", "r1"), *run(3)[1:]]
    for estimate in (rough_tokens, estimate_tokens):
        budget = ContextBudget(window, estimate=estimate)
        trimmed = budget.fit(drafted(entries, keep=keep, tail=tail))
        roles = [message.role for message in trimmed.messages]
        assert roles[:2] == ["system", "user"] and roles[-1] == "user"
        assert all(first != second for first, second in pairwise(roles))
        text = all_text(trimmed.messages)
        assert "THE REQUEST" in text and "r1.step2()" in text and "r1 got 2" in text
        assert trimmed.messages[-1].text.endswith(tail)
        assert trimmed.over or size(trimmed.messages, estimate) <= budget.allowance
