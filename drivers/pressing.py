"""Keys by the names the browser knows, pressed and held; the pointer, moved and pressed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from playwright.async_api import Page

from agentloop.browser.base import MouseButton
from agentloop.browser.keys import KEY_EXAMPLES, chord
from agentloop.drivers.page_session import PageSession
from agentloop.errors import InvalidInput

__all__ = ["click", "drag", "held_keys", "key_name", "move", "pressed_key"]

_DRAG_STEPS = 10
_CONTROLS = {"\r": "Enter", "\n": "Enter", "\t": "Tab", "\b": "Backspace", "\x1b": "Escape", "\x7f": "Delete"}


def key_name(keys: str) -> str:
    """The browser's name of a key or chord. Raises `InvalidInput` for what is none."""
    name = _CONTROLS.get(keys) or chord(keys)
    if name is None:
        raise InvalidInput(f"{keys!r} is no key; keys are {KEY_EXAMPLES}")
    return name


def pressed_key(text: str) -> str | None:
    """The key that `text` names, None when it is text to type: "left" is a word, "ArrowLeft" and "ctrl+a" are keys."""
    name = _CONTROLS.get(text) or chord(text)
    return name if name is not None and (name == text or text in _CONTROLS or "+" in text) else None


@asynccontextmanager
async def held_keys(page: Page, names: Sequence[str]) -> AsyncIterator[None]:
    """Holds the keys down for the block."""
    pressed: list[str] = []
    try:
        for name in names:
            await page.keyboard.down(name)
            pressed.append(name)
        yield
    finally:
        for name in reversed(pressed):
            await page.keyboard.up(name)


async def move(session: PageSession, x: float, y: float) -> None:
    """Moves the pointer to a point of the page."""
    session.pointer = None
    await session.page.mouse.move(x, y)
    session.pointer = (x, y)


async def click(
    session: PageSession, x: float, y: float, *, button: MouseButton, count: int, modifiers: Sequence[str] = ()
) -> None:
    """Presses and releases `count` times. A pointer that is there already is not moved: no page hears of it again."""
    held = [key_name(name) for name in modifiers]
    mouse = session.page.mouse
    async with held_keys(session.page, held):
        if session.pointer != (x, y):
            await move(session, x, y)
        # They go out in this order, without waiting for the page between them.
        presses = [each(button=button, click_count=n) for n in range(1, count + 1) for each in (mouse.down, mouse.up)]
        await asyncio.gather(*presses)


async def drag(session: PageSession, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Presses at one point and lets go at the other, moving in steps."""
    mouse = session.page.mouse
    await move(session, *start)
    session.pointer = None
    await mouse.down()
    try:
        await mouse.move(*end, steps=_DRAG_STEPS)
    finally:
        await mouse.up()
