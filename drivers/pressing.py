"""Keys by the names the browser knows, pressed and held."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from playwright.async_api import Mouse, Page

from agentloop.browser.keys import KEY_EXAMPLES, chord
from agentloop.errors import InvalidInput

__all__ = ["drag", "held_keys", "key_name", "pressed_key"]

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


async def drag(mouse: Mouse, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Presses at one point and lets go at the other, moving in steps."""
    await mouse.move(*start)
    await mouse.down()
    try:
        await mouse.move(*end, steps=_DRAG_STEPS)
    finally:
        await mouse.up()
