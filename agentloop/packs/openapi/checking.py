"""Whether a value has the shape that a schema asks for, so that a wrong call fails here and says why.

Types, choices, required and unknown properties are looked at; ranges, patterns and formats are the server's to judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.names import near
from agentloop.packs.openapi.node import Node, kind_of
from agentloop.records import Json

__all__ = ["Checker", "is_binary", "is_file", "is_read_only"]

_STEPS: Final = 20_000
_HOPS: Final = 40
_SHOWN: Final = 60
_CHOICES: Final = 20
_FILE: Final = frozenset({"filename", "content", "base64", "contentType"})
_TYPES: Final = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
_ARTICLES: Final = {"array": "an", "object": "an", "integer": "an", "null": ""}


class Checker:
    """Looks at values; `files`: binary content may be given as an object with its name and type.

    A schema that takes more than twenty thousand steps for one value is taken to fit.
    """

    def __init__(self, *, files: bool = False) -> None:
        self._files = files
        self._left = _STEPS

    def problem(self, value: Json, schema: Node | None, where: str, hops: int = 0) -> str:
        """What is wrong, beginning with its place, or "". Raises `InvalidInput` for a broken schema."""
        self._left -= 1
        if schema is None or schema.value is True or self._left < 0 or hops > _HOPS:
            return ""
        if schema.value is False:
            return f"{where} is not allowed"
        if schema.reference:
            problem = self.problem(value, schema.target(), where, hops + 1)
            if problem or not schema.modern:
                return problem
        if self._files and is_binary(schema):
            return _file_problem(value, where)
        if value is None and schema.get("nullable") is not None and schema.flag("nullable"):
            return ""
        return next(filter(None, self._problems(value, schema, where, hops)), "")

    def _problems(self, value: Json, schema: Node, where: str, hops: int) -> Iterator[str]:
        yield _type_problem(value, schema, where)
        yield _choice_problem(value, schema, where)
        for word in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(word)
            if branches is not None:
                found = [self.problem(value, branch, where, hops + 1) for branch in branches.elements()]
                yield next(filter(None, found), "") if word == "allOf" else _nearest(found, where)
        if isinstance(value, dict):
            yield from self._of_object(value, schema, where)
        elif isinstance(value, list) and (items := schema.get("items")) is not None:
            for number, item in enumerate(value):
                yield self.problem(item, items, f"{where}[{number}]")

    def _of_object(self, value: dict[str, Json], schema: Node, where: str) -> Iterator[str]:
        properties = dict(found.items()) if (found := schema.get("properties")) is not None else {}
        for name in _required(schema):
            if name not in value and not is_read_only(properties.get(name)):
                yield f"{where}.{name} is missing"
        others = schema.get("additionalProperties")
        patterned = schema.get("patternProperties") is not None
        for name, entry in value.items():
            if name in properties:
                yield self.problem(entry, properties[name], f"{where}.{name}")
            elif others is not None and others.value is False and not patterned:
                yield f"{where} has no {name!r}{near(name, properties)}"
            elif others is not None and isinstance(others.value, dict):
                yield self.problem(entry, others, f"{where}.{name}")


def is_binary(schema: Node | None) -> bool:
    """Whether a schema stands for bytes: `format: binary`, or in 3.1 a content type without an encoding."""
    if schema is None or not isinstance(schema.followed().value, dict):
        return False
    node = schema.followed()
    if node.mapping().get("format") == "binary":
        return True
    entries = node.mapping()
    return node.modern and "contentMediaType" in entries and "contentEncoding" not in entries


def is_read_only(schema: Node | None) -> bool:
    """Whether a property only ever comes back, so that nobody has to send it."""
    for node in () if schema is None else (schema, schema.followed()):
        if isinstance(node.value, dict) and node.value.get("readOnly") is True:
            return True
    return False


def is_file(value: Json) -> bool:
    """Whether a value is an object that stands for bytes: content or base64, with or without name and type."""
    return isinstance(value, dict) and value.keys() <= _FILE and bool({"content", "base64"} & value.keys())


def _file_problem(value: Json, where: str) -> str:
    if isinstance(value, str):
        return ""
    if not isinstance(value, dict):
        return f'{where} must be text, or an object such as {{filename: "a.png", base64: "…"}}, not {kind_of(value)}'
    for name, entry in value.items():
        if name not in _FILE:
            return f"{where} has no {name!r}{near(name, _FILE)}: it takes {', '.join(sorted(_FILE))}"
        if not isinstance(entry, str):
            return f"{where}.{name} must be a string, not {kind_of(entry)}"
    if len({"content", "base64"} & value.keys()) != 1:
        return f"{where} takes either content (text) or base64 (bytes)"
    return ""


def _type_problem(value: Json, schema: Node, where: str) -> str:
    declared = schema.mapping().get("type")
    types = declared if isinstance(declared, list) else [] if declared is None else [declared]
    if not types or any(_is(value, one, schema) for one in types):
        return ""
    words = " or ".join(f"{_ARTICLES.get(str(one), 'a')} {one}".strip() for one in types)
    return f"{where} must be {words}, not {kind_of(value)}{_sample(value)}"


def _is(value: Json, name: Json, schema: Node) -> bool:
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return name == "number" or isinstance(value, int) or value.is_integer()
    if not isinstance(name, str) or name not in _TYPES:
        raise InvalidInput(f"{schema.place}/type: {name!r} is no type")
    return isinstance(value, _TYPES[name])


def _choice_problem(value: Json, schema: Node, where: str) -> str:
    entries = schema.mapping()
    choices = [entries["const"]] if "const" in entries else entries.get("enum")
    if choices is None:
        return ""
    if not isinstance(choices, list):
        raise InvalidInput(f"{schema.place}/enum: must be an array, not {kind_of(choices)}")
    if any(_same(value, choice) for choice in choices):
        return ""
    shown = ", ".join(_short(choice) for choice in choices[:_CHOICES]) + (", …" if len(choices) > _CHOICES else "")
    return f"{where} must be {'one of ' if len(choices) > 1 else ''}{shown}, not {_short(value)}"


def _same(value: Json, choice: Json) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _required(schema: Node) -> list[str]:
    names = schema.mapping().get("required", [])
    if not isinstance(names, list):
        raise InvalidInput(f"{schema.place}/required: must be an array of names, not {kind_of(names)}")
    return [name for name in names if isinstance(name, str)]


def _nearest(problems: list[str], where: str) -> str:
    """That of the form which fits best: one that gets further than the value's own type."""
    if not problems or "" in problems:
        return ""
    inner = [problem for problem in problems if not problem.startswith(f"{where} must be")]
    if len(problems) == 1 or len(inner) == 1:
        return (inner or problems)[0]
    return f"{where} fits none of its {len(problems)} forms: {'; '.join(dict.fromkeys(problems))[:300]}"


def _sample(value: Json) -> str:
    return "" if value is None or isinstance(value, dict | list) else f" ({_short(value)})"


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
