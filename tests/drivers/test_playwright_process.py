"""Playwright's process heeds no signal to the group, and its end is told by the calls that need it, not by asyncio."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from agentloop.drivers.playwright_process import start_playwright

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads the process tree from /proc")


def children() -> set[int]:
    lists = (path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    return {int(pid) for pid in " ".join(lists).split()}


async def test_only_sigkill_ends_it_and_nothing_is_printed() -> None:
    loop, said = asyncio.get_running_loop(), list[dict[str, Any]]()
    usual, before = loop.get_exception_handler(), children()
    loop.set_exception_handler(lambda _, context: said.append(context))
    try:
        playwright = await start_playwright()
        (process,) = children() - before
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process, number)
        request = await playwright.request.new_context()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(PlaywrightError):
            async with asyncio.timeout(20):
                await request.get("http://127.0.0.1:9/")
        await playwright.stop()
        del playwright, request
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(usual)
    assert said == []


@pytest.mark.parametrize("given", [None, "--no-warnings"])
async def test_the_environment_is_as_before(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_OPTIONS", raising=False)
    if given is not None:
        monkeypatch.setenv("NODE_OPTIONS", given)
    started = await asyncio.gather(start_playwright(), start_playwright())
    assert os.environ.get("NODE_OPTIONS") == given
    for playwright in started:
        await playwright.stop()
