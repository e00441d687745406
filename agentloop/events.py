"""What can happen in a run. Stores, CLI, reports and services all read this one form.

`to_dict` is the canonical wire form; `events.schema.json` describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agentloop.records import Json

__all__ = ["EVENT_TYPES", "LIVE_ONLY", "EventType", "RunEvent"]

EventType = Literal[
    "run_started",
    "user",
    "execute_js",
    "execute_js_result",
    "sandbox_event",
    "data_update",
    "compacted",
    "budget_trimmed",
    "budget_spent",
    "act",
    "observation",
    "screenshot",
    "ask",
    "ask_result",
    "response",
    "response_chunk",
    "warning",
    "resumed",
    "check",
    "error",
    "done",
]

EVENT_TYPES: tuple[str, ...] = get_args(EventType)

LIVE_ONLY = frozenset({"response_chunk", "observation"})
"""Types that are streamed and never stored; their `seq` is None."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """One event. `seq` counts from 1 without gaps per run; `turn` from 1, 0 outside any turn; `time` is UTC text."""

    type: EventType
    run_id: str
    session_id: str
    seq: int | None
    turn: int
    time: str
    content: str = ""
    tool: str = ""
    args: Mapping[str, Json] = field(default_factory=dict)
    summary: Mapping[str, Json] | None = None
    tokens: Mapping[str, int] | None = None

    def to_dict(self) -> dict[str, Json]:
        """The wire form; empty optional fields are left out."""
        data: dict[str, Any] = {
            "type": self.type,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "turn": self.turn,
            "time": self.time,
        }
        if self.seq is not None:
            data["seq"] = self.seq
        for name in ("content", "tool", "args", "summary", "tokens"):
            value = getattr(self, name)
            if value:
                data[name] = value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> RunEvent:
        """The inverse of `to_dict`. Raises KeyError when a required field is missing."""
        return cls(
            type=data["type"],
            run_id=data["run_id"],
            session_id=data["session_id"],
            seq=data.get("seq"),
            turn=data["turn"],
            time=data["time"],
            content=data.get("content", ""),
            tool=data.get("tool", ""),
            args=data.get("args", {}),
            summary=data.get("summary"),
            tokens=data.get("tokens"),
        )
