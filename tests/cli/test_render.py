from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from agentloop.cli.render import HumanView, QuietView, TurnLines, summary_line, visible
from agentloop.events import EventType, RunEvent
from agentloop.records import RunResult, Status, Usage


def event(type: EventType, content: str = "", *, turn: int = 1, **fields: Any) -> RunEvent:
    return RunEvent(type=type, run_id="r", session_id="s", seq=1, turn=turn, time="t", content=content, **fields)


RESULT = RunResult(
    run_id="r",
    session_id="s",
    status=Status.COMPLETED,
    final_text="12 euros",
    turns=3,
    steps=7,
    tokens=Usage(prompt=12_345, completion=678),
    duration_ms=14_230,
)


class Recorder:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.progressed: list[str] = []
        self.closed = 0

    def line(self, text: str, style: str = "") -> None:
        self.lines.append((text, style))

    def progress(self, text: str) -> None:
        self.progressed.append(text)

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 😀", "plain é 日本 😀"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\u2066x\u2069\u200f", "\\u2066x\\u2069\\u200f"),
        ("\x9b1m\x7f", "\\x9b1m\\x7f"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_could_move_a_cursor_or_hide_text_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_kept_stays() -> None:
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_turn_is_one_line_with_its_acts_and_tokens() -> None:
    lines = TurnLines()
    assert lines.feed(event("execute_js", "code", turn=3, tokens={"prompt": 1204, "completion": 56})) is None
    assert lines.feed(event("act", 'type("Search", 4, "***") -> ok', turn=3)) is None
    assert lines.feed(event("act", 'click("Go", 5) -> opened /s\x1b[0m\n', turn=3)) is None
    assert lines.feed(event("execute_js_result", "…", turn=3)) == (
        '  3  type("Search", 4, "***") -> ok · click("Go", 5) -> opened /s\\x1b[0m  (1,204+56 tokens)',
        "",
    )


def test_the_acts_of_one_turn_do_not_show_in_the_next() -> None:
    lines = TurnLines()
    for turn in (1, 2):
        lines.feed(event("execute_js", turn=turn))
        if turn == 1:
            lines.feed(event("act", "click(1) -> ok"))
        last = lines.feed(event("execute_js_result", turn=turn))
    assert last == ("  2  script of 1 line  (0+0 tokens)", "")


def test_a_script_that_threw_says_so_and_many_acts_are_counted() -> None:
    lines = TurnLines()
    lines.feed(event("execute_js"))
    for number in range(11):
        lines.feed(event("act", f"click({number}) -> ok"))
    line = lines.feed(event("execute_js_result", args={"error": "TargetError"}))
    assert line is not None
    assert "click(7) -> ok · 3 more ! TargetError" in line[0] and line[1] == "red"


def test_why_a_script_threw_is_told_in_one_line() -> None:
    lines = TurnLines()
    lines.feed(event("execute_js"))
    told = event("execute_js_result", args={"error": "PolicyDenied", "message": "fetch of\x1b[2J x is not allowed"})
    line = lines.feed(told)
    assert line == ("  1  script of 1 line ! PolicyDenied: fetch of\\x1b[2J x is not allowed  (0+0 tokens)", "red")
    endless = lines.feed(event("execute_js_result", args={"error": "E", "message": "x" * 5000}))
    assert endless is not None and len(endless[0]) < 200


def test_a_script_that_was_cut_short_before_a_resume_is_told_as_such() -> None:
    line = TurnLines().feed(event("execute_js_result", turn=0, args={"interrupted": True}))
    assert line == ("· a script was cut short: what it did may have half happened", "")


def test_a_no_that_nobody_gave_is_told_with_its_remedy() -> None:
    answered = event("ask_result", "Allow it?", args={"id": "q", "answer": False})
    assert TurnLines(denied="denied: say so").feed(answered) == ("? Allow it? denied: say so", "bold")


@pytest.mark.parametrize("type", ["budget_trimmed", "ask_result", "resumed"])
def test_what_is_worth_knowing_besides_is_a_line(type: EventType) -> None:
    line = TurnLines().feed(event(type, "x" * 500))
    assert line is not None and "xxx" in line[0] and len(line[0]) < 160


@pytest.mark.parametrize("type", ["warning", "error"])
def test_trouble_is_told_at_length_but_not_without_end(type: EventType) -> None:
    line = TurnLines().feed(event(type, "x" * 5000))
    assert line is not None and 400 < len(line[0]) < 600


def test_a_check_says_whether_it_passed_and_else_what_was_seen() -> None:
    passed = event("check", "text=Hi", args={"check": "text=Hi", "passed": True, "seen": "it is on the page"})
    assert TurnLines().feed(passed) == ("· check passed: text=Hi", "dim")
    failed = event("check", "text=Hi", args={"check": "text=Hi", "passed": False, "seen": "it is not on the page"})
    assert TurnLines().feed(failed) == ("· check failed: text=Hi: it is not on the page", "red")


def test_a_summary_is_told_in_figures() -> None:
    counted = event("compacted", "a long summary", args={"messages_before": 60, "messages_after": 21})
    assert TurnLines().feed(counted) == ("· the history was summed up: 60 messages are now 21", "dim")
    assert TurnLines().feed(event("compacted")) == ("· the history was summed up", "dim")


@pytest.mark.parametrize(
    ("answer", "shown"), [(True, "approved"), (False, "denied"), ("second\u202e", "second\\u202e")]
)
def test_an_answered_question_is_a_line(answer: bool | str, shown: str) -> None:
    line = TurnLines().feed(event("ask_result", "Allow it?\x1b[2J", args={"id": "q", "answer": answer}))
    assert line == (f"? Allow it?\\x1b[2J {shown}", "bold")


@pytest.mark.parametrize("type", ["run_started", "user", "observation", "response_chunk", "data_update", "done", "ask"])
def test_the_rest_is_for_machines(type: EventType) -> None:
    assert TurnLines().feed(event(type, "x")) is None


def test_the_human_view_ends_with_answer_summary_and_pictures() -> None:
    screen, answers = Recorder(), list[str]()
    view = HumanView(screen, answers.append)
    view.event(event("execute_js", tokens={"prompt": 10, "completion": 5}))
    view.event(event("execute_js_result"))
    view.result(RunResult(**{**vars(RESULT), "artifacts": "/tmp/pictures"}))
    assert answers == ["12 euros"]
    assert [line for line, _ in screen.lines] == [
        "  1  script of 1 line  (10+5 tokens)",
        "completed · 3 turns · 12,345+678 tokens · 14.2 s",
        "files: /tmp/pictures",
    ]
    assert screen.progressed[-1] == "turn 1 · 15 tokens"
    assert screen.closed


def test_the_quiet_view_has_only_the_answer() -> None:
    answers = list[str]()
    view = QuietView(answers.append)
    view.event(event("error", "x"))
    view.result(RESULT)
    view.result(RunResult(**{**vars(RESULT), "final_text": ""}))
    assert answers == ["12 euros"]


def test_the_summary_names_reason_and_cost() -> None:
    result = RunResult(run_id="r", session_id="s", status=Status.BUDGET, reason="cost", turns=1, cost=0.5)
    assert summary_line(result) == "out of budget: cost · 1 turn · 0+0 tokens · 0.0 s · cost 0.5000"
