from __future__ import annotations

import json
from typing import Any

from agentloop.cli.ndjson import JsonView, fatal_line
from agentloop.events import EventType, RunEvent
from agentloop.records import RunResult, Status, Usage


def event(type: EventType, content: str = "", **fields: Any) -> RunEvent:
    return RunEvent(type=type, run_id="r", session_id="s", seq=1, turn=1, time="t", content=content, **fields)


def lines(view_chunks: bool, *events: RunEvent) -> list[str]:
    written: list[str] = []
    view = JsonView(written.append, chunks=view_chunks)
    for each in events:
        view.event(each)
    return written


def test_each_event_is_a_line_of_its_own() -> None:
    written = lines(False, event("user", "two\nlines\u2028and\x1b more"))
    assert len(written) == 1 and written[0].isascii() and "\n" not in written[0]
    assert json.loads(written[0]) == event("user", "two\nlines\u2028and\x1b more").to_dict()


def test_chunks_only_where_they_are_asked_for() -> None:
    assert lines(False, event("response_chunk", "x")) == []
    assert len(lines(True, event("response_chunk", "x"))) == 1


def test_an_event_that_is_no_json_becomes_a_line_that_says_so() -> None:
    written = lines(False, event("data_update", args={"n": float("nan")}), event("act", args={"o": object()}))
    assert [json.loads(line)["type"] for line in written] == ["data_update", "act"]
    assert all("cannot be written" in json.loads(line)["error"] for line in written)


def test_the_result_has_every_field() -> None:
    written: list[str] = []
    result = RunResult(run_id="r", session_id="s", status=Status.ERROR, reason="no_progress", tokens=Usage(prompt=3))
    JsonView(written.append).result(result)
    data = json.loads(written[0])
    assert data["type"] == "result" and data["status"] == "error" and data["reason"] == "no_progress"
    assert data["tokens"] == {"prompt": 3, "completion": 0}


def test_a_fatal_line() -> None:
    assert json.loads(fatal_line("no\nbrowser")) == {"type": "fatal", "error": "no\nbrowser"}
