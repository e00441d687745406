"""Words that the model reads stand in a file, each of them used, each use known."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from agentloop.browser.words import say

ROOM = files("agentloop.browser")
STATES = {"disabled", "hidden"}  # said by the name of a mark's state


def test_every_text_is_used_and_every_use_has_a_text() -> None:
    kept = set(re.findall(r"^## (\w+)$", (ROOM / "prompts" / "feedback.md").read_text("utf-8"), re.MULTILINE))
    code = "".join(file.read_text("utf-8") for file in ROOM.iterdir() if file.name.endswith(".py"))
    assert set(re.findall(r"say\(\s*[\"'](\w+)[\"']", code)) | STATES == kept


def test_what_a_page_says_cannot_take_a_place() -> None:
    assert say("nowhere", name='"{name} {0}"').startswith('nothing on the page now is named "{name} {0}"; ')
    with pytest.raises(KeyError):
        say("nowhere")
    with pytest.raises(KeyError):
        say("no such text")
