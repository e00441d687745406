"""Drivers: Playwright's Chromium, a fake, an adapter for synchronous ones; and where to find a browser."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.drivers.fake import FakeDriver
    from agentloop.drivers.fake_page import FakeElement, FakePage
    from agentloop.drivers.host import BrowserHost
    from agentloop.drivers.install import install_browser
    from agentloop.drivers.locate import find_browser
    from agentloop.drivers.playwright_driver import PlaywrightDriver
    from agentloop.drivers.sync import SyncDriver, serve

__all__ = [
    "BrowserHost",
    "FakeDriver",
    "FakeElement",
    "FakePage",
    "PlaywrightDriver",
    "SyncDriver",
    "find_browser",
    "install_browser",
    "serve",
]

_LAZY = {
    "BrowserHost": "agentloop.drivers.host",
    "FakeDriver": "agentloop.drivers.fake",
    "FakeElement": "agentloop.drivers.fake_page",
    "FakePage": "agentloop.drivers.fake_page",
    "PlaywrightDriver": "agentloop.drivers.playwright_driver",
    "SyncDriver": "agentloop.drivers.sync",
    "find_browser": "agentloop.drivers.locate",
    "install_browser": "agentloop.drivers.install",
    "serve": "agentloop.drivers.sync",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
