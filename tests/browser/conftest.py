from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from agentloop.browser.marks import Marks
from agentloop.drivers import BrowserHost, PlaywrightDriver


@pytest_asyncio.fixture(scope="session")
async def host() -> AsyncIterator[BrowserHost]:
    """One browser for all tests of this room."""
    async with BrowserHost.launch() as host:
        yield host


@pytest_asyncio.fixture
async def driver(host: BrowserHost) -> AsyncIterator[PlaywrightDriver]:
    """A session of its own, on an empty page of 1280 x 720."""
    async with host.driver() as driver:
        yield driver


@pytest_asyncio.fixture
async def marks(driver: PlaywrightDriver) -> Marks:
    """The marks of `driver`."""
    return Marks(driver)
