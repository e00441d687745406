"""Schemas as TypeScript, short enough to be read by a model."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from agentloop.guard.fence import one_line
from agentloop.packs.openapi.checking import is_binary, is_read_only
from agentloop.packs.openapi.names import sanitised
from agentloop.packs.openapi.node import Node
from agentloop.records import Json

__all__ = ["TypeWriter", "property_name", "remark"]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_DEEPEST: Final = 6
_ROOM: Final = 2
_LEAST: Final = 6
_FARTHEST: Final = 4
_CHOICES: Final = 30
_PROPERTIES: Final = 80
_BRANCHES: Final = 20
_LONGEST_CHOICE: Final = 60
_REMARK: Final = 160
# A schema of these words alone is clearer where it is used than under a name.
_SIMPLE: Final = frozenset(
    {"type", "format", "description", "title", "example", "default", "minimum", "maximum", "minLength", "maxLength"}
    | {"pattern", "deprecated"}
)
_NUMBERS: Final = frozenset({"integer", "number"})
_FILE: Final = "File"
_TAKEN: Final = (_FILE, "Reply", "Record", "Array", "Object", "String", "Number", "Boolean")


class TypeWriter:
    """Writes types. What a reference leads to gets a name, and is defined once however often it is used.

    `longest` bounds all definitions together, in characters; what does not fit, or is more than four references
    away, is `any`.
    """

    def __init__(self, *, longest: int) -> None:
        self._left = longest
        self._room = _ROOM * longest
        self._names: dict[tuple[int, bool], str] = {}
        self._waiting: deque[tuple[str, Node, bool, int]] = deque()
        self._steps = 0
        self._taken = set(_TAKEN)

    def text(self, schema: Node | None, *, files: bool = False) -> str:
        """The type of a schema. Raises `InvalidInput` for a reference that leads nowhere."""
        return _Type(self, files=files).text(schema, 0)

    def definitions(self) -> Iterator[str]:
        """`type Pet = …;` for what was named since the last time, and for what is named in that."""
        while self._waiting:
            name, target, files, self._steps = self._waiting.popleft()
            text = _Type(self, files=files).text(target, 1) if self._left > 0 else "any"
            self._left -= len(text)
            yield f"type {name} = {text if self._left > 0 else 'any'};"
        self._steps = 0

    def spend(self, characters: int) -> bool:
        """Takes room for what is written; False when there is none left."""
        self._room -= characters + _LEAST
        return self._room > 0

    def named(self, target: Node, *, files: bool) -> str:
        """The name of what a reference leads to, "any" when there is no room for it."""
        key = (id(target.value), files)
        if key not in self._names:
            if self._left <= 0 or self._steps >= _FARTHEST:
                return "any"
            self._names[key] = self._free(sanitised(_last(target.place)))
            self._waiting.append((self._names[key], target, files, self._steps + 1))
        return self._names[key]

    def _free(self, name: str) -> str:
        number, fit = 2, name
        while fit in self._taken:
            fit, number = f"{name}{number}", number + 1
        self._taken.add(fit)
        return fit


class _Type:
    """Writes one type."""

    def __init__(self, writer: TypeWriter, *, files: bool) -> None:
        self._writer = writer
        self._files = files

    def text(self, schema: Node | None, depth: int) -> str:
        if schema is None or not isinstance(schema.value, dict) or depth > _DEEPEST or not self._writer.spend(0):
            return "any"
        if self._files and is_binary(schema):
            return _FILE
        parts = list(filter(None, self._all(schema, depth)))
        written = " & ".join(map(_in_intersection, parts)) if len(parts) > 1 else "".join(parts) or "any"
        nullable = schema.get("nullable") is not None and schema.flag("nullable")
        return f"{_in_union(written)} | null" if nullable and written != "any" else written

    def _all(self, schema: Node, depth: int) -> Iterator[str]:
        """What holds at the same time."""
        if schema.reference:
            target = schema.followed()
            simple = isinstance(target.value, dict) and target.value.keys() <= _SIMPLE
            yield self.text(target, depth + 1) if simple else self._writer.named(target, files=self._files)
            if not schema.modern:
                return
        yield self._own(schema, depth)
        for word in ("allOf", "oneOf", "anyOf"):
            branches = schema.get(word)
            if branches is None:
                continue
            texts = [self.text(branch, depth + 1) for branch in list(branches.elements())[:_BRANCHES]]
            if word == "allOf":
                yield from (text for text in texts if text != "any")
            else:
                yield " | ".join(dict.fromkeys(texts))

    def _own(self, schema: Node, depth: int) -> str:
        entries = schema.mapping()
        if "const" in entries:
            return _literal(entries["const"])
        choices = entries.get("enum")
        if isinstance(choices, list) and choices:
            shown = [_literal(choice) for choice in choices[:_CHOICES]]
            if not self._writer.spend(sum(map(len, shown))):
                return "any"
            return " | ".join(dict.fromkeys(shown)) + (" | string" if len(choices) > _CHOICES else "")
        declared = entries.get("type")
        types = declared if isinstance(declared, list) else [] if declared is None else [declared]
        if not types and ("properties" in entries or isinstance(entries.get("additionalProperties"), dict)):
            types = ["object"]
        if not types and "items" in entries:
            types = ["array"]
        return " | ".join(dict.fromkeys(self._of(str(one), schema, depth) for one in types))

    def _of(self, name: str, schema: Node, depth: int) -> str:
        if name in _NUMBERS:
            return "number"
        if name in ("string", "boolean", "null"):
            return name
        if name == "array":
            item = self.text(schema.get("items"), depth + 1)
            return f"({item})[]" if _is_compound(item) else f"{item}[]"
        return self._object(schema, depth) if name == "object" else "any"

    def _object(self, schema: Node, depth: int) -> str:
        fields = list(self._fields(schema, depth))
        others = schema.get("additionalProperties")
        if others is not None and others.value is not False and not fields:
            return f"{{ [name: string]: {self.text(others, depth + 1)} }}"
        if not fields:
            return "object"
        return f"{{ {'; '.join(fields)} }}"

    def _fields(self, schema: Node, depth: int) -> Iterator[str]:
        properties = schema.get("properties")
        listed = schema.mapping().get("required")
        required = listed if isinstance(listed, list) else []
        for number, (name, found) in enumerate(() if properties is None else properties.items()):
            if number >= _PROPERTIES or not self._writer.spend(len(name)):
                yield "[name: string]: any"
                return
            answered = is_read_only(found)
            mark = "" if name in required and not answered else "?"
            yield f"{'readonly ' if answered else ''}{property_name(name)}{mark}: {self.text(found, depth + 1)}"


def property_name(name: str) -> str:
    """The name of a property as TypeScript writes it, in quotes where it must be."""
    return name if _IDENTIFIER.fullmatch(name) else _safe(json.dumps(name))


def remark(text: str, limit: int = _REMARK) -> str:
    """Words of the document on one line of a comment, which they cannot end."""
    return one_line(text, limit).replace("*/", "* /")


def _literal(value: Json) -> str:
    text = _safe(json.dumps(value, ensure_ascii=True))
    return text if len(text) <= _LONGEST_CHOICE else "string" if isinstance(value, str) else "any"


def _safe(text: str) -> str:
    return text.replace("*/", "*\\/").replace("`", "\\u0060")


def _last(place: str) -> str:
    return re.split("[/#]", place)[-1]


def _is_compound(text: str) -> bool:
    return _outside(text, " | ") or _outside(text, " & ")


def _in_intersection(text: str) -> str:
    return f"({text})" if _outside(text, " | ") else text


def _in_union(text: str) -> str:
    return f"({text})" if _outside(text, " & ") else text


def _outside(text: str, mark: str) -> bool:
    """Whether `mark` stands outside braces, brackets and quotes."""
    depth, quoted = 0, False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (char in "{([") - (char in "})]")
            if depth == 0 and text.startswith(mark, at):
                return True
    return False
