"""What the model is told agrees with what it can call."""

from __future__ import annotations

import re

import pytest

from agentloop.browser import Browser, browser_pack
from agentloop.browser.declarations import ABILITIES, abilities_of, declared, help_texts, taught, taught_verbs, verbs
from agentloop.browser.verbs import VERBS
from agentloop.capabilities import BuildContext
from agentloop.drivers import PlaywrightDriver
from tests.browser.ten_methods import TenMethods

ALL = frozenset({"always", "vision", *ABILITIES})


def test_every_verb_is_declared_once_and_every_declaration_is_a_verb() -> None:
    assert sorted(verbs(ALL)) == sorted(VERBS)


def test_taught_verbs_are_few_short_lines_and_members_of_browser() -> None:
    lines = taught(ALL).splitlines()
    assert len(lines) <= 12 and all(len(line) <= 110 for line in lines)
    assert set(taught_verbs(ALL)) <= set(VERBS)
    # A figure in a line would be copied into scripts for pages where it means something else.
    assert lines[0].startswith('click("name", number)')
    assert not any(re.search(r'", \d', line) for line in lines)


def test_the_declarations_are_closed_and_have_no_section_marks() -> None:
    for able in (ALL, frozenset({"always"})):
        text = declared(able)
        assert text.count("{") == text.count("}") and "//#" not in text + taught(able)


def test_each_verb_has_help() -> None:
    texts = help_texts(ALL)
    assert texts["browser"] == declared(ALL)
    assert all(texts[f"browser.{name}"].startswith(f"browser.{name}(") for name in VERBS)
    assert "Replaces what a text field holds" in texts["browser.type"]


@pytest.mark.parametrize("globals", [True, False])
async def test_a_driver_of_ten_methods_is_offered_less(driver: PlaywrightDriver, globals: bool) -> None:
    whole = browser_pack(Browser(driver), BuildContext(), globals=globals)
    less = browser_pack(Browser(TenMethods(driver)), BuildContext(), globals=globals)
    missing = {"hover", "doubleClick", "rightClick", "drag", "upload", "tabs", "switchTab", "closeTab"}
    missing |= {"dialogs", "onDialog", "downloads"}
    gone = {name for name in whole.primitives if name not in less.primitives}
    assert {name.removeprefix("browser.") for name in gone} == missing
    assert "hover(" in whole.declarations and "hover(" not in less.declarations
    assert not set(less.help) & {f"browser.{name}" for name in missing}


def test_abilities_are_read_off_the_driver(driver: PlaywrightDriver) -> None:
    assert abilities_of(driver, vision=True) == ALL
    assert abilities_of(TenMethods(driver), vision=False) == {"always"}


async def test_all_but_sleep_are_exclusive_and_untrusted(driver: PlaywrightDriver) -> None:
    pack = browser_pack(Browser(driver), BuildContext(), globals=True)
    for name, primitive in pack.primitives.items():
        other = name != "browser.sleep"
        assert (primitive.exclusive, primitive.untrusted) == (other, other), name
    assert pack.primitives["click"] is pack.primitives["browser.click"]
