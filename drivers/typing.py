"""Text into form controls by selector."""

from __future__ import annotations

import sys

from playwright.async_api import Locator

__all__ = ["send_keys"]

_SET_WHOLE = (
    "input:is([type=date],[type=time],[type=month],[type=week],[type=datetime-local],[type=color],[type=range])"
)
_MULTILINE = ":is(textarea, [contenteditable]:not([contenteditable=false]))"
_TO_END = "Meta+ArrowDown" if sys.platform == "darwin" else "Control+End"
_KEY_BY_KEY = 200


async def send_keys(element: Locator, text: str, *, timeout: float) -> None:
    """Types `text` after what the element holds; `timeout` is in milliseconds.

    Controls that take no free text are set to it as a whole. A newline is dropped where the element
    has only one line: as a key it would submit the form.
    """
    page = element.page
    if await _is(element, _SET_WHOLE):
        await element.fill(text, timeout=timeout)
        return
    await element.focus(timeout=timeout)
    await page.keyboard.press(_TO_END)
    lines = text.replace("\r\n", "\n").split("\n")
    many = len(lines) > 1 and await _is(element, _MULTILINE)
    if len(text) > _KEY_BY_KEY:
        await page.keyboard.insert_text("\n".join(lines) if many else "".join(lines))
        return
    for number, line in enumerate(lines):
        if number and many:
            await page.keyboard.insert_text("\n")
        await page.keyboard.type(line)


async def _is(element: Locator, selector: str) -> bool:
    return await element.and_(element.page.locator(f"css={selector}")).count() > 0
