"""One text where a list of texts belongs is refused at every door: it would be read letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentloop.browser.pack import browser_capability
from agentloop.browsing import BrowseOptions, browse, open_browse
from agentloop.build import default_capabilities, named_capabilities
from agentloop.drivers.fake import FakeDriver
from agentloop.errors import InvalidInput, refuse_text
from agentloop.eval.base import Case
from agentloop.guard.network.guard import Boundary
from agentloop.guard.policy import DefaultPolicy, URLAllowlistPolicy
from agentloop.llm.scripted import Scripted
from agentloop.packs.exec import exec_capability
from agentloop.packs.fetch import fetch_capability
from agentloop.packs.http import http_capability
from agentloop.packs.openapi import openapi_capability
from agentloop.records import RunRequest

TEXT: Any = "exec"
API = {"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {}}


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("allow takes a list of patterns", lambda: Boundary(allow=TEXT)),
        ("allow takes a list of patterns", lambda: Boundary().narrowed(TEXT)),
        ("allow takes a list of patterns", lambda: URLAllowlistPolicy(TEXT)),
        ("allow takes a list of patterns", lambda: default_capabilities(allow=TEXT)),
        ("allow takes a list of patterns", lambda: named_capabilities(["browser"], allow=TEXT)),
        ("allow takes a list of patterns", lambda: fetch_capability(allow=TEXT)),
        ("allow takes a list of patterns", lambda: http_capability(allow=TEXT)),
        (
            "allow takes a list of patterns",
            lambda: openapi_capability(API, base_url="https://a.example", allow=TEXT),
        ),
        ("allow takes a list of patterns", lambda: RunRequest("x", allow=TEXT)),
        ("allow takes a list of patterns", lambda: Case(name="a", task="b", allow=TEXT)),
        ("names takes a list of names", lambda: named_capabilities(TEXT)),
        ("allow_commands takes a list of commands", lambda: named_capabilities(["exec"], allow_commands=TEXT)),
        ("allow_commands takes a list of commands", lambda: exec_capability(allow_commands=TEXT)),
        ("allow_commands takes a list of commands", lambda: DefaultPolicy(allow_commands=TEXT)),
        ("allow_tools takes a list of tools", lambda: DefaultPolicy(allow_tools=TEXT)),
        ("confirm takes a list of actions", lambda: named_capabilities(["fetch"], confirm=TEXT)),
        ("confirm takes a list of actions", lambda: browser_capability(FakeDriver({}), confirm=TEXT)),
        ("enabled takes a list of names", lambda: RunRequest("x", enabled=TEXT)),
        ("expect takes a list of checks", lambda: Case(name="a", task="b", expect=TEXT)),
        ("packs takes a list of names", lambda: Case(name="a", task="b", packs=TEXT)),
    ],
)
def test_one_text_is_no_list(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value) == f"{said}, not one text: ['exec']"


@pytest.mark.parametrize("name", ["allow", "expect", "confirm"])
async def test_browse_takes_lists(name: str) -> None:
    given: Any = {name: TEXT}
    with pytest.raises(InvalidInput, match=f"^{name} takes a list of .*not one text"):
        await browse("x", llm=Scripted([]), **given)


async def test_what_is_enabled_for_browsing_is_a_list() -> None:
    with pytest.raises(InvalidInput, match=r"^enabled takes a list of names"):
        async with open_browse("x", BrowseOptions(enabled=TEXT), llm=Scripted([])):
            pass


def test_lists_and_nothing_pass() -> None:
    for given in (None, (), ["a"], ("a",), frozenset("a")):
        refuse_text("allow", given)
