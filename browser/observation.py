"""The page as the model sees it before each call, and a picture of it for people."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

from agentloop.artifacts.base import Artifacts
from agentloop.browser.browser import LOOK_CHARS, Browser
from agentloop.browser.listing import Listing
from agentloop.browser.look import Look
from agentloop.browser.receipts import View, changed_line
from agentloop.browser.words import say
from agentloop.errors import DriverError
from agentloop.guard.logs import logger
from agentloop.packs.base import Observation

__all__ = ["Watcher"]

_LOG = logger(__name__)

_OBSERVE_S = 4.8
_PICTURE_S = 0.5


class Watcher:
    """Looks at one browser's page, and tells what is different since a script last acted on it."""

    def __init__(self, browser: Browser, *, artifacts: Artifacts | None = None, chars: int = LOOK_CHARS) -> None:
        self._browser = browser
        self._artifacts = artifacts
        self._chars = chars
        self._before: View | None = None
        self._shown: View | None = None
        self._turn = 0

    def acted(self) -> None:
        """A script did something: what was shown last is what the next look is compared with."""
        self._before = self._shown

    def renew(self) -> None:
        """Another run begins: it has seen nothing yet, and its pictures count from 1."""
        self._before = self._shown = None
        self._turn = 0

    async def observe(self) -> Observation:
        """The text of the page with its marks, and what changed. Raises what the driver raises."""
        until = asyncio.get_running_loop().time() + _OBSERVE_S
        async with asyncio.timeout_at(until - _PICTURE_S):
            look = await self._browser.see(chars=self._chars)
        self._shown = _view(look)
        changed = changed_line(self._before, self._shown) if self._before else ""
        self._turn += 1
        await self._keep(look.listing, until)
        text = f"{look.text}\n{say('changed_since', changed=changed)}" if changed else look.text
        return Observation(text=text, untrusted=False)  # look() and receipts write page text as `guard.fence` has it

    async def _keep(self, listing: Listing, until: float) -> None:
        """Saves the picture with its marks; a page that cannot be pictured, or a full disk, costs the turn nothing."""
        if self._artifacts is None:
            return
        name = f"turn-{self._turn:03d}"
        try:
            async with asyncio.timeout_at(until):
                picture = await self._browser.picture(listing.marks)
        except (DriverError, TimeoutError):
            return
        try:
            await self._artifacts.write(f"{name}.png", picture)
            await self._artifacts.write(f"{name}.marks.json", _listing_json(listing))
        except Exception as error:  # the border: artifacts may be foreign code, and the model must see the page
            _LOG.warning("pictures are kept no longer: %s", str(error) or type(error).__name__)
            self._artifacts = None


def _listing_json(listing: Listing) -> bytes:
    data = {
        "url": listing.url,
        "title": listing.title,
        "scroll": asdict(listing.scroll),
        "marks": [mark.to_dict() for mark in listing.marks],
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode()


def _view(look: Look) -> View:
    headings = tuple(dict.fromkeys(line for line in look.text.splitlines() if line.startswith("#")))
    listing = look.listing
    return View(
        document=listing.document,
        address=listing.url,
        headings=headings,
        marks={mark.id: mark for mark in listing.marks},
    )
