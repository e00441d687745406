"""How an API is explained to a model: in few words first, an operation at a time when there are many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from agentloop.packs.openapi.bodies import takes_files
from agentloop.packs.openapi.model import Api, Body, Operation, Parameter
from agentloop.packs.openapi.names import near
from agentloop.packs.openapi.reading import BODY, CONTENT_TYPE
from agentloop.packs.openapi.typescript import TypeWriter, property_name, remark
from agentloop.packs.resources import words

__all__ = ["LONGEST_HELP", "Guide"]

LONGEST_HELP: Final = 12_000
"""Characters of one help text; what scripts log is cut a little above that."""

_WORDS: Final = "openapi/openapi.md"
_FILLED: Final = re.compile(r"\{(\w+)\}")
_TITLE: Final = 80
_DESCRIPTION: Final = 300
_SUMMARY: Final = 70
_TYPES: Final = 5_000
_TYPES_OF_ALL: Final = 8_000
_GROUPS: Final = 100
_DECLARED_TOGETHER: Final = 100
_TOPIC: Final = 60
_REMARKS: Final = 12
_FIELDS: Final = 4_000
_LEAST_FIELD: Final = 12


class Guide:
    """The words for one API under the name that scripts require it by; `static` are headers sent with every call."""

    def __init__(self, api: Api, *, name: str, title: str, static: Iterable[str] = ()) -> None:
        self._api = api
        self._name = name
        self._title = remark(title, _TITLE)
        self._static = frozenset(header.lower() for header in static)

    def pointer(self) -> str:
        """What stands in the prompt: that there is the API, and how to learn more."""
        return self._filled("pointer")

    def overview(self) -> str:
        """All declarations where they fit, else a list of the functions, else how to find one."""
        intro = self._filled("intro")
        if len(self._api.operations) <= _DECLARED_TOGETHER:
            declared = self._declared(self._api.operations.values(), types=_TYPES_OF_ALL)
            if len(text := f"{intro}\n\n{declared}") <= LONGEST_HELP:
                return text
        listed = "\n".join(self._line(operation) for operation in self._api.operations.values())
        if len(text := f"{intro}\n\n{self._filled('listed')}\n\n{listed}") <= LONGEST_HELP:
            return text
        return f"{intro}\n\n{self._filled('grouped')}\n\n{self._groups()}"

    def about(self, topic: str) -> str:
        """The declaration of one function, or the functions that have all these words; "" is the overview."""
        if not topic.strip():
            return self.overview()
        operation = self._api.operations.get(topic.strip())
        if operation is not None:
            return self._declared([operation], types=_TYPES)
        found = [one for one in self._api.operations.values() if _has(one, topic.lower().split())]
        shown = remark(topic, _TOPIC)
        if not found:
            hint = near(topic, self._api.operations) or '; help("") tells what there is'
            return self._filled("nothing", topic=shown, hint=hint)
        return self._found(found, shown)

    def _found(self, found: Sequence[Operation], topic: str) -> str:
        lines = [self._filled("found", topic=topic, count=_counted(len(found))), ""]
        left = LONGEST_HELP
        for number, operation in enumerate(found):
            line = self._line(operation)
            left -= len(line) + 1
            if left < 0:
                lines.append(self._filled("more", count=str(len(found) - number)))
                break
            lines.append(line)
        return "\n".join(lines)

    def _filled(self, heading: str, **more: str) -> str:
        values = {
            "name": self._name,
            "title": self._title,
            "version": f" (v{remark(self._api.version, 20)})" if self._api.version else "",
            "description": remark(self._api.description, _DESCRIPTION) or self._title,
            "count": _counted(len(self._api.operations)),
            "base": remark(self._api.base, 200) or "several servers",
            "example": next(iter(self._api.operations)),
            **more,
        }
        return _FILLED.sub(lambda match: values.get(match[1], match[0]), words(_WORDS)[heading])

    def _line(self, operation: Operation) -> str:
        text = operation.summary or operation.description
        told = f" — {remark(text, _SUMMARY)}" if text else ""
        return f"  {operation.function}: {operation.method} {remark(operation.path, _DESCRIPTION)}{told}"

    def _groups(self) -> str:
        counts = Counter(group for operation in self._api.operations.values() for group in _groups_of(operation))
        lines = [f"  {remark(name, _SUMMARY)}: {_counted(count)}" for name, count in counts.most_common(_GROUPS)]
        more = [self._filled("more", count=f"{len(counts) - _GROUPS} groups")] if len(counts) > _GROUPS else []
        return "\n".join([*lines, *more])

    def _declared(self, operations: Iterable[Operation], *, types: int) -> str:
        writer = TypeWriter(longest=types)
        functions = [_Declaration(operation, writer, self._static).text() for operation in operations]
        defined = list(writer.definitions())
        if any(re.search(r"\bFile\b", text) for text in (*functions, *defined)):
            defined.insert(0, self._filled("file"))
        return "\n\n".join(["\n".join(defined), *functions] if defined else functions)


class _Declaration:
    """One function as TypeScript, with what its documents say of it."""

    def __init__(self, operation: Operation, writer: TypeWriter, static: frozenset[str]) -> None:
        self._operation = operation
        self._writer = writer
        self._static = static

    def text(self) -> str:
        operation = self._operation
        fields = list(self._fields())
        needed = any(name[-1] not in "?]" for name, _ in fields)
        inner = "".join(f"{name}: {type}; " for name, type in fields)
        params = f"params{'' if needed else '?'}: {{ {inner}}}" if fields else ""
        result = self._writer.text(operation.result)
        comment = "\n * ".join(self._remarks())
        return f"/** {comment} */\ndeclare function {operation.function}({params}): Reply<{result}>;"

    def _remarks(self) -> Iterator[str]:
        operation = self._operation
        call = f"{operation.method} {remark(operation.path)}"
        told = remark(operation.summary or operation.description)
        yield (f"{told} ({call})" if told else call) + (" Deprecated." if operation.deprecated else "")
        for parameter in [one for one in operation.parameters if one.description][:_REMARKS]:
            yield f"{remark(parameter.key, _SUMMARY)}: {remark(parameter.description)}"
        if operation.body is not None:
            types = ", ".join(remark(media.type, _SUMMARY) for media in operation.body.media)
            yield f"{BODY} is sent as {types}"

    def _fields(self) -> Iterator[tuple[str, str]]:
        left = _FIELDS
        for parameter in self._operation.parameters:
            if parameter.place == "header" and parameter.name.lower() in self._static:
                continue
            left -= len(parameter.key) + _LEAST_FIELD
            if left < 0:
                yield "[name: string]", "any"
                break
            yield property_name(parameter.key) + ("" if parameter.required else "?"), self._type(parameter)
        if (body := self._operation.body) is not None:
            yield from self._body_fields(body)

    def _type(self, parameter: Parameter) -> str:
        written = self._writer.text(parameter.schema)
        return "string" if parameter.schema is None and not parameter.media else written

    def _body_fields(self, body: Body) -> Iterator[tuple[str, str]]:
        types = [self._writer.text(media.schema, files=takes_files(media.type)) for media in body.media]
        yield BODY + ("" if body.required else "?"), " | ".join(dict.fromkeys(types))
        if len(body.media) > 1:
            yield f"{CONTENT_TYPE}?", " | ".join(_in_quotes(media.type) for media in body.media)


def _in_quotes(text: str) -> str:
    return f'"{remark(text)}"'


def _has(operation: Operation, topics: Sequence[str]) -> bool:
    text = " ".join([operation.function, operation.method, operation.path, operation.summary, *operation.tags]).lower()
    return all(topic in text for topic in topics)


def _groups_of(operation: Operation) -> tuple[str, ...]:
    return operation.tags or (f"/{operation.path.split('/')[1]}",)


def _counted(number: int) -> str:
    return f"{number:,} operation{'' if number == 1 else 's'}"
