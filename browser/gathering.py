"""One listing over all frames: read each in its own world, keep what shows through the frames above it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentloop.browser.scripts import Scripts
from agentloop.errors import DriverError
from agentloop.records import Json

__all__ = ["Reading", "Seen", "read_frames"]

_FRAME_SECONDS = 2.0
_ROOT_DEPTH = 4


@dataclass(frozen=True)
class Seen:
    """A mark as its frame tells it, in the coordinates of the window that `Reading` is of."""

    raw: dict[str, Any]
    frame: str
    realm: str


@dataclass
class Reading:
    """A frame's window with all that lies in it.

    `parents`: frame id → the frame that holds it and the key of its <iframe> there. `pages`: frame id →
    its text, as the page script gives it.
    """

    raw: dict[str, Any]
    marks: list[Seen] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    parents: dict[str, tuple[str, str]] = field(default_factory=dict)
    pages: dict[str, Json] = field(default_factory=dict)


async def read_frames(scripts: Scripts, *, text: bool = False) -> Reading:
    """The main frame's reading, every frame that can be entered read into its place.

    A frame that does not answer within its bound is skipped and named; the main one raises.
    """
    return await _read(scripts, "", None, text)


async def _read(scripts: Scripts, frame: str, view: Sequence[float] | None, text: bool) -> Reading:
    raw = await _listed(scripts, frame, {"op": "list", "view": view, "text": text, "enter": scripts.framed})
    reading = Reading(raw=raw, pages={frame: raw.get("page")})
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_child(scripts, frame, entry, text)) for entry in raw["frames"]]
    own = [Seen(mark, frame, raw["token"]) for mark in raw["marks"]]
    done = 0
    for entry, task in zip(raw["frames"], tasks, strict=True):
        reading.marks += own[done : entry["at"]]
        done = entry["at"]
        _adopt(reading, task.result(), entry)
    reading.marks += own[done:]
    return reading


async def _listed(scripts: Scripts, frame: str, request: Json) -> dict[str, Any]:
    """The frame's own listing; again as long as closed roots come to light, which lie in one another."""
    await scripts.hear(frame)
    raw: dict[str, Any] = await scripts.run(frame, request)
    for _ in range(_ROOT_DEPTH):
        if not raw.get("suspects") or not await scripts.open_roots(frame):
            break
        raw = await scripts.run(frame, request)
    return raw


def _adopt(reading: Reading, child: Reading | str | None, entry: dict[str, Any]) -> None:
    if isinstance(child, str):
        reading.skipped.append(child)
    if not isinstance(child, Reading):
        return
    entry["frame"] = child.raw["frame"]
    reading.marks += child.marks
    reading.skipped += child.skipped
    reading.parents |= child.parents
    reading.pages |= child.pages


async def _child(scripts: Scripts, parent: str, entry: dict[str, Any], text: bool) -> Reading | str | None:
    try:
        async with asyncio.timeout(_FRAME_SECONDS):
            return await _enter(scripts, parent, entry, text)
    except (DriverError, TimeoutError):
        return str(entry["url"] or "about:blank")


async def _enter(scripts: Scripts, parent: str, entry: dict[str, Any], text: bool) -> Reading | None:
    frame = await scripts.child(parent, entry["key"])
    if frame is None:
        return None
    child = await _read(scripts, frame, entry["view"], text)
    child.raw["frame"] = frame
    child.parents[frame] = (parent, entry["key"])
    if child.marks:
        points = [[seen.raw["px"], seen.raw["py"]] for seen in child.marks]
        free = await scripts.run(parent, {"op": "open", "key": entry["key"], "points": points})
        child.marks = [_carried(seen, entry) for seen, passes in zip(child.marks, free, strict=True) if passes]
    return child


def _carried(seen: Seen, entry: dict[str, Any]) -> Seen:
    raw, scale = seen.raw, entry["k"]
    moved = {
        **{name: round(entry["ox"] + raw[name] * scale, 1) for name in ("x", "px")},
        **{name: round(entry["oy"] + raw[name] * scale, 1) for name in ("y", "py")},
        **{name: round(raw[name] * scale, 1) for name in ("w", "h")},
    }
    return replace(seen, raw=raw | moved)
