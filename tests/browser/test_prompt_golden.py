"""What a browsing model reads, byte for byte, on three pages of the fixture sites.

A golden file that is missing is written and the test fails once: delete one to renew it, and read the difference.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agentloop.browser import Browser, browser_capability
from agentloop.capabilities import BuildContext
from agentloop.context.prompt import Prompt, system_prompt
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.packs.base import Pack
from agentloop.testing.site import SITES, Site, serve_site

GOLDEN = Path(__file__).parent / "golden"

# Characters of each kind of text per token, measured with a byte-pair tokenizer: the lowest seen.
PROMPT_RATE = 3.55
PAIR_RATE = 2.8
PAGE_RATE = 2.2


@pytest_asyncio.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest_asyncio.fixture
async def driver(host: BrowserHost, site: Site) -> AsyncIterator[PlaywrightDriver]:
    async with host.driver(allow=[site.url]) as driver:
        yield driver


async def pack_at(driver: PlaywrightDriver, url: str) -> Pack:
    [pack] = await browser_capability(driver, globals=True).build(BuildContext(start_url=url))
    return pack


async def page_at(driver: PlaywrightDriver, url: str) -> str:
    pack = await pack_at(driver, url)
    assert pack.observe is not None
    seen = await pack.observe()
    assert seen is not None
    return seen.text


def agrees_with(name: str, text: str) -> None:
    file = GOLDEN / name
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n")
        pytest.fail(f"{name} was missing and is written now: read it")
    wanted = file.read_text().removesuffix("\n")
    difference = "\n".join(difflib.unified_diff(wanted.splitlines(), text.splitlines(), name, "now", lineterm=""))
    assert text == wanted, f"\n{difference}"


async def in_checkout(driver: PlaywrightDriver, site: Site) -> str:
    browser = Browser(driver)
    await browser.goto(f"{site.url}/shop/")
    [first, *_] = await browser.mark(name="Add to cart")
    await browser.click(first)
    return f"{site.url}/shop/checkout"


async def test_the_system_prompt(driver: PlaywrightDriver, site: Site) -> None:
    pack = await pack_at(driver, f"{site.url}/shop/")
    prompt = system_prompt(Prompt.named("browse"), [pack])
    agrees_with("system.md", prompt)
    assert len(prompt) / PROMPT_RATE <= 520


def test_the_worked_pair() -> None:
    user, assistant = Prompt.named("browse").examples
    assert (user.role, assistant.role) == ("user", "assistant")
    assert (len(user.text) + len(assistant.text)) / PAIR_RATE <= 131
    assert "answer(" not in assistant.text


async def test_the_shop_list(driver: PlaywrightDriver, site: Site) -> None:
    text = await page_at(driver, f"{site.url}/shop/?q=lamp")
    agrees_with("shop-list.md", text)
    assert len(text) / PAGE_RATE <= 1_000


async def test_the_checkout(driver: PlaywrightDriver, site: Site) -> None:
    text = await page_at(driver, await in_checkout(driver, site))
    agrees_with("checkout.md", text)
    assert len(text) / PAGE_RATE <= 400


async def test_the_mail_list(driver: PlaywrightDriver, site: Site) -> None:
    text = await page_at(driver, f"{site.url}/mail/")
    agrees_with("mail-list.md", text)
    assert len(text) / PAGE_RATE <= 400


async def test_the_worked_pair_can_be_valid_on_no_page(driver: PlaywrightDriver, site: Site) -> None:
    user, assistant = (message.text for message in Prompt.named("browse").examples)
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\]", user, re.MULTILINE)]
    assert len(numbers) == 4 and min(numbers) > 4 and numbers != sorted(numbers)
    names = set(re.findall(r'"([^"]+)"', user + assistant))
    addresses = [f"{site.url}/{name}/" for name in SITES] + [await in_checkout(driver, site)]
    for address in addresses:
        page = (await page_at(driver, address)).casefold()
        for name in names:
            assert not re.search(rf'"{re.escape(name.casefold())}"', page), f"{name!r} stands on {address}"


async def test_the_example_calls_are_calls_that_the_pack_reads(driver: PlaywrightDriver, site: Site) -> None:
    pack = await pack_at(driver, f"{site.url}/shop/")
    _, assistant = Prompt.named("browse").examples
    called = set(re.findall(r"^\s+(\w+)\(", assistant.text, re.MULTILINE))
    assert called == {"type", "click"} and called <= set(pack.primitives)
