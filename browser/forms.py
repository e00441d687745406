"""The ways a script may write a call: which of its arguments are the target, and which are the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentloop.browser.targets import read_target
from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["Arguments"]


class Arguments:
    """Reads the arguments of one call from left to right.

    A name may be followed by its number, in either order; a call that means both passes them as two
    arguments, `click("Save", 9)`, and every verb reads its target through here.
    """

    def __init__(self, verb: str, values: Sequence[Json]) -> None:
        self._verb = verb
        self._values = list(values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def starts_with_text(self) -> bool:
        """True when the next argument is a text."""
        return bool(self._values) and isinstance(self._values[0], str)

    def target(self, *, after: int = 0) -> Any:
        """The next target. `after` arguments are needed behind it: `type("#q", 3)` types a 3.

        Raises `InvalidInput` when there is none.
        """
        if not self._values:
            raise InvalidInput(f'{self._verb}: a target is required, such as {self._verb}("Name", 9)')
        first = self._values.pop(0)
        if self._pairs_with_next(first, after):
            return self._pair(first, self._values.pop(0))
        read_target(first)
        return tuple(first) if isinstance(first, list) else first

    def _pairs_with_next(self, first: Json, after: int) -> bool:
        if len(self._values) <= after:
            return False
        kinds = {type(first), type(self._values[0])}
        return str in kinds and bool(kinds & {int, float})

    def _pair(self, first: Json, second: Json) -> Any:
        if _is_number(first):
            first, second = second, first
        return (first, int(second)) if first.strip() else int(second)

    def required(self, name: str) -> Json:
        """The next argument. Raises `InvalidInput` with its name when it is missing."""
        if not self._values or self._values[0] is None:
            raise InvalidInput(f"{self._verb}: {name} is required")
        return self._values.pop(0)

    def words(self, name: str) -> str:
        """The next argument as text; numbers are taken as written."""
        value = self.required(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidInput(f"{self._verb}: {name} is a text")
        return value if isinstance(value, str) else f"{value:.15g}"

    def number(self, name: str) -> float:
        """The next argument as a number."""
        value = self.required(name)
        if not _is_number(value):
            raise InvalidInput(f"{self._verb}: {name} is a number")
        return float(value)

    def options(self) -> Mapping[str, Json]:
        """Takes a last argument that is an object without x and id off the end; {} when there is none."""
        last = self._values[-1] if self._values else None
        if isinstance(last, Mapping) and not {"x", "id"} & set(last):
            self._values.pop()
            return last
        return {}

    def rest(self) -> list[Json]:
        """Whatever is left."""
        left, self._values = self._values, []
        return left


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
