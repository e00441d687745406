"""YAML read node by node, so that whatever is wrong is told with its line."""

from __future__ import annotations

import math

import yaml

from agentloop.errors import InvalidInput

__all__ = ["Entry", "read_yaml"]

_TAG = "tag:yaml.org,2002:"
_KINDS = {"str": "text", "int": "a number", "float": "a number", "bool": "on or off", "null": "nothing"}
_DEPTH = 20


def read_yaml(text: str, *, source: str) -> Entry:
    """The one document in `text`. Raises `InvalidInput` for none, for several and for what is no YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise InvalidInput(f"{source}{place}: this is no YAML: {getattr(error, 'problem', None) or error}") from error
    if node is None:
        raise InvalidInput(f"{source} is empty")
    return Entry(node, source)


class Entry:
    """One value of the file. Its readers raise `InvalidInput` with source and line."""

    def __init__(self, node: yaml.Node, source: str, name: str = "") -> None:
        self._node = node
        self._source = source
        self._name = name

    @property
    def is_scalar(self) -> bool:
        """True for text, numbers and the like."""
        return isinstance(self._node, yaml.ScalarNode)

    def wrong(self, message: str) -> InvalidInput:
        """An error about this value, to be raised."""
        name = f"{self._name}: " if self._name else ""
        return InvalidInput(f"{self._source}, line {self._node.start_mark.line + 1}: {name}{message}")

    def mapping(self, *names: str, required: tuple[str, ...] = ()) -> dict[str, Entry]:
        """Its entries, of these names only; those without a value are left out."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.wrong(f"this must have names and values ({', '.join(names)}), not {self._kind()}")
        entries: dict[str, Entry] = {}
        for key, value in self._node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            entry = Entry(value, self._source, name)
            if name not in names:
                raise Entry(key, self._source).wrong(f"{name!r} is not known here; there are: {', '.join(names)}")
            if name in entries:
                raise Entry(key, self._source).wrong(f"{name!r} is there twice")
            entries[name] = entry
        given = {name: entry for name, entry in entries.items() if entry._kind() != "nothing"}
        for name in required:
            if name not in given:
                raise self.wrong(f"{name!r} is missing")
        return given

    def items(self) -> list[Entry]:
        """The entries of a list; a single value is a list of one."""
        if isinstance(self._node, yaml.SequenceNode):
            return [Entry(item, self._source, self._name) for item in self._node.value]
        if self._kind() == "nothing":
            return []
        if self.is_scalar:
            return [self]
        raise self.wrong("this must be a list")

    def text(self) -> str:
        """Text, or a number as it is written; not blank."""
        if self._kind() not in ("text", "a number"):
            raise self.wrong(f"this must be text, not {self._kind()}")
        if not self._value.strip():
            raise self.wrong("this must be text, not blank")
        return self._value.strip()

    def flag(self) -> bool:
        """on, off, true, false, yes, no."""
        if self._kind() != "on or off":
            raise self.wrong(f"this must be on or off, not {self._kind()}")
        return self._value.lower() in ("true", "yes", "on")

    def whole(self, least: int, most: int | None = None) -> int:
        """A whole number within its bounds."""
        bounds = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most}"
        number = self._number() if self._is("int") else None
        if number is None or number < least or (most is not None and number > most):
            raise self.wrong(f"this must be {bounds}, not {self._value or self._kind()}")
        return int(number)

    def number(self) -> float:
        """A number, 0 or more."""
        number = self._number()
        if number is None or not 0 <= number < math.inf:
            raise self.wrong(f"this must be a number, 0 or more, not {self._value or self._kind()}")
        return number

    def _number(self) -> float | None:
        if self._kind() != "a number":
            return None
        try:
            return float(self._value.replace("_", ""))
        except ValueError:  # YAML also knows 0x10, 0b1 and 1:30
            return None

    @property
    def _value(self) -> str:
        return self._node.value if isinstance(self._node, yaml.ScalarNode) else ""

    def _is(self, tag: str) -> bool:
        return bool(self._node.tag == f"{_TAG}{tag}")

    def _kind(self) -> str:
        if isinstance(self._node, yaml.SequenceNode):
            return "a list"
        if isinstance(self._node, yaml.MappingNode):
            return "names and values"
        return _KINDS.get(str(self._node.tag).removeprefix(_TAG), "something else")
