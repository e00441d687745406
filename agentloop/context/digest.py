"""The shape of the carried data, as a type: names and kinds, never values."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from agentloop.guard.fence import quoted
from agentloop.records import Json

__all__ = ["shape"]

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_NAME_CHARS = 40
_ARRAY_LEVELS = 8
_SAMPLE = 20
"""Items of an array (of all arrays in one place together) whose types are joined."""


@dataclass(frozen=True)
class _Detail:
    """How far to go: levels of objects, and names in each."""

    levels: int
    names: int


# From the full form down to bare top-level names: the first that fits is used.
_DETAILS = (_Detail(4, 24), _Detail(3, 24), _Detail(3, 12), _Detail(2, 12), _Detail(1, 24), _Detail(1, 12))


def shape(carry_json: str | None, *, max_chars: int = 1200) -> str:
    """The carry as a TypeScript-like type of at most `max_chars` characters.

    "" for nothing, `null`, `{}` and text that is no JSON. Names are sorted; those that are no
    identifiers are quoted, long ones cut. Four levels of objects, 24 names in each; larger data is
    shown with less of both. The type of an array is the union over its first items; `name?` is
    missing in some of them.
    """
    value = _parsed(carry_json)
    if value is None or value == {}:
        return ""
    for detail in _DETAILS:
        text = _union([value], 0, 0, detail)
        if len(text) <= max_chars:
            return text
    return f"{text[: max(0, max_chars - 1)]}…"


def _parsed(carry_json: str | None) -> Json:
    try:
        # Floats throughout: Python refuses to read integers of thousands of digits.
        return json.loads(carry_json, parse_int=float) if carry_json else None
    except (ValueError, RecursionError):
        return None


def _union(values: Sequence[Json], level: int, nested: int, detail: _Detail) -> str:
    return " | ".join(_types(values, level, nested, detail))


def _types(values: Sequence[Json], level: int, nested: int, detail: _Detail) -> list[str]:
    objects = [value for value in values if isinstance(value, dict)]
    arrays = [value for value in values if isinstance(value, list)]
    types = [_object(objects, level, nested, detail)] if objects else []
    if arrays:
        types.append(_array(arrays, level, nested, detail))
    scalars = {_scalar(value) for value in values if not isinstance(value, dict | list)}
    return types + sorted(scalars, key=("string", "number", "boolean", "null").index)


def _scalar(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def _object(objects: Sequence[dict[str, Json]], level: int, nested: int, detail: _Detail) -> str:
    if level >= detail.levels:
        return "object"
    names = sorted(set(chain.from_iterable(objects)))
    if not names:
        return "{}"
    members = [_member(name, objects, level, nested, detail) for name in names[: detail.names]]
    more = len(names) - detail.names
    if more > 0:
        members.append(f"/* {more} more {'key' if more == 1 else 'keys'} */")
    return f"{{ {'; '.join(members)} }}"


def _member(name: str, objects: Sequence[dict[str, Json]], level: int, nested: int, detail: _Detail) -> str:
    values = [item[name] for item in objects if name in item]
    mark = "?" if len(values) < len(objects) else ""
    return f"{_written(name)}{mark}: {_union(values, level + 1, nested, detail)}"


def _written(name: str) -> str:
    return name if len(name) <= _NAME_CHARS and _IDENTIFIER.fullmatch(name) else quoted(name, _NAME_CHARS)


def _array(arrays: Sequence[list[Json]], level: int, nested: int, detail: _Detail) -> str:
    items = list(islice(chain.from_iterable(arrays), _SAMPLE))
    if not items:
        return "unknown[] /* empty */"
    count = _count([len(array) for array in arrays])
    if nested >= _ARRAY_LEVELS:
        return f"unknown[] {count}"
    types = _types(items, level, nested + 1, detail)
    inner = " | ".join(types)
    bare = len(types) == 1 and not inner.endswith("*/")
    return f"{inner}[] {count}" if bare else f"({inner})[] {count}"


def _count(lengths: Sequence[int]) -> str:
    least, most = min(lengths), max(lengths)
    number = str(most) if least == most else f"{least} to {most}"
    return f"/* {number} {'item' if number == '1' else 'items'} */"
