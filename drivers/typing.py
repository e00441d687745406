"""Text into the focused element and into form controls by selector."""

from __future__ import annotations

import sys

from playwright.async_api import Locator

from agentloop.browser.abilities import PageScript
from agentloop.browser.scripts import small_script
from agentloop.drivers.page_session import PageSession

__all__ = ["insert_text", "send_keys"]

_SET_WHOLE = (
    "input:is([type=date],[type=time],[type=month],[type=week],[type=datetime-local],[type=color],[type=range])"
)
_MULTILINE = ":is(textarea, [contenteditable]:not([contenteditable=false]))"
_TO_END = "Meta+ArrowDown" if sys.platform == "darwin" else "Control+End"
_KEY_BY_KEY = 200
_MANY_LINES = 20
_FRAME_DEPTH = 10


async def insert_text(session: PageSession, text: str) -> None:
    """Puts text in at the caret in one go.

    The browser's own way takes a time that grows with the square of the lines, 3 s for 400 of them, so
    many lines go into a textarea by script.
    """
    if text.count("\n") > _MANY_LINES:
        frame = await _focused_frame(session)
        if await session.run_script(frame, _script("insert_lines"), text):
            return
    await session.page.keyboard.insert_text(text)


async def _focused_frame(session: PageSession) -> str:
    frame = ""
    for _ in range(_FRAME_DEPTH):
        child = await session.child_frame(frame, _script("active_element"), None)
        if child is None:
            break
        frame = child
    return frame


async def send_keys(session: PageSession, element: Locator, text: str, *, timeout: float) -> None:
    """Types `text` after what the element holds; `timeout` is in milliseconds.

    Controls that take no free text are set to it as a whole. A newline is dropped where the element
    has only one line: as a key it would submit the form.
    """
    keyboard = session.page.keyboard
    if await _is(element, _SET_WHOLE):
        await element.fill(text, timeout=timeout)
        return
    await element.focus(timeout=timeout)
    await keyboard.press(_TO_END)
    lines = text.replace("\r\n", "\n").split("\n")
    many = len(lines) > 1 and await _is(element, _MULTILINE)
    if len(text) > _KEY_BY_KEY:
        await insert_text(session, "\n".join(lines) if many else "".join(lines))
        return
    for number, line in enumerate(lines):
        if number and many:
            await keyboard.insert_text("\n")
        await keyboard.type(line)


async def _is(element: Locator, selector: str) -> bool:
    return await element.and_(element.page.locator(f"css={selector}")).count() > 0


def _script(name: str) -> PageScript:
    return small_script(name, package="agentloop.drivers")
