"""Ten blocking methods over a synchronous Playwright page: what a user of SyncDriver would write."""

from __future__ import annotations

from playwright.sync_api import Error, Locator, Page, TimeoutError, sync_playwright

from agentloop.browser.keys import chord
from agentloop.drivers import find_browser
from agentloop.drivers.address import checked_address
from agentloop.errors import NavigationError, TargetError
from agentloop.records import Json

ACT_MS = 3_000


class BlockingPage:
    """The ten methods over a page that somebody else opened."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def navigate(self, url: str) -> None:
        address = checked_address(url)
        for last in (False, False, True):
            try:
                self.page.goto(address, wait_until="domcontentloaded")
                return
            except Error as error:
                # The error page of the address before, or its reload, came in between.
                self.page.wait_for_timeout(200)
                if last or "interrupted" not in error.message:
                    raise NavigationError(f"{address} could not be opened: {error.message}", url=address) from None

    def click(self, selector: str) -> None:
        self._first(selector).click(timeout=ACT_MS)

    def send_keys(self, selector: str, text: str) -> None:
        element = self._first(selector)
        if element.get_attribute("type") == "date":
            element.fill(text)
            return
        one_line = element.evaluate("e => e instanceof HTMLInputElement")
        if one_line:
            element.fill(element.input_value() + text.replace("\n", ""))
        else:
            element.evaluate("(e, text) => { e.value += text; e.dispatchEvent(new Event('input')) }", text)

    def wait_visible(self, selector: str) -> None:
        self.page.locator(selector).first.wait_for(state="visible")

    def wait_ready(self, selector: str) -> None:
        self.page.locator(selector).first.wait_for(state="attached", timeout=1_000)

    def text(self, selector: str) -> str:
        return self._first(selector).inner_text()

    def value(self, selector: str) -> str:
        return self._first(selector).input_value()

    def eval(self, expression: str) -> Json:
        endless = "new Promise((_, fail) => setTimeout(() => fail(new Error('too long')), 3000))"
        return self.page.evaluate(f"Promise.race([{endless}, (() => ({expression}))()])")

    def key_event(self, text: str) -> None:
        name = chord(text)
        if name == text:
            self.page.keyboard.press(name)
        else:
            self.page.keyboard.type(text)

    def screenshot(self) -> bytes:
        return self.page.screenshot(scale="css")

    def _first(self, selector: str) -> Locator:
        element = self.page.locator(selector).first
        try:
            element.wait_for(state="attached", timeout=ACT_MS)
        except TimeoutError:
            raise TargetError(f"nothing matches {selector!r}", reason="missing") from None
        return element


class BlockingBrowser(BlockingPage):
    """The same with a browser of its own, opened in the thread that makes it."""

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=find_browser().path)
        super().__init__(self._browser.new_page())

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()
