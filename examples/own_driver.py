"""A driver of your own: ten async methods, here around a bare Playwright page, and every verb of `Browser` works.
One for others also bounds each wait and turns its library's errors into those of `agentloop.errors`."""

import asyncio

from playwright.async_api import Page, async_playwright

from agentloop.browser import Browser
from agentloop.drivers import find_browser
from agentloop.testing.site import serve_site


class PageDriver:
    def __init__(self, page: Page) -> None:
        self._page = page

    async def navigate(self, url: str) -> None:
        await self._page.goto(url, wait_until="domcontentloaded")

    async def click(self, selector: str) -> None:
        await self._page.click(selector)

    async def send_keys(self, selector: str, text: str) -> None:
        await self._page.type(selector, text)

    async def wait_visible(self, selector: str) -> None:
        await self._page.wait_for_selector(selector, state="visible")

    async def wait_ready(self, selector: str) -> None:
        await self._page.wait_for_selector(selector, state="attached")

    async def text(self, selector: str) -> str:
        return await self._page.inner_text(selector)

    async def value(self, selector: str) -> str:
        return await self._page.input_value(selector)

    async def eval(self, expression: str) -> object:
        return await self._page.evaluate(expression)

    async def key_event(self, text: str) -> None:
        await self._page.keyboard.press(text)

    async def screenshot(self) -> bytes:
        return await self._page.screenshot()


async def main() -> None:
    async with serve_site() as site, async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=find_browser().path)
        browser = Browser(PageDriver(await chromium.new_page()))
        await browser.goto(f"{site.url}/shop/")
        field, button = await browser.mark(name="Search")
        await browser.type(field.id, "oak lamp")
        print("opened", (await browser.click(button.id)).effects.url)
        print([mark.name for mark in await browser.mark(role="link", within="main")])
        await chromium.close()


asyncio.run(main())
