from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.context.draft import draft
from agentloop.context.feedback import say
from agentloop.context.history import Entry, EntryKind
from agentloop.context.progress import ProgressGuard
from agentloop.llm.base import Image, Message, Text

EXAMPLES = (Message("user", "worked task"), Message("assistant", "worked script"))


def entry(kind: EntryKind, content: str, run_id: str = "r1") -> Entry:
    return Entry(kind, content, run_id)


def run(turns: int, run_id: str = "r1") -> list[Entry]:
    entries = [entry("user", f"task of {run_id}", run_id)]
    for turn in range(turns):
        entries += [entry("script", f"{run_id}.step{turn}()", run_id), entry("result", f"{run_id} got {turn}", run_id)]
    return entries


def sent(entries: list[Entry], *, keep: int = 1, tail: str = "", drop: frozenset[int] = frozenset()) -> list[Message]:
    whole = draft(entries, run_id="r1", keep_scripts=keep, system="SYSTEM", examples=EXAMPLES, tail=tail, drop=drop)
    return whole.messages()


def all_text(messages: list[Message]) -> str:
    return "\n".join(message.text for message in messages)


def test_a_first_call_is_system_worked_pair_task_and_tail() -> None:
    assert sent(run(0), tail="PAGE NOW") == [
        Message("system", "SYSTEM"),
        *EXAMPLES,
        Message("user", "task of r1\n\nPAGE NOW"),
    ]


def test_older_scripts_of_this_run_are_one_line_and_their_results_stay() -> None:
    messages = sent(run(4), keep=2, tail="PAGE NOW")
    assert [message.role for message in messages[3:]] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[3].text == "\n\n".join(
        [
            "task of r1",
            "Result of your script:\nr1 got 0",
            "Result of your script:\nr1 got 1",
            say("scripts_left_out", count=2),
        ]
    )
    assert messages[4].text == "```javascript\nr1.step2()\n```"
    assert messages[-1].text == "Result of your script:\nr1 got 3\n\nPAGE NOW"


def test_the_line_for_left_out_scripts_does_not_look_like_a_script() -> None:
    line = say("scripts_left_out", count=2)
    assert "run(" not in line and "`" not in line and "{" not in line


def test_scripts_and_answers_of_earlier_runs_stay() -> None:
    entries = [*run(3, "r0"), entry("answer", "the first answer", "r0"), *run(3)]
    text = all_text(sent(entries))
    assert all(f"r0.step{n}()" in text for n in range(3))
    assert "the first answer" in text and "r1.step1()" not in text and "r1.step2()" in text


def test_what_was_sent_stays_the_prefix_of_what_is_sent_next() -> None:
    before, after = all_text(sent(run(6), keep=2)), all_text(sent(run(7), keep=2))
    shared = before[: before.index(say("scripts_left_out", count=4))]
    assert "r1 got 3" in shared and after.startswith(shared)


def test_dropped_scripts_are_not_sent_and_a_repeated_result_is_sent_once() -> None:
    entries, guard = run(1), ProgressGuard()
    for _ in range(3):
        guard.feed("again()", position=len(entries))
        entries += [entry("script", "again()"), entry("result", "nothing new")]
    messages = sent(entries, keep=3, tail="PAGE NOW", drop=guard.dropped)
    assert "again()" not in all_text(messages)
    assert all_text(messages).count("nothing new") == 1
    assert "r1.step0()" in all_text(messages)
    assert say("scripts_left_out", count=3) in messages[-1].text and messages[-1].text.endswith("PAGE NOW")


def test_a_history_cut_before_a_script_begins_with_a_user_line() -> None:
    messages = sent([entry("script", "a()", "r0"), entry("result", "b", "r0"), entry("user", "task")])
    assert messages[3] == Message("user", say("earlier_left_out"))
    assert messages[4].role == "assistant"


def test_a_script_with_fences_of_its_own_is_fenced_longer() -> None:
    script = "answer(`\n```js\nx\n```\n`)"
    assert sent([entry("user", "t"), entry("script", script)])[-1].text == f"````javascript\n{script}\n````"


def test_feedback_to_a_reply_without_a_script_bears_no_label() -> None:
    nudged = [*run(1), entry("result", say("empty"))]
    assert sent(nudged)[-1].text == f"Result of your script:\nr1 got 0\n\n{say('empty')}"


def test_pictures_survive_merging() -> None:
    picture = Message("user", (Text("look"), Image(b"png")))
    messages = draft(run(0), run_id="r1", keep_scripts=1, system="S", examples=[picture], tail="now").messages()
    assert messages[1:] == [Message("user", (Text("look"), Image(b"png"), Text("task of r1"), Text("now")))]


@pytest.mark.parametrize("keep", [0, -3])
def test_one_script_is_always_kept(keep: int) -> None:
    assert "r1.step2()" in all_text(sent(run(3), keep=keep))


RUNS = st.lists(st.tuples(st.sampled_from(["r0", "r1", "r2"]), st.integers(0, 5), st.booleans()), max_size=5)


def history(runs: list[tuple[str, int, bool]]) -> list[Entry]:
    entries: list[Entry] = []
    for run_id, turns, answered in [*runs, ("r1", 4, False)]:
        entries += run(turns, run_id)
        entries += [entry("answer", f"answer of {run_id}", run_id)] if answered else []
    return entries


@given(RUNS, st.integers(1, 6), st.sampled_from(["", "PAGE NOW"]))
def test_of_a_whole_history_nothing_that_matters_is_lost(
    runs: list[tuple[str, int, bool]], keep: int, tail: str
) -> None:
    entries = history(runs)
    messages = sent(entries, keep=keep, tail=tail)
    text = all_text(messages)
    assert all(e.content in text for e in entries if e.kind != "script")
    assert all(e.content in text for e in entries if e.kind == "script" and e.run_id != "r1")
    assert [m.role for m in messages[-2:]] == ["assistant", "user"]
    assert messages[-2].text.endswith("```javascript\nr1.step3()\n```")
    assert "r1 got 3" in messages[-1].text and messages[-1].text.endswith(tail)
    assert text.count("scripts of yours left out") <= 1


@given(
    st.lists(st.builds(Entry, st.sampled_from(get_args(EntryKind)), st.text(), st.sampled_from(["r0", "r1"]))),
    st.integers(1, 4),
    st.frozensets(st.integers(0, 20)),
    st.sampled_from(["", "PAGE NOW"]),
)
def test_roles_alternate_whatever_came_before(entries: list[Entry], keep: int, drop: frozenset[int], tail: str) -> None:
    roles = [message.role for message in sent(entries, keep=keep, drop=drop, tail=tail)]
    assert roles[:3] == ["system", "user", "assistant"]
    assert all(first != second for first, second in pairwise(roles))
