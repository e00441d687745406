"""Whether a browser that somebody else started can be held to the boundary."""

from __future__ import annotations

import secrets

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agentloop.errors import DriverError
from agentloop.guard.network.base import NetworkDecision
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.proxy import FilteringProxy

__all__ = ["check_guarded"]

_PROBE_MS = 5_000


async def check_guarded(browser: Browser) -> None:
    """Lets a new context ask for a host that cannot exist: our proxy must see it, else `DriverError`."""
    seen: list[NetworkDecision] = []
    nonce = f"{secrets.token_hex(16)}.invalid"
    async with FilteringProxy(Boundary(allow=[]), on_decision=seen.append) as proxy:
        credentials = {"server": proxy.url, "username": proxy.username, "password": proxy.password}
        try:
            context = await browser.new_context(proxy=credentials)  # type: ignore[arg-type]
            try:
                page = await context.new_page()
                await page.goto(f"http://{nonce}/", timeout=_PROBE_MS)
            finally:
                await context.close()
        except PlaywrightError:
            pass  # an answer is not expected
    if not any(decision.host == nonce for decision in seen):
        raise DriverError(
            "This browser does not send its requests through our proxy, so nothing would hold its pages back. "
            "Start it on this machine without a proxy policy of its own, or pass dangerously_unguarded=True."
        )
