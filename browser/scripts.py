"""The page scripts: one function of one request, made of the `.js` files that list, check and read the page.

A request is `{"op": name, …}`; the operations are the table in `answer.js`. With a driver that has
`Frames` they run in an isolated world of each frame. A driver of only the ten methods runs them in the
page's main world, where a hostile page can see and break them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from agentloop.browser.abilities import Frames, Hidden, PageScript
from agentloop.browser.base import Driver
from agentloop.errors import DriverError
from agentloop.records import Json

__all__ = ["PARTS", "Scripts", "expression", "page_script"]

PARTS = (
    "home",
    "words",
    "flat",
    "geometry",
    "roles",
    "accname",
    "identity",
    "state",
    "hits",
    "sight",
    "look",
    "marks",
    "aim",
    "fields",
    "answer",
)

_FRAME_DEPTH = 20


@cache
def _source(name: str) -> str:
    return (files("agentloop.browser") / f"{name}.js").read_text("utf-8")


@cache
def page_script() -> PageScript:
    """The parts in one closure, so that no page sees their names."""
    body = "\n".join(_source(part) for part in PARTS)
    return PageScript("agentloop", f"(request) => {{\n{body}\n}}")


def expression(request: Json) -> str:
    """What `Driver.eval` is given for a request: the script called on it, its answer as JSON text."""
    return f"JSON.stringify(({page_script().source})({json.dumps(request)}))"


def _are_places(told: Json, depth: int = 0) -> bool:
    if not isinstance(told, dict) or depth > _FRAME_DEPTH:
        return False
    places, frames = told.get("places"), told.get("frames")
    return (
        isinstance(places, list)
        and all(isinstance(place, list) and len(place) == 2 and isinstance(place[0], int) for place in places)
        and isinstance(frames, list)
        and all(isinstance(frame, list) and len(frame) == 2 and _are_places(frame[1], depth + 1) for frame in frames)
    )


class Scripts:
    """Runs the page scripts through the driver in hand. `framed` tells whether it can enter frames."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._frames: Frames | None = driver if isinstance(driver, Frames) else None
        self.framed = self._frames is not None

    async def run(self, frame: str, request: Json) -> Json:
        """The answer to `request` from a frame ("" is the main one). Raises what the driver raises."""
        if self._frames is not None:
            return await self._frames.run_script(frame, page_script(), request)
        text = await self._driver.eval(expression(request))
        return None if text is None else json.loads(text)

    async def listening(self) -> Json:
        """Where the page has set click handlers as properties, which its own world alone can see.

        None when nothing is told or what is told is not of the right form: this is the page's own word.
        """
        if self._frames is None or isinstance(self._driver, Hidden):
            return None
        try:
            told = await self._driver.eval(f"({_source('listening')})()")
        except DriverError:
            return None
        return told if _are_places(told) else None

    async def child(self, frame: str, key: str) -> str | None:
        """The frame inside the keyed <iframe> of `frame`; None when there is none or frames cannot be entered."""
        if self._frames is None:
            return None
        child = await self._frames.child_frame(frame, page_script(), {"op": "element", "key": key})
        # A frame that has just moved to another process is found by asking for the frames.
        known = {found.id for found in await self._frames.frames()}
        return child if child in known else None
