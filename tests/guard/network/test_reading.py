"""URLs as Chromium reads them: what it says of generated texts, and of those that are kept in a table."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.async_api import Page, async_playwright

from agentloop.drivers import find_browser
from agentloop.errors import AgentLoopError
from agentloop.guard.network.url import Url, join_url, parse_url
from tests.guard.network.spellings import relatives, urls

TABLE = Path(__file__).with_name("urls_in_chromium.json")
"""[text, [protocol, hostname, port, pathname, search, hash] or null when it is no URL], as Chromium 156 gave them."""
BASE = "http://ok.test:8080/a/b?c#d"
READ = """([texts, base]) => texts.map(text => { try {
  const {protocol, hostname, port, pathname, search, hash} = base ? new URL(text, base) : new URL(text);
  return [protocol, hostname, port, pathname, search, hash];
} catch { return null; } })"""

Parts: TypeAlias = list[str] | None


@pytest_asyncio.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser().path)
        try:
            yield await browser.new_page()
        finally:
            await browser.close()


def ours(read: Callable[[str], Url], text: str) -> Parts:
    """The same parts of what we read; None when we refuse to."""
    try:
        url = read(text)
    except AgentLoopError:
        return None
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = url.authority.removeprefix(host).removeprefix(":")
    query, fragment = url.query and f"?{url.query}", url.fragment and f"#{url.fragment}"
    return [f"{url.scheme}:", host, port, url.path, query, fragment]


def same(mine: Parts, theirs: Parts) -> bool:
    """Whether we agree, but for a host's last dot and a bare mark, or refuse what Chromium accepts."""
    if mine is None:
        return True
    if theirs is None:
        return False
    protocol, host, *rest = theirs
    return mine == [protocol, host.removesuffix("."), *rest]


async def compare(page: Page, texts: st.SearchStrategy[str], read: Callable[[str], Url], base: str | None) -> None:
    loop = asyncio.get_running_loop()

    def chromium(chunk: list[str]) -> list[Any]:
        answers: list[Any] = asyncio.run_coroutine_threadsafe(page.evaluate(READ, [chunk, base]), loop).result(30)
        return answers

    @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(texts, min_size=1, max_size=60))
    def agree(chunk: list[str]) -> None:
        for text, theirs in zip(chunk, chromium(chunk), strict=True):
            mine = ours(read, text)
            assert same(mine, theirs), (text, mine, theirs)

    await asyncio.to_thread(agree)


async def test_generated_urls_are_read_as_chromium_reads_them(page: Page) -> None:
    await compare(page, urls, parse_url, None)


async def test_generated_relative_urls_are_read_as_chromium_reads_them(page: Page) -> None:
    base = parse_url(BASE)
    await compare(page, relatives, lambda text: join_url(base, text), BASE)


async def test_chromium_still_reads_the_table_so(page: Page) -> None:
    table = json.loads(TABLE.read_text("utf-8"))
    assert await page.evaluate(READ, [[text for text, _ in table], None]) == [theirs for _, theirs in table]


def test_the_table_is_read_as_chromium_read_it() -> None:
    table = json.loads(TABLE.read_text("utf-8"))
    agreed = [text for text, theirs in table if ours(parse_url, text) is not None]
    assert not [(text, theirs) for text, theirs in table if not same(ours(parse_url, text), theirs)]
    assert len(agreed) > 150
