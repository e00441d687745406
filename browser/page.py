"""Reading the page beside its marks: address, title, text, and waiting for them."""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import Awaitable, Callable

from agentloop.browser.abilities import Frames
from agentloop.browser.base import Driver
from agentloop.browser.scripts import small_script
from agentloop.errors import DriverTimeout, TargetError
from agentloop.records import Json

__all__ = ["address", "evaluate", "has_text", "markdown", "title", "until", "url_matches"]

_POLL_S = 0.1


async def evaluate(driver: Driver, name: str, argument: Json, *, frame: str = "") -> Json:
    """What the script `<name>.js` gives for `argument`: in our own world where the driver has one."""
    script = small_script(name)
    if isinstance(driver, Frames):
        return await driver.run_script(frame, script, argument)
    return await driver.eval(f"({script.source})({json.dumps(argument)})")


async def address(driver: Driver) -> str:
    """The address of the active page."""
    if isinstance(driver, Frames):
        return (await driver.frames())[0].url
    return str(await driver.eval("location.href"))


async def title(driver: Driver) -> str:
    """The title of the active page; the page has no say in it where the driver has a world of our own."""
    if isinstance(driver, Frames):
        return str(await evaluate(driver, "title", None))
    return str(await driver.eval("document.title"))


async def markdown(driver: Driver) -> str:
    """The rendered text of the page as Markdown; frames follow the main page, each under its address."""
    if not isinstance(driver, Frames):
        return str(await evaluate(driver, "markdown", {}))
    parts = []
    for frame in await driver.frames():
        text = str(await evaluate(driver, "markdown", {}, frame=frame.id))
        parts.append(f"---\nFrame {frame.url}\n\n{text}" if frame.parent and text else text)
    return "\n\n".join(part for part in parts if part)


async def has_text(driver: Driver, text: str) -> bool:
    """True when `text` stands in the rendered text of the page or of a frame, spaces folded."""
    if not isinstance(driver, Frames):
        return bool(await evaluate(driver, "has_text", {"text": text}))
    for frame in await driver.frames():
        try:
            if await evaluate(driver, "has_text", {"text": text}, frame=frame.id):
                return True
        except TargetError:
            continue  # the frame went meanwhile
    return False


async def until(check: Callable[[], Awaitable[bool]], *, timeout: float, what: str) -> None:
    """Asks again and again until `check` says yes. Raises `DriverTimeout` naming `what` after `timeout` seconds."""
    try:
        async with asyncio.timeout(timeout):
            while True:
                if await check():
                    return
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise DriverTimeout(f"{what} did not come within {timeout:g} s") from None


def url_matches(url: str, part: str) -> bool:
    """True when `url` contains `part`; a `*` in it stands for anything."""
    return fnmatch.fnmatchcase(url, f"*{part.replace('[', '[[]').replace('?', '[?]')}*")
