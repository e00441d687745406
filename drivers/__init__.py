"""Drivers: Playwright's Chromium, a fake, an adapter for synchronous ones; and where to find a browser."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.drivers.host import BrowserHost
    from agentloop.drivers.locate import find_browser
    from agentloop.drivers.playwright_driver import PlaywrightDriver

__all__ = [
    "BrowserHost",
    "PlaywrightDriver",
    "find_browser",
]

_LAZY = {
    "BrowserHost": "agentloop.drivers.host",
    "PlaywrightDriver": "agentloop.drivers.playwright_driver",
    "find_browser": "agentloop.drivers.locate",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
