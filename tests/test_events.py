"""The one wire form of events, held to its published schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from agentloop import Loop, MemoryStore, RunLimits, RunRequest, Scripted
from agentloop.events import EVENT_TYPES, LIVE_ONLY, RunEvent

SCHEMA: dict[str, Any] = json.loads(files("agentloop").joinpath("events.schema.json").read_text("utf-8"))


BASE = {"run_id": "r", "session_id": "s", "turn": 0, "time": "2026-01-31T08:00:00.000001Z"}


def check(line: Any) -> None:
    jsonschema.validate(line, SCHEMA)


def test_the_schema_names_every_event_type() -> None:
    event = SCHEMA["$defs"]["event"]
    assert event["properties"]["type"]["enum"] == list(EVENT_TYPES)
    assert event["if"]["properties"]["type"]["enum"] == sorted(LIVE_ONLY)


async def test_every_event_and_the_result_of_a_run_fit_the_schema() -> None:
    events: list[RunEvent] = []
    script = "```js\nfunction run() { return {a: 1} }\n```"
    loop = Loop(llm=Scripted([script, "", script, "All of it is done now, and well."]), store=MemoryStore())
    result = await loop.run(RunRequest("x"), on_event=events.append)
    for event in events:
        check(event.to_dict())
    check({"type": "result"} | result.to_dict())
    assert {"execute_js", "response_chunk", "done"} <= {event.type for event in events}


async def test_a_failed_run_fits_the_schema_too() -> None:
    events: list[RunEvent] = []
    loop = Loop(llm=Scripted([]), store=MemoryStore(), limits=RunLimits(iterations=1))
    result = await loop.run(RunRequest("x"), on_event=events.append)
    for line in ({"type": "result"} | result.to_dict(), *(event.to_dict() for event in events)):
        check(line)


def test_an_event_survives_its_wire_form() -> None:
    event = RunEvent(
        type="act",
        run_id="r",
        session_id="s",
        seq=3,
        turn=2,
        time="2026-01-31T08:00:00.000001Z",
        content="click",
        args={"a": [1]},
        tokens={"prompt": 1, "completion": 2},
    )
    assert RunEvent.from_dict(json.loads(json.dumps(event.to_dict()))) == event


@pytest.mark.parametrize(
    "line",
    [
        {"type": "nonsense"},
        BASE | {"type": "user", "time": "yesterday"},
        {
            "type": "response_chunk",
            "run_id": "r",
            "session_id": "s",
            "turn": 0,
            "seq": 1,
            "time": "2026-01-31T08:00:00.000001Z",
        },
    ],
)
def test_the_schema_refuses_what_is_no_event(line: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check(line)
