from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.schema import Schema
from tests.packs.web import served


def test_what_is_wrong_is_told_with_its_place() -> None:
    schema = Schema({"type": "array", "items": {"type": "object", "required": ["id"]}})

    assert schema.problems([{"id": 1}]) == []
    assert schema.problems([{"id": 1}, {}]) == ["$[1]: 'id' is a required property"]
    assert schema.problems({}) == ["$: {} is not of type 'array'"]


def test_at_most_ten_problems_are_told_each_cut_short() -> None:
    problems = Schema({"items": {"type": "string"}}).problems([[*range(1000)]] * 50)

    assert len(problems) == 10
    assert max(map(len, problems)) < 250


def test_references_within_the_schema_hold() -> None:
    schema = Schema({"$defs": {"n": {"type": "number"}}, "items": {"$ref": "#/$defs/n"}})

    assert schema.problems([1, "a"]) == ["$[1]: 'a' is not of type 'number'"]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("string", "a schema is an object"),
        ({"type": "text"}, "not a JSON schema: $.type"),
        ({"type": "object", "patternProperties": {"a": {}}}, "patternProperties is not understood"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "RE2"),
        ({"description": "x" * 70_000}, "longer than"),
    ],
)
def test_what_is_no_schema_is_refused(schema: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("$", r"\$")):
        Schema(schema)


async def test_a_reference_to_elsewhere_is_not_fetched() -> None:
    async with served() as site:
        with pytest.raises(InvalidInput, match="nothing is fetched"):
            Schema({"$ref": f"{site.url}/schema.json"}).problems(1)

    assert not site.sockets


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_that_never_ends_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Schema(schema).problems(1)


def test_a_schema_that_doubles_itself_is_stopped() -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = Schema({"$defs": {**twice, "d40": {}}, "$ref": "#/$defs/d0"})

    with pytest.raises(InvalidInput, match="steps"):
        schema.problems(1)


def test_a_pattern_takes_linear_time() -> None:
    schema = Schema({"type": "string", "pattern": "^(a+)+$"})

    assert len(schema.problems("a" * 50_000 + "!")) == 1
    assert schema.problems("a" * 50_000) == []
