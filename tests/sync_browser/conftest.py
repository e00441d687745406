"""Synchronous Playwright by its own pytest plugin, with the browser that the product would find."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop.drivers import find_browser


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return browser_type_launch_args | {"executable_path": find_browser().path}
