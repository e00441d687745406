"""JSON schemas of strangers, applied to values of strangers: nothing is fetched and nothing runs away.

A schema may hold patterns that take for ever on some text, and references that multiply; so patterns
run on an engine of linear time, and the steps of one validation are counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import re2  # type: ignore[import-untyped]
from jsonschema import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["LONGEST_SCHEMA", "MOST_STEPS", "Schema"]

LONGEST_SCHEMA: Final = 64 * 1024
"""Characters of a schema as JSON."""

MOST_STEPS: Final = 100_000
"""Keywords applied to values in one validation."""

_PROBLEMS: Final = 10
_SHOWN: Final = 200


class Schema:
    """A JSON schema, without `patternProperties`. Raises `InvalidInput` for what is no schema."""

    def __init__(self, schema: Json) -> None:
        if not isinstance(schema, dict):
            raise InvalidInput('a schema is an object, such as {type: "array", items: {type: "string"}}')
        if len(json.dumps(schema)) > LONGEST_SCHEMA:
            raise InvalidInput(f"the schema is longer than {LONGEST_SCHEMA:,} characters")
        self._schema = schema
        self._kind = validator_for(schema, default=Draft202012Validator)
        self._checked(lambda: self._kind.check_schema(schema))
        for node in _nodes(schema):
            if "patternProperties" in node:
                raise InvalidInput("patternProperties is not understood in a schema: use additionalProperties")
            if isinstance(pattern := node.get("pattern"), str):
                _compiled(pattern)

    def problems(self, value: Any) -> list[str]:
        """What is wrong with a value, a line each with its place, the first ten; [] when it fits."""
        found: list[str] = []
        self._checked(lambda: found.extend(self._run(value)))
        return found

    def _run(self, value: Any) -> Iterator[str]:
        count = _Count()
        counted = {name: count.counting(rule) for name, rule in self._kind.VALIDATORS.items()}
        kind = extend(self._kind, {**counted, "pattern": count.counting(_pattern)})  # type: ignore[no-untyped-call]
        validator: Validator = kind(self._schema, registry=Registry())
        for number, error in enumerate(validator.iter_errors(value)):
            if number >= _PROBLEMS:
                return
            message = error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}…"
            yield f"{error.json_path}: {message}"

    def _checked(self, work: Callable[[], None]) -> None:
        try:
            work()
        except SchemaError as error:
            raise InvalidInput(f"not a JSON schema: {error.json_path}: {error.message[:_SHOWN]}") from None
        except Unresolvable as error:
            raise InvalidInput(f"the schema refers to {error.ref!r}, which is not in it: nothing is fetched") from None
        except RecursionError:
            raise InvalidInput("the schema refers to itself without end, or nests too deeply") from None


class _Count:
    def __init__(self) -> None:
        self._left = MOST_STEPS

    def counting(self, rule: Any) -> Any:
        def counted(*given: Any) -> Iterator[ValidationError]:
            self._left -= 1
            if self._left < 0:
                raise InvalidInput(f"the schema needs more than {MOST_STEPS:,} steps for this value: make it simpler")
            yield from rule(*given) or ()

        return counted


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise InvalidInput(f"the pattern {pattern[:80]!r} is not understood; it is in the syntax of RE2") from None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _nodes(schema: Json) -> Iterator[dict[str, Json]]:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
