"""Starting Playwright's own process so that it outlives a signal to the whole group and ends with ours."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from playwright.async_api import Playwright, async_playwright

__all__ = ["start_playwright"]

_OPTIONS = "NODE_OPTIONS"
_CHANGING = threading.Lock()


async def start_playwright() -> Playwright:
    """Playwright, running. What ends it is its `stop()` or the end of this process, and no signal but SIGKILL.

    Raises Playwright's `Error` when its Node.js cannot be started. NODE_OPTIONS of this process is changed meanwhile,
    there being no other way to give that Node.js a script.
    """
    manager = async_playwright()
    with as_file(files("agentloop.drivers") / "heed_no_signals.js") as script, _required(script):
        playwright = await manager.start()
    _read_end_of(manager)
    return playwright


@contextmanager
def _required(script: Path) -> Iterator[None]:
    """Node.js that is started in the block runs `script` first; several threads may be in such blocks."""
    quoted = str(script).replace("\\", "\\\\").replace('"', '\\"')
    option = f' --require "{quoted}"'
    with _CHANGING:
        os.environ[_OPTIONS] = os.environ.get(_OPTIONS, "") + option
    try:
        yield
    finally:
        with _CHANGING:
            os.environ[_OPTIONS] = os.environ.get(_OPTIONS, "").replace(option, "", 1)
            if not os.environ[_OPTIONS]:
                del os.environ[_OPTIONS]


def _read_end_of(manager: Any) -> None:
    """Keeps asyncio from printing that the process has died: each call that needs it tells so by itself."""
    # Nothing public leads to this future; the second name is that of Playwright before 1.65.
    client = getattr(manager, "_client", None) or getattr(manager, "_connection", None)
    future = getattr(getattr(client, "_transport", None), "on_error_future", None)
    if isinstance(future, asyncio.Future):
        future.add_done_callback(_retrieved)


def _retrieved(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
