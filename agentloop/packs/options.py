"""What scripts pass: JSON values of any shape, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["Options", "text_argument"]

T = TypeVar("T")


def text_argument(name: str, value: Json) -> str:
    """The text itself. Raises `InvalidInput` for anything else."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {_kind(value)}")
    return value


class Options:
    """The object that may come last in a call; null and missing entries mean the same.

    Raises `InvalidInput` for an unknown entry and, when read, for one of another type.
    """

    def __init__(self, value: Json, names: Collection[str]) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(f"the options must be an object {{{', '.join(names)}}}, not {_kind(value)}")
        self._values = {name: entry for name, entry in (value or {}).items() if entry is not None}
        for name in self._values:
            if name not in names:
                raise InvalidInput(f"there is no option {name!r}; there are: {', '.join(names)}")

    def value(self, name: str) -> Json:
        """Whatever it is."""
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """A string."""
        value = self._values.get(name)
        return None if value is None else text_argument(name, value)

    def flag(self, name: str) -> bool:
        """True or false, false when missing."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be true or false, not {_kind(value)}")
        return value

    def whole(self, name: str, *, least: int) -> int | None:
        """A whole number of at least `least`."""
        value = self._values.get(name)
        if value is None:
            return None
        whole = not isinstance(value, bool) and isinstance(value, int | float) and value == value // 1
        if not whole or value < least:
            raise InvalidInput(f"{name} must be a whole number from {least} on, not {value!r}")
        return int(value)

    def texts(self, name: str) -> dict[str, str]:
        """An object of strings, {} when missing."""
        value = self._values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{name} must be an object of strings, not {_kind(value)}")
        return {key: text_argument(f"{name}.{key}", entry) for key, entry in value.items()}


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return {type(None): "null", str: "a string", list: "an array"}.get(type(value), "an object")
