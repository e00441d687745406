"""How acts find their one target, and what is said when they do not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import pytest_asyncio

from agentloop.browser import Act, Browser, Mark, Receipt, Target
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import InvalidInput, TargetError
from tests.browser.page_server import PageServer
from tests.browser.shop_page import SHOP, number_of, show

COVERED = """<!doctype html><title>Covered</title><button onclick="document.title='clicked'" id="buy">Buy</button>
<div id="consent" style="position:fixed;inset:0;background:#fff">We use cookies
<button onclick="consent.remove()">Accept</button></div>"""


@pytest_asyncio.fixture
async def browser(driver: PlaywrightDriver) -> Browser:
    return Browser(driver)


async def test_targets_of_every_form(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    marks = await browser.mark(name="Add to cart")
    point: Target = {"x": marks[1].x, "y": marks[1].y}
    cases: list[tuple[Target | Mark, str]] = [
        (marks[0], "glass"),
        (marks[1].id, "oak"),
        (("Add to cart", marks[1].id), "oak"),
        ("li:first-of-type button", "glass"),
        (point, "oak"),
        (("trash", await number_of(browser, "trash")), "trash"),
    ]
    for target, said in cases:
        await browser.click(target)
        assert await browser.text("#said") == said, target


async def test_the_name_decides_when_the_number_is_wrong(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    receipt = await browser.click(("Try", 4))
    assert receipt.note == 'by name; 4 was "Cart"'
    assert (await browser.text("#said"), await browser.title()) == ("trusted true", "Shop")


async def test_a_name_that_stays_open_is_refused_with_its_rows(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    with pytest.raises(TargetError) as caught:
        await browser.click(("Add to cart", 4))
    assert caught.value.reason == "mismatch"
    assert "Glass lamp 96 EUR" in str(caught.value) and "Oak lamp 269 EUR" in str(caught.value)
    assert "On the page now:" in str(caught.value)
    assert browser.take_receipts() == () and await browser.title() == "Shop"


async def test_what_is_nowhere_is_said_to_be_nowhere(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    with pytest.raises(TargetError, match="nothing on the page now is named"):
        await browser.click(("Checkout", 3))
    with pytest.raises(TargetError, match="marks now, numbered 1 to"):
        await browser.click(999)
    with pytest.raises((TargetError, InvalidInput), match="Checkout now"):
        await browser.click("Checkout now")


async def test_numbers_of_the_page_before_are_refused_and_names_still_work(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    await browser.click(("Cart", 4))
    with pytest.raises(TargetError, match=r'the page changed after click\("Cart", 4\)') as caught:
        await browser.click(1)
    assert caught.value.reason == "stale"
    await browser.goto("/cart")
    await browser.click(("Shop", 1))
    assert await browser.title() == "Shop"


async def test_numbers_need_a_listing(browser: Browser, pages: PageServer) -> None:
    pages.put(SHOP)
    await browser.driver.navigate(pages.address())
    with pytest.raises(TargetError, match=r"call mark\(\) first"):
        await browser.click(1)


async def test_a_covered_target_names_what_covers_it(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, COVERED)
    with pytest.raises(TargetError, match="consent") as caught:
        await browser.click("#buy")
    assert caught.value.reason == "covered"
    assert await browser.title() == "Covered"
    await browser.click("Accept")
    await browser.click("Buy")
    assert await browser.title() == "clicked"


async def test_a_disabled_target_is_refused(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    with pytest.raises(TargetError, match="disabled"):
        await browser.click("#off")


async def test_nothing_seen_to_follow_is_said(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, "<!doctype html><button>Idle</button>")
    await browser.click("Idle")
    browser.take_receipts()
    receipt = await browser.click("Idle")
    assert not receipt.changed
    assert browser.take_receipts() == ('click("Idle", 1) -> no effect seen',)


class Watching:
    """Sees every act, and turns aim to another target when told to."""

    def __init__(self, instead: Target | None = None) -> None:
        self.seen: list[str] = []
        self.values: list[tuple[str, ...]] = []
        self.targets: list[Target | None] = []
        self._instead = instead

    async def before(self, act: Act, target: Target | None, marks: Sequence[Mark]) -> Target | None:
        self.seen.append(act.call)
        self.values.append(act.values)
        self.targets.append(target)
        return self._instead or target

    async def after(self, act: Act, receipt: Receipt) -> None:
        self.seen.append(receipt.call)


async def test_observers_see_acts_and_re_aim_them(driver: PlaywrightDriver, pages: PageServer) -> None:
    watching = Watching(instead="#off ~ p, li:nth-of-type(2) button")
    browser = Browser(driver, observers=[watching])
    await show(browser, pages, SHOP)
    watching.seen.clear()
    await browser.click(("Try", 3))
    assert await browser.text("#said") == "oak"
    assert watching.seen[0] == 'click("Try", 3)'
    assert watching.seen[1].startswith("click(")


async def test_observers_are_shown_plain_targets_and_what_goes_in(driver: PlaywrightDriver, pages: PageServer) -> None:
    watching = Watching()
    browser = Browser(driver, observers=[watching])
    await show(
        browser, pages, "<!doctype html><input aria-label=Name><select aria-label=Size><option>S<option>L</select>"
    )
    name, size = await browser.mark()
    await browser.type(name, "Ann")
    await browser.select(size, "L")
    await browser.press("Tab")
    assert watching.targets[-3:] == [("Name", 1), ("Size", 2), None]
    assert watching.values[-3:] == [("Ann",), ("L",), ()]


async def test_a_receipt_names_the_target_as_it_was_when_it_was_acted_on(
    driver: PlaywrightDriver, pages: PageServer
) -> None:
    browser = Browser(driver)
    await show(browser, pages, "<button id=c>Cart (0)</button>")
    await driver.eval("void (c.textContent = 'Cart (2)')")
    assert (await browser.click(1)).call == 'click("Cart (2)", 1)'


async def test_a_box_whose_label_says_something_else_now_is_not_ticked(
    driver: PlaywrightDriver, pages: PageServer
) -> None:
    browser = Browser(driver)
    await show(browser, pages, "<label><input type=checkbox><span id=w>Keep me posted</span></label>")
    await driver.eval("void (w.textContent = 'Delete my account')")
    with pytest.raises(TargetError, match='was "Keep me posted" and is now "Delete my account"'):
        await browser.check(1)
