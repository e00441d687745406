"""The first element that a selector matches, for one call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agentloop.drivers.faults import target_error
from agentloop.drivers.page_keeper import PageKeeper
from agentloop.drivers.page_session import PageSession
from agentloop.errors import TargetError

__all__ = ["Match", "first_match"]

_MARGIN_S = 1.0


@dataclass(frozen=True)
class Match:
    """An element and the time-out, in milliseconds, for a call on it."""

    session: PageSession
    element: Locator
    timeout: float


@asynccontextmanager
async def first_match(keeper: PageKeeper, selector: str, verb: str, seconds: float) -> AsyncIterator[Match]:
    """The first match of a CSS selector, for one call that `verb` names.

    Raises `TargetError`: missing, or whatever kept the element from being used.
    """
    async with keeper.page(f"{verb} {selector!r}", seconds + _MARGIN_S) as session:
        element = session.page.locator(f"css={selector}").first
        try:
            yield Match(session, element, seconds * 1000)
        except PlaywrightTimeout as error:
            if await session.answers() and not await element.count():
                raise TargetError(f"{verb}: nothing matches {selector!r}", reason="missing") from None
            raise target_error(error, selector) or error from None
        except PlaywrightError as error:
            if "Node is not" not in str(error):
                raise
            raise TargetError(f"{verb}: {selector!r} is not an element that it works on", reason="unfit") from None
