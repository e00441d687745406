from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.guard.network.origin import Origin, origin


@pytest.fixture
async def site() -> AsyncIterator[Origin]:
    """The allowed server."""
    async with origin("127.0.0.1") as served:
        yield served


@pytest.fixture
async def forbidden() -> AsyncIterator[Origin]:
    """The server that nothing may reach."""
    async with origin("127.0.0.2") as served:
        yield served


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that keeps connections."""
    async with aiohttp.ClientSession() as session:
        yield session
