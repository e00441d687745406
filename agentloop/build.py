"""Which capabilities a run gets. The only place that knows them all by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput

if TYPE_CHECKING:
    from agentloop.browser.base import Driver

__all__ = ["NAMES", "default_capabilities", "named_capabilities"]

NAMES = ("browser",)
"""What `named_capabilities`, and so `--with`, can add."""


def default_capabilities() -> tuple[Capability, ...]:
    """What every run can do beyond the core functions of the sandbox."""
    return ()


def named_capabilities(names: Sequence[str]) -> tuple[Capability, ...]:
    """The capabilities of these names. Raises `InvalidInput` for an unknown one, naming those there are."""
    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"no pack is called {name!r}; there are: {', '.join(NAMES)}")
    return tuple(_browser() for name in dict.fromkeys(names) if name == "browser")


def _browser() -> Capability:
    from agentloop.browser.pack import browser_capability
    from agentloop.drivers.playwright_driver import PlaywrightDriver

    def open_driver(context: BuildContext) -> AbstractAsyncContextManager[Driver]:
        return PlaywrightDriver.launch(allow=context.allow, start_url=context.start_url, storage_state=context.state)

    return browser_capability(open_driver)
