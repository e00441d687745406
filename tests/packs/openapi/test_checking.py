from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.checking import Checker
from agentloop.packs.openapi.document import read_document

SCHEMAS: dict[str, Any] = {
    "Tree": {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        },
    },
    "Id": {"type": "integer"},
    "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}]},
    "Wide": {"anyOf": [{"$ref": "#/components/schemas/Wide"}, {"$ref": "#/components/schemas/Wide"}]},
}
TREE = {"$ref": "#/components/schemas/Tree"}


def problem(value: Any, schema: Any, *, version: str = "3.1.0", files: bool = False) -> str:
    root = read_document({"openapi": version, "components": {"schemas": SCHEMAS}, "x": schema})
    return Checker(files=files).problem(value, root.need("x"), "it")


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("a", {"type": "string"}),
        (5, {"type": "integer"}),
        (5.0, {"type": "integer"}),
        (10**400, {"type": "number"}),
        (None, {"type": ["string", "null"]}),
        ("a", {"enum": ["a", 1]}),
        ({"name": "a", "children": [{"name": "b", "children": []}]}, TREE),
        ({"a": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        (5, {"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        (5, True),
        ("anything", {}),
        ({"x-1": 5}, {"patternProperties": {"^x-": {}}, "additionalProperties": False}),
    ],
)
def test_what_fits(value: Any, schema: Any) -> None:
    assert problem(value, schema) == ""


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ("5", {"type": "integer"}, 'it must be an integer, not a string ("5")'),
        (5, {"type": "string"}, "it must be a string, not a number (5)"),
        (5.5, {"type": "integer"}, "it must be an integer, not a number (5.5)"),
        (True, {"type": "number"}, "it must be a number, not a boolean (true)"),
        ("true", {"type": "boolean"}, 'it must be a boolean, not a string ("true")'),
        ("a,b", {"type": "array"}, 'it must be an array, not a string ("a,b")'),
        (None, {"type": "string"}, "it must be a string, not null"),
        ({}, {"type": ["string", "null"]}, "it must be a string or null, not an object"),
        ("c", {"enum": ["a", "b"]}, 'it must be one of "a", "b", not "c"'),
        (True, {"enum": [1]}, "it must be 1, not true"),
        (2, {"const": 1}, "it must be 1, not 2"),
        ("x", False, "it is not allowed"),
        ({}, TREE, "it.name is missing"),
        ({"name": "a", "childs": []}, TREE, "it has no 'childs'; did you mean \"children\"?"),
        ({"name": "a", "children": [{"name": 1}]}, TREE, "it.children[0].name must be a string, not a number (1)"),
        ({"a": "1"}, {"additionalProperties": {"type": "integer"}}, 'it.a must be an integer, not a string ("1")'),
        ([1, "x"], {"items": {"type": "integer"}}, 'it[1] must be an integer, not a string ("x")'),
        (5, {"allOf": [{}, {"type": "string"}]}, "it must be a string, not a number (5)"),
        (5, {"anyOf": [{"type": "string"}]}, "it must be a string, not a number (5)"),
        ({}, {"oneOf": [{"type": "string"}, TREE]}, "it.name is missing"),
        (
            5,
            {"oneOf": [{"type": "string"}, {"type": "array"}]},
            "it fits none of its 2 forms: it must be a string, not a number (5); it must be an array, not a number (5)",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(value: Any, schema: Any, said: str) -> None:
    assert problem(value, schema) == said


def test_nullable_is_a_word_of_3_0() -> None:
    assert problem(None, {"type": "string", "nullable": True}, version="3.0.3") == ""
    assert problem(None, {"allOf": [TREE], "nullable": True}, version="3.0.3") == ""
    assert problem(None, {"type": "string"}, version="3.0.3") == "it must be a string, not null"


def test_what_only_comes_back_is_not_missing() -> None:
    own = {"required": ["id"], "properties": {"id": {"$ref": "#/components/schemas/Id", "readOnly": True}}}
    assert problem({}, own) == ""
    assert problem({}, {"required": ["id"], "properties": {"id": {"type": "integer", "readOnly": True}}}) == ""
    assert problem({}, {"required": ["id"], "properties": {"id": {"type": "integer"}}}) == "it.id is missing"


def test_words_beside_a_reference_count_in_3_1_alone() -> None:
    schema = {**TREE, "required": ["children"]}
    assert problem({"name": "a"}, schema, version="3.1.0") == "it.children is missing"
    assert problem({"name": "a"}, schema, version="3.0.3") == ""


@pytest.mark.parametrize("name", ["Loop", "Wide"])
def test_a_schema_without_end_ends(name: str) -> None:
    assert problem({"a": 1}, {"$ref": f"#/components/schemas/{name}"}) == ""


def test_a_deep_value_is_followed_to_its_end() -> None:
    value: dict[str, Any] = {"name": 1}
    for _ in range(60):
        value = {"name": "a", "children": [value]}
    assert problem(value, TREE).endswith(".name must be a string, not a number (1)")


BINARY = {"type": "string", "format": "binary"}


@pytest.mark.parametrize("schema", [BINARY, {"contentMediaType": "image/png"}])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", ""),
        ({"content": "a"}, ""),
        ({"base64": "AA==", "filename": "a", "contentType": "a/b"}, ""),
        ({"base64": "AA==", "content": "a"}, "it takes either content (text) or base64 (bytes)"),
        ({"filename": "a"}, "it takes either content (text) or base64 (bytes)"),
        ({"content": 1}, "it.content must be a string, not a number"),
        (
            {"content": "", "name": "a"},
            "it has no 'name': it takes base64, content, contentType, filename",
        ),
        ({"content": "", "fileName": "a"}, "it has no 'fileName'; did you mean \"filename\"?: it takes base64"),
        (5, 'it must be text, or an object such as {filename: "a.png", base64: "…"}, not a number'),
    ],
)
def test_files(value: Any, said: str, schema: Any) -> None:
    found = problem(value, schema, files=True)
    assert found.startswith(said) and bool(found) == bool(said)


def test_a_file_is_no_value_of_json() -> None:
    assert problem({"content": "a"}, BINARY).startswith("it must be a string")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "text"}, "#/x/type: 'text' is no type"),
        ({"enum": "a"}, "#/x/enum: must be an array, not a string"),
        ({"required": "a"}, "#/x/required: must be an array of names, not a string"),
        ({"$ref": "#/nowhere"}, "#/x/$ref: nothing is at #/nowhere"),
        (5, "#/x: must be an object, not a number"),
    ],
)
def test_a_broken_schema_is_an_error_that_names_its_place(schema: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        problem({}, schema)
    assert str(caught.value) == said
