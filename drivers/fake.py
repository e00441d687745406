"""A driver without a browser: pages of declared elements, for tests of whatever is built on a driver."""

from __future__ import annotations

import asyncio
import json
import struct
import zlib
from collections.abc import Mapping
from urllib.parse import urljoin

from agentloop.browser.abilities import Frame, PageScript
from agentloop.browser.keys import chord
from agentloop.browser.scripts import page_script
from agentloop.drivers.address import checked_address
from agentloop.drivers.fake_page import FakeDocument, FakePage, LiveElement
from agentloop.errors import DriverError, DriverTimeout, NavigationError, TargetError
from agentloop.records import Json

__all__ = ["FakeDriver"]

_MAIN = "main"


class FakeDriver:
    """`FakeDriver({"http://shop.test/": FakePage(elements=[FakeElement(tag="a", name="Next", href="/2")])})`.

    It has the ten methods and `Frames`; it answers the product's own page scripts from the declared elements
    and runs no other JavaScript: what `eval` and unknown scripts give is declared in `answers`, by
    expression or script name. A selector matches the element declared with it, or a tag. Waiting for what
    is not there ends after `wait_s` seconds. `calls` lists the ten methods called, with their arguments.
    """

    def __init__(
        self,
        pages: Mapping[str, FakePage],
        *,
        answers: Mapping[str, Json] | None = None,
        viewport: tuple[int, int] = (1280, 720),
        wait_s: float = 1.0,
    ) -> None:
        self._pages = dict(pages)
        self._answers = dict(answers or {})
        self._viewport = viewport
        self._wait_s = wait_s
        self._documents = 0
        self._page = self._opened("about:blank", FakePage())
        self.calls: list[tuple[str, ...]] = []

    @property
    def url(self) -> str:
        """The address of the page that is open."""
        return self._page.url

    # the ten methods ---------------------------------------------------------------------------------

    async def navigate(self, url: str) -> None:
        """Opens a declared page. Raises `NavigationError` for any other address."""
        self.calls.append(("navigate", url))
        self._open(checked_address(url))

    async def click(self, selector: str) -> None:
        """Clicks: boxes are checked, links and `on_click` followed, the focus moves."""
        self.calls.append(("click", selector))
        self._click(self._usable(selector, "click"))

    async def send_keys(self, selector: str, text: str) -> None:
        """Types after what the element holds."""
        self.calls.append(("send_keys", selector, text))
        element = self._usable(selector, "send_keys")
        self._page.focused = element
        element.type(text)

    async def wait_visible(self, selector: str) -> None:
        """Returns at once when the element is declared and not hidden, else ends after `wait_s`."""
        self.calls.append(("wait_visible", selector))
        element = self._page.find(selector)
        if selector not in ("body", "html") and (element is None or element.declared.hidden):
            await self._wait(selector)

    async def wait_ready(self, selector: str) -> None:
        """Returns at once when the element is declared, else ends after `wait_s`."""
        self.calls.append(("wait_ready", selector))
        if selector not in ("body", "html") and self._page.find(selector) is None:
            await self._wait(selector)

    async def text(self, selector: str) -> str:
        """The declared text, else the name."""
        self.calls.append(("text", selector))
        return self._found(selector, "text").text

    async def value(self, selector: str) -> str:
        """What the control holds now."""
        self.calls.append(("value", selector))
        return self._found(selector, "value").value

    async def eval(self, expression: str) -> Json:
        """The declared answer; the title, the address and the mark script need none."""
        self.calls.append(("eval", expression))
        if expression in self._answers:
            return self._answers[expression]
        if expression == "document.title":
            return self._page.declared.title
        if expression == "location.href":
            return self.url
        call = f"JSON.stringify(({page_script().source})("
        if expression.startswith(call):
            return json.dumps(self._page.answer(json.loads(expression[len(call) : -2])))
        raise DriverError("eval: a FakeDriver runs no JavaScript; declare the value: answers={expression: value}")

    async def key_event(self, text: str) -> None:
        """Types into the focused element; Backspace, Delete, Control+a and Enter do what they do."""
        self.calls.append(("key_event", text))
        element = self._page.focused
        if element is None:
            return
        name = chord(text)
        if name == "Enter":
            if element.followed:
                self._click(element)
        elif name is not None and name == text and len(name) > 1:
            element.press(name)
        else:
            element.type(text)

    async def screenshot(self) -> bytes:
        """A white picture of the viewport's size."""
        self.calls.append(("screenshot",))
        return _white(*self._viewport)

    # Frames ------------------------------------------------------------------------------------------

    async def frames(self) -> tuple[Frame, ...]:
        """The one frame there is."""
        return (Frame(id=_MAIN, parent=None, url=self.url, document=self._page.token),)

    async def run_script(self, frame: str, script: PageScript, argument: Json) -> Json:
        """The answer of a known script, or the declared one."""
        if frame not in ("", _MAIN):
            raise TargetError("the frame is gone: a FakeDriver has one only", reason="stale")
        if script.name in self._answers:
            return self._answers[script.name]
        if script.name == page_script().name:
            return self._page.answer(argument)
        known = self._page.reading(script.name, argument)
        if known is NotImplemented:
            raise DriverError(f"a FakeDriver does not know the script {script.name!r}; declare it in answers")
        return known

    async def child_frame(self, frame: str, script: PageScript, argument: Json) -> str | None:
        """None: there are no frames in a declared page."""
        return None

    # inside ------------------------------------------------------------------------------------------

    def _opened(self, url: str, page: FakePage) -> FakeDocument:
        self._documents += 1
        return FakeDocument(page, url=url, number=self._documents, viewport=self._viewport)

    def _open(self, url: str) -> None:
        page = self._pages.get(url) or self._pages.get(url.partition("#")[0])
        if page is None and url != "about:blank":
            known = ", ".join(self._pages) or "none"
            raise NavigationError(f"{url} could not be opened: it is not declared; declared are {known}", url=url)
        self._page = self._opened(url, page or FakePage())

    def _click(self, element: LiveElement) -> None:
        self._page.focused = element
        element.toggle(self._page.elements)
        if element.followed:
            self._open(urljoin(self.url, element.followed))

    def _found(self, selector: str, verb: str) -> LiveElement:
        element = self._page.find(selector)
        if element is None:
            raise TargetError(f"{verb}: nothing matches {selector!r}", reason="missing")
        return element

    def _usable(self, selector: str, verb: str) -> LiveElement:
        element = self._found(selector, verb)
        for reason in ("hidden", "disabled"):
            if getattr(element.declared, reason):
                raise TargetError(f"{verb}: {selector!r} is {reason}", reason=reason)
        return element

    async def _wait(self, selector: str) -> None:
        await asyncio.sleep(self._wait_s)
        raise DriverTimeout(f"waiting for {selector!r} was not done within {self._wait_s:g} s")


def _white(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
