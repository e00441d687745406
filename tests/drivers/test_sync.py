"""A blocking driver behind the adapter."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from agentloop.drivers import SyncDriver
from agentloop.errors import Closed, DriverError, TargetError
from agentloop.testing.driver_contract import DriverContract
from tests.drivers.blocking import BlockingBrowser


@pytest.fixture(scope="session")
async def blocking() -> AsyncIterator[SyncDriver]:
    async with SyncDriver(BlockingBrowser) as driver:
        yield driver


class TestSyncPlaywright(DriverContract):
    cancellable = False

    @pytest.fixture
    def driver(self, blocking: SyncDriver) -> SyncDriver:
        return blocking


class Recorded:
    """A blocking driver that remembers its threads; what it does not define is not called."""

    def __init__(self) -> None:
        self.threads = {threading.current_thread().name}
        self.release = threading.Event()
        self.closed = False

    def click(self, selector: str) -> None:
        self.threads.add(threading.current_thread().name)
        self.release.wait(20)

    def text(self, selector: str) -> str:
        self.threads.add(threading.current_thread().name)
        if selector == "#missing":
            raise TargetError("nothing", reason="missing")
        raise ZeroDivisionError("by nobody")

    def close(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.closed = True


async def test_every_call_is_made_in_one_thread() -> None:
    made: list[Recorded] = []

    def make() -> Recorded:
        made.append(Recorded())
        return made[0]

    async with SyncDriver(make) as driver:  # type: ignore[arg-type]
        made[0].release.set()
        await driver.click("#a")
        with pytest.raises(TargetError):
            await driver.text("#missing")
        with pytest.raises(DriverError, match="ZeroDivisionError: by nobody"):
            await driver.text("#a")
    assert made[0].closed
    assert len(made[0].threads) == 1
    assert threading.current_thread().name not in made[0].threads
    with pytest.raises(Closed):
        await driver.text("#a")


async def test_a_call_that_goes_on_is_told_to_the_next() -> None:
    blocking = Recorded()
    async with SyncDriver(lambda: blocking) as driver:  # type: ignore[arg-type,return-value]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await driver.click("#a")
        with pytest.raises(DriverError, match="still busy with click"):
            await driver.text("#a")
        blocking.release.set()
