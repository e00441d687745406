"""The verbs around the acts: where the page is, tabs, dialogs, downloads, and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from agentloop.browser.abilities import Dialogs, Downloads, Tabs
from agentloop.browser.acting import Acting
from agentloop.browser.base import Dialog, DialogAnswer, Download, Driver, Tab
from agentloop.browser.input import ability
from agentloop.browser.page import address, has_text, markdown, title, until, url_matches
from agentloop.errors import DriverTimeout
from agentloop.records import Json

__all__ = ["Surroundings"]

_WAIT_S = 30.0
_SLEEP_LIMIT_S = 30.0


class Surroundings:
    """The part of `Browser` that touches no element."""

    driver: Driver
    _acting: Acting

    async def url(self) -> str:
        """The address of the page."""
        return await address(self.driver)

    async def title(self) -> str:
        """The title of the page."""
        return await title(self.driver)

    async def eval(self, expression: str) -> Json:
        """The JSON value of a JavaScript expression in the page's own world."""
        return await self.driver.eval(expression)

    async def markdown(self) -> str:
        """The page's rendered text as Markdown."""
        return await markdown(self.driver)

    # Tabs, dialogs, downloads

    async def tabs(self) -> tuple[Tab, ...]:
        """Open tabs, oldest first; acts go to the active one."""
        return await ability(self.driver, Tabs, "tabs").tabs()

    async def switch_tab(self, tab: str) -> None:
        """Makes a tab the active one."""
        await ability(self.driver, Tabs, "switchTab").switch_tab(tab)
        self._acting.page_changed("switchTab")

    async def close_tab(self, tab: str | None = None) -> None:
        """Closes a tab, the active one if none is named."""
        tabs = ability(self.driver, Tabs, "closeTab")
        if tab is None:
            tab = next(each.id for each in await tabs.tabs() if each.active)
        await tabs.close_tab(tab)
        self._acting.page_changed("closeTab")

    async def dialogs(self) -> tuple[Dialog, ...]:
        """Dialogs so far, oldest first; each was answered at once."""
        return await ability(self.driver, Dialogs, "dialogs").dialogs()

    async def on_dialog(self, answer: DialogAnswer | None) -> None:
        """How to answer dialogs from now on; None returns to the default."""
        await ability(self.driver, Dialogs, "onDialog").on_dialog(answer)

    async def downloads(self) -> tuple[Download, ...]:
        """Files the pages gave, oldest first."""
        return await ability(self.driver, Downloads, "downloads").downloads()

    # Waiting

    async def wait_visible(self, selector: str, *, timeout: float = _WAIT_S) -> None:
        """Returns when an element matches and can be seen. `timeout` in seconds; raises `DriverTimeout`."""
        await _within(timeout, self.driver.wait_visible(selector), f"{selector} to be seen")

    async def wait_ready(self, selector: str, *, timeout: float = _WAIT_S) -> None:
        """Returns when an element matches."""
        await _within(timeout, self.driver.wait_ready(selector), f"{selector}")

    async def wait_text(self, text: str, *, timeout: float = _WAIT_S) -> None:
        """Returns when `text` stands on the page or in a frame of it."""
        await until(lambda: has_text(self.driver, text), timeout=timeout, what=f"the text {text!r}")

    async def wait_url(self, part: str, *, timeout: float = _WAIT_S) -> str:
        """Returns the address once it contains `part`; a * in it stands for anything."""

        async def check() -> bool:
            return url_matches(await address(self.driver), part)

        await until(check, timeout=timeout, what=f"an address with {part!r}")
        return await address(self.driver)

    async def sleep(self, ms: float) -> None:
        """Waits, 30 s at most."""
        await asyncio.sleep(min(max(ms, 0) / 1000, _SLEEP_LIMIT_S))


async def _within(timeout: float, waiting: Awaitable[None], what: str) -> None:
    try:
        async with asyncio.timeout(timeout):
            await waiting
    except TimeoutError:
        raise DriverTimeout(f"{what} did not come within {timeout:g} s") from None
