"""A driver that has the ten methods and nothing more, over one that has everything."""

from __future__ import annotations

from agentloop.browser.base import Driver
from agentloop.records import Json

__all__ = ["TenMethods"]


class TenMethods:
    """Passes the ten methods on; no ability of the driver inside shows through."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def navigate(self, url: str) -> None:
        """As the driver inside."""
        await self._driver.navigate(url)

    async def click(self, selector: str) -> None:
        """As the driver inside."""
        await self._driver.click(selector)

    async def send_keys(self, selector: str, text: str) -> None:
        """As the driver inside."""
        await self._driver.send_keys(selector, text)

    async def wait_visible(self, selector: str) -> None:
        """As the driver inside."""
        await self._driver.wait_visible(selector)

    async def wait_ready(self, selector: str) -> None:
        """As the driver inside."""
        await self._driver.wait_ready(selector)

    async def text(self, selector: str) -> str:
        """As the driver inside."""
        return await self._driver.text(selector)

    async def value(self, selector: str) -> str:
        """As the driver inside."""
        return await self._driver.value(selector)

    async def eval(self, expression: str) -> Json:
        """As the driver inside."""
        return await self._driver.eval(expression)

    async def key_event(self, text: str) -> None:
        """As the driver inside."""
        await self._driver.key_event(text)

    async def screenshot(self) -> bytes:
        """As the driver inside."""
        return await self._driver.screenshot()
