"""The fake: the contract as far as it goes, and the whole Browser over it."""

from __future__ import annotations

import pytest

from agentloop.browser import Browser
from agentloop.browser.abilities import Frames
from agentloop.drivers import FakeDriver, FakeElement, FakePage
from agentloop.errors import DriverError, NavigationError
from agentloop.testing.driver_contract import DriverContract
from agentloop.testing.drivers.site import ContractSite

ROOT = "http://contract.test/"

FORM = FakePage(
    title="Form",
    elements=[
        FakeElement(tag="h1", selector="#heading", text="A form"),
        FakeElement(tag="input", selector="#name", name="Name", value="Ann"),
        FakeElement(tag="textarea", selector="#notes", name="Notes", value="one"),
        FakeElement(tag="input", type="checkbox", selector="#agree", name="Agree"),
        FakeElement(
            tag="select", selector="#size", name="Size", value="Large", options=["Small", "Large"], context="the shirt"
        ),
        FakeElement(selector="#add", name="Add"),
        FakeElement(selector="#off", name="Off", disabled=True),
        FakeElement(tag="p", selector="#count", text="0"),
        FakeElement(tag="p", selector="#sent"),
        FakeElement(tag="a", selector="#next", name="Next", href="next.html"),
    ],
)
NEXT = FakePage(
    title="Next",
    elements=[
        FakeElement(tag="h1", selector="#heading", text="The next page"),
        FakeElement(tag="a", selector="#back", name="Back", on_click="/form.html"),
    ],
)
PAGES = {ROOT + "form.html": FORM, ROOT + "next.html": NEXT}


class Declared:
    def url(self, page: str) -> str:
        return ROOT + page


class TestFakeDriver(DriverContract):
    javascript = False

    @pytest.fixture
    def site(self) -> ContractSite:
        return Declared()

    @pytest.fixture
    def driver(self) -> FakeDriver:
        return FakeDriver(PAGES)


async def test_marks_and_verbs_over_declared_pages() -> None:
    driver = FakeDriver(PAGES)
    browser = Browser(driver)
    await browser.goto(ROOT + "form.html")
    marks = await browser.mark()
    assert [(mark.id, mark.role, mark.name) for mark in marks] == [
        (1, "textbox", "Name"),
        (2, "textbox", "Notes"),
        (3, "checkbox", "Agree"),
        (4, "combobox", "Size"),
        (5, "button", "Add"),
        (6, "link", "Next"),
    ]
    await browser.type(("Name", 1), "Bea")
    assert await driver.value("#name") == "Bea"
    await browser.click(3)
    assert (await browser.mark(role="checkbox"))[0].checked is True
    await browser.select(4, "Small")
    assert await driver.value("#size") == "Small"
    receipt = await browser.click(("Next", 6))
    assert receipt.changed and driver.url == ROOT + "next.html"
    look = await browser.look()
    assert "The next page" in str(look) and "Back" in str(look)


async def test_the_mark_script_is_answered_through_eval_too() -> None:
    class Ten:
        def __init__(self, driver: FakeDriver) -> None:
            for name in ("navigate", "click", "send_keys", "wait_visible", "wait_ready", "text", "value", "eval"):
                setattr(self, name, getattr(driver, name))
            self.key_event, self.screenshot = driver.key_event, driver.screenshot

    from agentloop.browser.marks import Marks

    ten = Ten(FakeDriver(PAGES))
    assert not isinstance(ten, Frames)
    await ten.navigate(ROOT + "next.html")  # type: ignore[attr-defined]
    assert [mark.name for mark in (await Marks(ten).list()).marks] == ["Back"]  # type: ignore[arg-type]


async def test_what_is_not_declared_is_an_error_that_says_so() -> None:
    driver = FakeDriver(PAGES, answers={"1 + 1": 2})
    assert await driver.eval("1 + 1") == 2
    with pytest.raises(DriverError, match="answers"):
        await driver.eval("2 + 2")
    with pytest.raises(NavigationError, match=r"next\.html"):
        await driver.navigate(ROOT + "absent")
    assert driver.calls[-1] == ("navigate", ROOT + "absent")
