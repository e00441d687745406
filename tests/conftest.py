"""For every test: no model, no network beyond loopback, no file in the user's home."""

from __future__ import annotations

import ipaddress
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("agentloop.testing")

KEPT_SETTINGS = {"AGENTLOOP_CHROMIUM", "AGENTLOOP_BROWSER_SANDBOX"}
"""They say what this machine has; every other setting is the test's own business."""

FOREIGN = ("AGENTLOOP_", "OPENAI_", "LLM_", "OTEL_")


def is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host in ("localhost", "")
    return address.is_loopback or address.is_unspecified


def refuse_the_open_network(event: str, args: Sequence[Any]) -> None:
    """An audit hook: sees every `connect` of this process, whichever library makes it."""
    if event not in ("socket.connect", "socket.sendto"):
        return
    address = args[1]
    if isinstance(address, tuple) and not is_loopback(str(address[0])):
        raise RuntimeError(f"Tests stay on this machine: a connection to {address[0]!r} was refused.")


def pytest_configure(config: pytest.Config) -> None:
    # A busy machine is no counterexample: the time of a test is bounded, not that of one example.
    settings.register_profile("agentloop", deadline=None)
    settings.load_profile("agentloop")
    config.addinivalue_line("markers", "soak: long (kill tests, races, leaks); only with `make soak`")
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name not in KEPT_SETTINGS:
            del os.environ[name]
    stack = ExitStack()
    config.add_cleanup(stack.close)
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentloop-tests-", ignore_cleanup_errors=True)))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(home / name.lower())
    sys.addaudithook(refuse_the_open_network)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" in config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent
