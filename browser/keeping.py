"""What of a browser is kept between turns, so that another process can go on: its storage and its address."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

from agentloop.browser.abilities import StorageState
from agentloop.browser.base import Driver
from agentloop.browser.browser import Browser

__all__ = ["Kept", "keep"]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Where the page was and what made the session logged in; a secret. `storage` is the driver's own form."""

    url: str = ""
    storage: bytes | None = None

    def to_bytes(self) -> bytes:
        """The form the store keeps."""
        storage = None if self.storage is None else base64.b64encode(self.storage).decode("ascii")
        return json.dumps({"version": 1, "url": self.url, "storage": storage}).encode("utf-8")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Kept:
        """The inverse of `to_bytes`. What cannot be read is nothing kept: a run must not fail on it."""
        if not data:
            return cls()
        try:
            fields = json.loads(data)
            storage = fields["storage"]
            return cls(url=str(fields["url"]), storage=None if storage is None else base64.b64decode(storage))
        except (ValueError, KeyError, TypeError):
            return cls()


async def keep(browser: Browser, driver: Driver) -> bytes:
    """What is to be kept now. Raises `DriverError`."""
    url = await browser.url()
    storage = await driver.storage_state() if isinstance(driver, StorageState) else None
    return Kept(url=url, storage=storage).to_bytes()
