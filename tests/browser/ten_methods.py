"""A driver of the ten methods and nothing else, over one that can do more."""

from __future__ import annotations

from agentloop.browser.base import Driver
from agentloop.records import Json

__all__ = ["TenMethods"]


class TenMethods:
    """Passes the ten methods on and hides every ability."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def navigate(self, url: str) -> None:
        await self._driver.navigate(url)

    async def click(self, selector: str) -> None:
        await self._driver.click(selector)

    async def send_keys(self, selector: str, text: str) -> None:
        await self._driver.send_keys(selector, text)

    async def wait_visible(self, selector: str) -> None:
        await self._driver.wait_visible(selector)

    async def wait_ready(self, selector: str) -> None:
        await self._driver.wait_ready(selector)

    async def text(self, selector: str) -> str:
        return await self._driver.text(selector)

    async def value(self, selector: str) -> str:
        return await self._driver.value(selector)

    async def eval(self, expression: str) -> Json:
        return await self._driver.eval(expression)

    async def key_event(self, text: str) -> None:
        await self._driver.key_event(text)

    async def screenshot(self) -> bytes:
        return await self._driver.screenshot()
