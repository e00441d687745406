"""Every driver of the house is held to the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentloop.browser.abilities import Activity, Frames
from agentloop.browser.base import Driver
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.testing.driver_contract import DriverContract

TEN = "navigate click send_keys wait_visible wait_ready text value eval key_event screenshot".split()  # noqa: SIM905


class TenMethods:
    """Any driver, cut down to the ten methods."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        if name not in TEN:
            raise AttributeError(name)
        return getattr(self._driver, name)


class TestPlaywrightDriver(DriverContract):
    @pytest.fixture
    async def driver(self, host: BrowserHost) -> AsyncIterator[PlaywrightDriver]:
        async with host.driver(allow_private=True) as driver:
            yield driver


class TestTenMethods(DriverContract):
    @pytest.fixture
    async def driver(self, host: BrowserHost) -> AsyncIterator[TenMethods]:
        async with host.driver(allow_private=True) as driver:
            yield TenMethods(driver)

    def test_it_has_no_abilities(self, driver: TenMethods) -> None:
        assert not isinstance(driver, Frames | Activity)
