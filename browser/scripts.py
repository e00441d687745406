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
from agentloop.errors import DriverError, TargetError
from agentloop.records import Json

__all__ = ["PARTS", "Scripts", "expression", "page_script", "small_script"]

PARTS = (
    "home",
    "dom",
    "words",
    "flat",
    "geometry",
    "roles",
    "accname",
    "identity",
    "state",
    "hits",
    "sight",
    "hidden",
    "look",
    "marks",
    "aim",
    "fields",
    "type_secret",
    "masking",
    "submission",
    "answer",
)

_STOOD_ON = {"markdown": ("dom", "words", "flat", "geometry", "hits", "sight")}


@cache
def _source(name: str, package: str = "agentloop.browser") -> str:
    return (files(package) / f"{name}.js").read_text("utf-8")


@cache
def page_script() -> PageScript:
    """The parts in one closure, so that no page sees their names."""
    body = "\n".join(_source(part) for part in PARTS)
    return PageScript("agentloop", f"(request) => {{\n{body}\n}}")


@cache
def small_script(name: str, *, package: str = "agentloop.browser") -> PageScript:
    """A script of one file, `<name>.js` of a package, which reads nodes as the large one does."""
    own = _source(name, package).strip().rstrip(";")
    parts = "\n".join(_source(part) for part in _STOOD_ON.get(name, ("dom",)))
    return PageScript(name, f"(() => {{\n{parts}\nreturn (\n{own}\n);\n}})()")


def expression(request: Json) -> str:
    """What `Driver.eval` is given for a request: the script called on it, its answer as JSON text."""
    return f"JSON.stringify(({page_script().source})({json.dumps(request)}))"


class Scripts:
    """Runs the page scripts through the driver in hand. `framed` tells whether it can enter frames."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._frames: Frames | None = driver if isinstance(driver, Frames) else None
        self._hidden: Hidden | None = driver if isinstance(driver, Hidden) and self._frames is not None else None
        self.framed = self._frames is not None

    async def run(self, frame: str, request: Json) -> Json:
        """The answer to `request` from a frame ("" is the main one). Raises as the driver does, and `DriverError`."""
        if self._frames is not None:
            return await self._frames.run_script(frame, page_script(), request)
        text = await self._driver.eval(expression(request))
        try:
            return None if text is None else json.loads(text)
        except (TypeError, ValueError):
            # A page may have replaced what the answer is written with.
            raise DriverError("the page's own scripts keep it from being read by a driver without Frames") from None

    async def hear(self, frame: str) -> None:
        """Tells the page script of a frame which elements listen for clicks, where the driver can find out."""
        if self._hidden is not None:
            try:
                await self._hidden.listeners(frame, page_script())
            except TargetError:
                pass  # the frame has gone, which reading it will tell

    async def open_roots(self, frame: str) -> int:
        """Tells it of the closed shadow roots of what it took for their hosts; gives how many there are."""
        return 0 if self._hidden is None else await self._hidden.closed_roots(frame, page_script())

    async def child(self, frame: str, key: str) -> str | None:
        """The frame inside the keyed <iframe> of `frame`; None when there is none or frames cannot be entered."""
        if self._frames is None:
            return None
        child = await self._frames.child_frame(frame, page_script(), {"op": "element", "key": key})
        # A frame that has just moved to another process is found by asking for the frames.
        known = {found.id for found in await self._frames.frames()}
        return child if child in known else None
