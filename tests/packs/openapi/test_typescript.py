from __future__ import annotations

from typing import Any

import pytest

from agentloop.packs.openapi.document import read_document
from agentloop.packs.openapi.typescript import TypeWriter, property_name, remark

SCHEMAS: dict[str, Any] = {
    "Pet": {
        "type": "object",
        "required": ["name", "id"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "owner": {"$ref": "#/components/schemas/Owner"},
        },
    },
    "Owner": {
        "type": "object",
        "properties": {"pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}},
    },
    "Id": {"type": "string", "format": "uuid", "description": "an id"},
    "Far0": {"properties": {"next": {"$ref": "#/components/schemas/Far1"}}},
    "Far1": {"properties": {"next": {"$ref": "#/components/schemas/Far2"}}},
    "Far2": {"properties": {"next": {"$ref": "#/components/schemas/Far3"}}},
    "Far3": {"properties": {"next": {"$ref": "#/components/schemas/Far4"}}},
    "Far4": {"properties": {"next": {"type": "string"}}},
}


def written(schema: Any, *, version: str = "3.1.0", longest: int = 5000, files: bool = False) -> tuple[str, list[str]]:
    root = read_document({"openapi": version, "components": {"schemas": SCHEMAS}, "x": schema})
    writer = TypeWriter(longest=longest)
    return writer.text(root.need("x"), files=files), list(writer.definitions())


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({}, "any"),
        (True, "any"),
        ({"type": ["integer", "number", "null"]}, "number | null"),
        ({"enum": ["a", 1, True, None]}, '"a" | 1 | true | null'),
        ({"const": "a"}, '"a"'),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "number[][]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": False}, "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{ [name: string]: number }"),
        (
            {"properties": {"a": {"type": "string"}, "b-c": {"type": "integer"}}, "required": ["a"]},
            '{ a: string; "b-c"?: number }',
        ),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "string | number"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, "{ a?: any } & { b?: any }"),
        (
            {"allOf": [{"properties": {"a": {}}}, {"oneOf": [{"type": "string"}, {"type": "integer"}]}]},
            "{ a?: any } & (string | number)",
        ),
        ({"enum": [f"c{n}" for n in range(40)]}, " | ".join(f'"c{n}"' for n in range(30)) + " | string"),
        ({"enum": ["*/ evil `", "x" * 100]}, '"*\\/ evil \\u0060" | string'),
    ],
)
def test_types(schema: Any, text: str) -> None:
    assert written(schema) == (text, [])


def test_nullable_is_a_word_of_3_0() -> None:
    assert written({"type": "string", "nullable": True}, version="3.0.3")[0] == "string | null"
    assert (
        written({"allOf": [ref("Pet"), ref("Owner")], "nullable": True}, version="3.0.3")[0] == "(Pet & Owner) | null"
    )


def test_what_is_referred_to_has_a_name_and_may_come_back_to_itself() -> None:
    assert written({"type": "array", "items": ref("Pet")}) == (
        "Pet[]",
        ["type Pet = { readonly id?: number; name: string; owner?: Owner };", "type Owner = { pets?: Pet[] };"],
    )


def test_a_plain_type_needs_no_name() -> None:
    assert written(ref("Id")) == ("string", [])


def test_words_beside_a_reference_count_in_3_1_alone() -> None:
    schema = {**ref("Owner"), "properties": {"x": {"type": "string"}}}
    assert written(schema)[0] == "Owner & { x?: string }"
    assert written(schema, version="3.0.3")[0] == "Owner"


def test_two_of_one_name_are_two() -> None:
    root = read_document(
        {
            "openapi": "3.1.0",
            "a": {"$ref": "#/components/schemas/Pet"},
            "b": {"$ref": "other.json#/Pet"},
            "components": {"schemas": SCHEMAS},
        },
        documents={"other.json": {"Pet": {"properties": {"z": {}}}}},
    )
    writer = TypeWriter(longest=1000)
    assert (writer.text(root.need("a")), writer.text(root.need("b"))) == ("Pet", "Pet2")
    assert "type Pet2 = { z?: any };" in list(writer.definitions())


def test_far_away_is_any() -> None:
    _, defined = written(ref("Far0"))
    assert defined[-1] == "type Far3 = { next?: any };"
    assert len(defined) == 4


def test_what_does_not_fit_is_any() -> None:
    text, defined = written(ref("Pet"), longest=20)
    assert (text, defined) == ("Pet", ["type Pet = any;"])


def test_deep_nesting_ends() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(50):
        schema = {"type": "array", "items": schema}
    assert written(schema)[0] == "any" + "[]" * 7


def test_many_properties_end() -> None:
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(500)}}
    assert written(schema)[0].endswith("p79?: string; [name: string]: any }")


def test_files() -> None:
    binary = {"type": "string", "format": "binary"}
    assert written({"properties": {"f": {"type": "array", "items": binary}}}, files=True)[0] == "{ f?: File[] }"
    assert written(binary)[0] == "string"


@pytest.mark.parametrize(
    ("name", "text"), [("a", "a"), ("a-b", '"a-b"'), ('"', '"\\""'), ("*/", '"*\\/"'), ("é", '"\\u00e9"')]
)
def test_property_names(name: str, text: str) -> None:
    assert property_name(name) == text


def test_remarks_stay_on_their_line_and_in_their_comment() -> None:
    assert remark("One */ two\n\n[9] button \u202e three\u200b") == "One * / two (9) button three"
    assert len(remark("x" * 1000)) == 160
