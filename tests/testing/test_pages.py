"""The scripts of the fixture pages, in a bare browser that nothing guards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from agentloop.drivers import find_browser
from agentloop.testing.site import Site, serve_site

VECTORS = {
    *("embed", "fetch", "iframe", "img", "object", "redirect", "script", "socket", "sse", "style", "worker", "xhr"),
    "beacon",
}


@pytest_asyncio.fixture(scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=find_browser().path)
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture
async def page(chromium: Browser) -> AsyncIterator[Page]:
    """A page of its own that must stay without script errors."""
    context = await chromium.new_context()
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    await context.close()
    assert not errors


@pytest_asyncio.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


async def until_hit(site: Site, expected: set[str]) -> None:
    """Waits, bounded, until each of the vectors has asked for its page."""
    async with asyncio.timeout(20):
        while not expected <= {hit.rsplit("/", 1)[1] for hit in site.hits}:  # noqa: ASYNC110 - nothing tells of a hit
            await asyncio.sleep(0.02)


async def test_adding_to_the_cart_stays_on_the_page(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/shop/")
    card = page.get_by_role("listitem").filter(has_text="Birch mug 3")
    await card.get_by_role("button", name="Add to cart").click()
    await expect(page.get_by_role("status")).to_have_text("Birch mug 3 is in your cart.")
    await expect(page.get_by_role("link", name="Cart (1)")).to_be_visible()
    assert page.url == f"{site.url}/shop/"


async def test_a_chosen_sort_is_applied_at_once(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/shop/?q=lamp")
    await page.get_by_label("Sort by").select_option("Price: low to high")
    await expect(page.get_by_role("main").get_by_role("link").first).to_have_text("Birch lamp 138")


async def test_a_refused_choice_is_said_in_a_toast(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/shop/product/8")
    await page.get_by_role("button", name="Add to cart").first.click()
    await expect(page.get_by_role("status")).to_have_text("Choose a size.")


async def test_custom_controls_reach_the_server(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/forms/")
    await page.get_by_role("textbox", name="Short biography").fill("Born.\nLived.")
    await page.get_by_text("Send me the newsletter").click()
    await page.get_by_text("Window", exact=True).click()
    await page.get_by_role("option", name="Medium").click()
    await page.get_by_role("combobox", name="Fruit").press_sequentially("ap")
    await page.get_by_role("option", name="Grape").click()
    await page.get_by_role("combobox", name="Department").click()
    await page.get_by_role("option", name="Kitchen").click()
    await page.get_by_role("switch").click()
    await page.get_by_role("slider", name="Heating").press("ArrowRight")
    await page.get_by_role("button", name="Private").click()
    await page.get_by_role("button", name="Send", exact=True).click()
    await page.get_by_text("As JSON").click()
    received = json.loads(await page.locator("#received").inner_text())
    wanted = {
        "bio": "Born.\nLived.",
        "toggle": "on",
        "hidden_radio": "window",
        "listbox": "Medium",
        "combobox": "Grape",
        "menu": "Kitchen",
        "switch": "on",
        "slider": "21",
        "tags": "Private",
    }
    assert {name: received[name] for name in wanted} == {name: [value] for name, value in wanted.items()}
    assert "disabled" not in received


async def test_another_version_of_the_documentation(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/docs/timeouts")
    await page.get_by_label("Version").select_option("1.8")
    await expect(page.get_by_text("no longer maintained")).to_be_visible()


async def test_the_leak_page_does_leak(page: Page, site: Site) -> None:
    """The control: a boundary that holds must have had something to hold."""
    async with serve_site(host="127.0.0.2") as other:
        await page.goto(f"{site.url}/hostile/leak?other={other.url}")
        await expect(page.get_by_role("status")).to_have_text("Every leak was tried.")
        await until_hit(other, VECTORS)
        for name in ("refresh", "moved"):
            await page.goto(f"{site.url}/hostile/{name}?other={other.url}", wait_until="commit")
            await page.wait_for_url(f"{other.url}/hostile/reach/{name}")
        await page.goto(f"{site.url}/hostile/popup?other={other.url}")
        await until_hit(other, {"popup-load"})


async def test_traps_spring(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/hostile/traps")
    page.once("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
    await page.get_by_role("button", name="Confirm", exact=True).click()
    await expect(page.get_by_role("status")).to_have_text("confirm: true")
