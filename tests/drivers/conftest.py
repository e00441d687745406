"""One browser for the room's tests, and small pages on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentloop.drivers import BrowserHost, PlaywrightDriver
from tests.drivers.pages import Pages


@pytest.fixture(scope="session")
async def host() -> AsyncIterator[BrowserHost]:
    async with BrowserHost.launch() as host:
        yield host


@pytest.fixture
async def driver(host: BrowserHost) -> AsyncIterator[PlaywrightDriver]:
    async with host.driver(allow_private=True) as driver:
        yield driver


@pytest.fixture(scope="session")
async def pages() -> AsyncIterator[Pages]:
    async with Pages() as pages:
        yield pages
