"""What the model is told of the verbs: the `.d.ts` files cut down to what the driver in hand can do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files

from agentloop.browser import abilities
from agentloop.browser.base import Driver

__all__ = ["ABILITIES", "abilities_of", "declared", "help_texts", "taught", "taught_verbs", "verbs"]

ABILITIES = ("Pointer", "Files", "Tabs", "Dialogs", "Downloads")
"""Abilities that verbs hang on; the others make verbs better, not more."""

_FUNCTION = re.compile(r"(?:  /\*\* (?P<words>.*?) \*/\n)?  function (?P<name>\w+)(?P<rest>\(.*\): .*;)\n")


def abilities_of(driver: Driver, *, vision: bool) -> frozenset[str]:
    """The sections of the declarations that hold for a driver."""
    able = {name for name in ABILITIES if isinstance(driver, getattr(abilities, name))}
    return frozenset({"always"} | able | ({"vision"} if vision else set()))


def declared(able: Collection[str]) -> str:
    """The whole of `browser`, as a .d.ts."""
    return _cut("browser.d.ts", able)


def taught(able: Collection[str]) -> str:
    """The few verbs of a browsing prompt, a line each."""
    return _cut("taught.d.ts", able)


def taught_verbs(able: Collection[str]) -> tuple[str, ...]:
    """The names among them that are plain globals."""
    return tuple(re.findall(r"^(\w+)\(", taught(able), re.MULTILINE))


def verbs(able: Collection[str]) -> tuple[str, ...]:
    """The names of all functions of `browser`."""
    return tuple(match["name"] for match in _FUNCTION.finditer(declared(able)))


def help_texts(able: Collection[str]) -> dict[str, str]:
    """Help for "browser" and for each verb: its line and what is said about it."""
    whole = declared(able)
    texts = {"browser": whole}
    for match in _FUNCTION.finditer(whole):
        line = f"browser.{match['name']}{match['rest']}"
        texts[f"browser.{match['name']}"] = f"{line}\n{match['words']}" if match["words"] else line
    return texts


def _cut(name: str, able: Collection[str]) -> str:
    return "".join(text for section, text in _sections(name) if section in able)


@cache
def _sections(name: str) -> tuple[tuple[str, str], ...]:
    return tuple(_read_sections(files("agentloop.browser").joinpath(name).read_text("utf-8")))


def _read_sections(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^//# ", text, flags=re.MULTILINE)[1:]:
        section, _, body = part.partition("\n")
        yield section.strip(), body
