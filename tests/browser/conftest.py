from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from agentloop.browser.marks import Marks
from agentloop.drivers import BrowserHost, PlaywrightDriver
from tests.browser.page_server import PageServer, page_server


@pytest_asyncio.fixture(scope="session")
async def host() -> AsyncIterator[BrowserHost]:
    """One browser for all tests of this room."""
    async with BrowserHost.launch() as host:
        yield host


@pytest_asyncio.fixture
async def driver(host: BrowserHost) -> AsyncIterator[PlaywrightDriver]:
    """A session of its own, on an empty page of 1280 x 720, that may reach this machine."""
    async with host.driver(allow_private=True) as driver:
        yield driver


@pytest_asyncio.fixture
async def marks(driver: PlaywrightDriver) -> Marks:
    """The marks of `driver`."""
    return Marks(driver)


@pytest_asyncio.fixture(scope="session")
async def pages() -> AsyncIterator[PageServer]:
    """A server for pages that tests write themselves."""
    async with page_server() as pages:
        yield pages
