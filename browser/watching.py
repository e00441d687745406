"""Waiting for what an act caused: by the driver's own `Activity`, or by looking at the page where it has none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from agentloop.browser.abilities import Activity, Watched
from agentloop.browser.base import Driver, Effects
from agentloop.browser.page import evaluate
from agentloop.errors import BrowserLost, DriverError

__all__ = ["watching"]

_QUIET_MS = 40
_CAP_MS = 400
_NAVIGATION_S = 10.0


def watching(driver: Driver) -> AbstractAsyncContextManager[Watched]:
    """Opened around an act; `effects` is complete after the block, which waits only when it was left normally."""
    return driver.watch() if isinstance(driver, Activity) else _by_looking(driver)


@asynccontextmanager
async def _by_looking(driver: Driver) -> AsyncIterator[Watched]:
    watched = Watched()
    before = await evaluate(driver, "stillness", {"quiet": 0, "cap": 0})
    began = time.monotonic()
    yield watched
    after = await _quiet(driver)
    moved = after.get("url") != before["url"]
    replaced = after.get("document") != before["document"]
    watched.effects = Effects(
        url=after.get("url") if moved or replaced else None,
        document=replaced,
        mutations=int(not replaced and after.get("content") != before["content"]),
        timed_out=not after,
        settle_ms=round((time.monotonic() - began) * 1000),
    )


async def _quiet(driver: Driver) -> dict[str, Any]:
    """The page once it is quiet; a script cut short by a navigation is tried again on the new page."""
    try:
        async with asyncio.timeout(_NAVIGATION_S):
            while True:
                try:
                    await driver.wait_ready("body")
                    return dict(await evaluate(driver, "stillness", {"quiet": _QUIET_MS, "cap": _CAP_MS}))
                except BrowserLost:
                    raise
                except DriverError:
                    await asyncio.sleep(0.05)
    except TimeoutError:
        return {}
