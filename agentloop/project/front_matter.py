"""The head of a Markdown file between two lines of three dashes: YAML, or what people take for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["FRONT_MATTER_BYTES", "split_front_matter"]

FRONT_MATTER_BYTES: Final = 8 * 1024
"""The longest head that is read; a longer one is part of the text."""

_HEAD: Final = re.compile(r"---[ \t]*\n(?P<head>.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LINE: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]*):(?:[ \t]+(?P<value>.*))?")
_NOT_YAML: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_MOST_BRACKETS: Final = 64
"""What open brackets cost grows with their square."""

_NOTHING: Final = frozenset({"", "~", "null"})


def split_front_matter(text: str) -> tuple[Mapping[str, str], str]:
    """The head's entries that are texts, and what follows it; without a head, or with one that never ends, {} and all.

    Where the head is no YAML (`description: Do this: then that`) its lines `key: value` are read one by one.
    """
    found = _HEAD.match(text[:FRONT_MATTER_BYTES])
    if found is None:
        return {}, text
    return _entries(found["head"] or ""), text[found.end() :]


def _entries(head: str) -> dict[str, str]:
    import yaml

    if sum(map(head.count, "[{")) > _MOST_BRACKETS:
        return _lines(head)
    try:
        # Nothing but texts, lists and mappings comes of it: no dates, no numbers, no merged keys.
        read = yaml.load(_NOT_YAML.sub("", head), yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return _lines(head)
    return _texts(read) if isinstance(read, dict) else _lines(head)


def _texts(read: dict[Any, Any]) -> dict[str, str]:
    entries = ((str(key), value) for key, value in read.items())
    return {key: value for key, value in entries if isinstance(value, str) and value not in _NOTHING}


def _lines(head: str) -> dict[str, str]:
    matches = (_LINE.fullmatch(line.rstrip()) for line in head.split("\n"))
    entries = ((match["key"], _unquoted((match["value"] or "").strip())) for match in matches if match)
    return {key: value for key, value in entries if value not in _NOTHING}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
