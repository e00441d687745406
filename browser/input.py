"""Input into the page: trusted, at a checked point, by the best means the driver in hand has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from agentloop.browser.abilities import Keys, Pointer
from agentloop.browser.base import Driver, MouseButton
from agentloop.browser.keys import KEY_EXAMPLES, chord
from agentloop.browser.listing import Aim
from agentloop.browser.marks import Marks
from agentloop.browser.page import evaluate
from agentloop.browser.words import say
from agentloop.errors import InvalidInput, TargetError

__all__ = ["LONG", "Input", "ability"]

A = TypeVar("A")

_TRIES = 3
_SAME_PX = 1.0

LONG = 2_000
"""Characters beyond which a form control is filled rather than typed into."""


def ability(driver: Driver, kind: Callable[..., A], verb: str) -> A:
    """The driver as something more. Raises `InvalidInput` naming verb and ability when it is not."""
    # A protocol is no `type[A]` to the checker, but it is one to isinstance.
    protocol = cast(type[A], kind)
    if isinstance(driver, protocol):
        return driver
    raise InvalidInput(f"{verb}: this driver cannot do it, it lacks {protocol.__name__}")


class Input:
    """What a person does with mouse and keyboard. A driver of ten methods clicks by a selector put on the element."""

    def __init__(self, driver: Driver, marks: Marks) -> None:
        self._driver = driver
        self._marks = marks

    async def click(self, aim: Aim, *, button: MouseButton = "left", count: int = 1) -> None:
        """Clicks the aimed point; with ten methods only a plain click of an element is possible.

        The target is checked once more when the pointer is there. Raises `TargetError` when it is another thing then.
        """
        if isinstance(self._driver, Pointer):
            aim = await self._pointed(self._driver, aim)
            await self._driver.pointer_click(aim.x, aim.y, button=button, count=count)
            return
        if button != "left" or count != 1 or not aim.key:
            ability(self._driver, Pointer, "click")
        async with self._marks.tag(aim) as selector:
            await self._driver.click(selector)

    async def _pointed(self, pointer: Pointer, aim: Aim) -> Aim:
        if not aim.key:
            return aim
        for _ in range(_TRIES):
            await pointer.pointer_move(aim.x, aim.y)
            now = await self._marks.under_pointer(aim)
            if abs(now.x - aim.x) <= _SAME_PX and abs(now.y - aim.y) <= _SAME_PX:
                return replace(now, x=aim.x, y=aim.y)
            aim = now
        raise TargetError(say("gives_way"), reason="covered")

    async def press(self, keys: str) -> None:
        """Presses a key or chord where the focus is. Raises `InvalidInput` with key names for what is none."""
        name = chord(keys)
        if name is None:
            raise InvalidInput(f"press: {keys!r} is no key; keys are {KEY_EXAMPLES}")
        if isinstance(self._driver, Keys):
            await self._driver.press(name)
        else:
            await self._driver.key_event(name)

    async def focus(self, aim: Aim) -> None:
        """Clicks and makes sure that the focus went into the element. Raises `TargetError(reason="unfit")`."""
        if await self._marks.focus_inside(aim):
            return
        await self.click(aim)
        if not await self._marks.focus_inside(aim):
            raise TargetError("a click did not put the focus into it, so nothing was typed", reason="unfit")

    async def replace(self, aim: Aim, text: str, *, editor: bool = False) -> None:
        """Puts `text` in place of what the field holds; nothing in it submits a form.

        `editor`: it is editable content and no form control.
        """
        await self.focus(aim)
        if not editor and len(text) > LONG:
            # An input method's way takes seconds for thousands of lines.
            await self._marks.fill(aim, text)
            return
        if isinstance(self._driver, Keys) and text:
            await self._marks.select_content(aim)
            await self._driver.insert_text(text)
            return
        await self.empty(aim)
        if text:
            async with self._marks.tag(aim) as selector:
                await self._driver.send_keys(selector, text)

    async def empty(self, aim: Aim) -> None:
        """Deletes what the focused field holds."""
        await self._marks.select_content(aim)
        await self.press("Delete")

    async def wheel(self, aim: Aim, dx: float, dy: float) -> tuple[float, float] | None:
        """Scrolls what scrolls at the aimed element; gives the pixels moved, None where that is not known."""
        if not aim.frame or not isinstance(self._driver, Pointer):
            async with self._marks.tag(aim) as selector:
                moved = await evaluate(self._driver, "scroll", {"selector": selector, "dx": dx, "dy": dy})
            if moved is not None:
                return float(moved[0]), float(moved[1])
        pointer = ability(self._driver, Pointer, "scroll")
        await pointer.wheel(aim.x, aim.y, dx, dy)
        return None
