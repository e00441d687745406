"""The page scripts: one function of one request, made of the `.js` files that list, check and read the page.

A request is `{"op": name, …}`; the operations are the table in `answer.js`. With a driver that has
`Frames` they run in an isolated world of each frame. A driver of only the ten methods runs them in the
page's main world, where a hostile page can see and break them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from agentloop.browser.base import Driver, Frames, PageScript
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
    "look",
    "marks",
    "aim",
    "fields",
    "answer",
)


@cache
def page_script() -> PageScript:
    """The parts in one closure, so that no page sees their names."""
    folder = files("agentloop.browser")
    body = "\n".join((folder / f"{part}.js").read_text("utf-8") for part in PARTS)
    return PageScript("agentloop", f"(request) => {{\n{body}\n}}")


def expression(request: Json) -> str:
    """What `Driver.eval` is given for a request: the script called on it, its answer as JSON text."""
    return f"JSON.stringify(({page_script().source})({json.dumps(request)}))"


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

    async def child(self, frame: str, key: str) -> str | None:
        """The frame inside the keyed <iframe> of `frame`; None when there is none or frames cannot be entered."""
        if self._frames is None:
            return None
        return await self._frames.child_frame(frame, page_script(), {"op": "element", "key": key})
