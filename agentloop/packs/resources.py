"""What packs keep in files: declarations and words that the model reads, modules that scripts require."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

__all__ = ["headed", "help_texts", "say", "text", "words"]

_HEADING: Final = re.compile(r"^## ([a-z_]+)$", re.MULTILINE)
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_DECLARED: Final = re.compile(
    r"/\*\* (?P<words>.+?) \*/\n"
    r"declare (?:function|module|namespace) \"?(?P<name>\w+)\"?(?P<rest>[^\n]*?)(?P<body> \{\n.*?\n\})?\n",
    re.DOTALL,
)


@cache
def text(name: str) -> str:
    """The text of a file in this folder."""
    return files("agentloop.packs").joinpath(name).read_text("utf-8")


@cache
def words(name: str) -> Mapping[str, str]:
    """The texts of an `.md` file in this folder by the names of their `##` headings."""
    return headed(text(name))


def say(file: str, phrase: str, /, **values: object) -> str:
    """One text of an `.md` file with each `{name}` of a value replaced; other braces stay."""

    def filled(place: re.Match[str]) -> str:
        return str(values.get(place[1], place[0]))

    return _PLACE.sub(filled, words(file)[phrase])


def headed(markdown: str) -> Mapping[str, str]:
    """The texts by the names of their `##` headings, blank lines around them removed."""
    _, *parts = _HEADING.split(markdown)
    return MappingProxyType({name: body.strip("\n") for name, body in zip(parts[::2], parts[1::2], strict=True)})


def help_texts(declarations: str) -> dict[str, str]:
    """For each declared function, module or namespace what is said of it, and its declaration."""
    return {
        match["name"]: f"{match['words']}\n\n{match['name']}{match['rest']}{match['body'] or ''}"
        for match in _DECLARED.finditer(declarations)
    }
