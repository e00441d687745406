from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi import read_api
from agentloop.packs.openapi.document import MOST_VALUES, read_document
from tests.packs.openapi.documents import document

HEAD = "openapi: 3.0.3\ninfo: {title: Things, version: '1'}\npaths: {}\n"


def problem(source: Any, **options: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_document(source, **options)
    return str(caught.value)


# What it may be given as -------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [json.dumps, lambda value: json.dumps(value).encode("utf-16"), lambda value: value])
def test_values_text_and_bytes_are_the_same(made: Any) -> None:
    assert read_document(made(document())).value == document()


def test_yaml_is_read_and_so_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    file.write_text(HEAD, "utf-8")
    assert read_document(file).value == read_document("\ufeff" + HEAD).value
    assert read_document(HEAD.encode()).get("info") is not None


def test_yaml_in_braces_is_still_yaml() -> None:
    assert read_document("{openapi: 3.1.0, info: {title: T, version: v}}").text("openapi") == "3.1.0"


def test_plain_words_of_yaml_are_those_of_json() -> None:
    node = read_document(
        HEAD + "x:\n  day: 2026-12-24\n  on: yes\n  time: 12:30:45\n  zip: 0123\n  200: 1e3\n  no: 1_000\n  z: ~\n"
    )
    assert node.need("x").value == {
        "day": "2026-12-24",
        "on": "yes",
        "time": "12:30:45",
        "zip": "0123",
        "200": 1000.0,
        "no": "1_000",
        "z": None,
    }


def test_anchors_and_merges_of_yaml_are_followed() -> None:
    node = read_document(HEAD + "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n")
    assert (node.need("b").value, node.need("c").value) == ({"x": 1, "y": 3}, {"x": 1, "y": 2})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "'' is not the text of a document: give a file as a Path"),
        ("api.yaml", "'api.yaml' is not the text of a document: give a file as a Path; no address is fetched"),
        ("https://api.example/openapi.json", "is not the text of a document"),
        ("- a\n- b\n", "an OpenAPI document is an object with openapi, info and paths"),
        ('{"openapi": "3.1.0",', "the document is no JSON: Expecting property name"),
        ("a: [1\nb: 2\n", "the document is no YAML: "),
        (
            "a: !!python/object/apply:os.system ['true']\nb: 1\n",
            "the document is no YAML: could not determine a constr",
        ),
        (b"\xff\x00\x01", "the document is not UTF-8 text: byte 0"),
        ({"swagger": "2.0"}, "this is a document of version 2.0 (Swagger): convert it to OpenAPI 3.0 or 3.1 first"),
        ({"info": {}}, '#/openapi: the version is missing; 3.0 and 3.1 are, as in openapi: "3.1.0"'),
        ({"openapi": "3.2.0"}, "#/openapi: the version '3.2.0' is not understood; 3.0 and 3.1 are"),
        ({"openapi": "3.1.0", "x": object()}, "#/x: a document holds JSON values, not object"),
        ({"openapi": "3.1.0", "x": [float("nan")]}, "#/x/0: a document holds JSON values, not float"),
        ({"openapi": "3.1.0", "x/y": ["\ud800"]}, "#/x~1y/0: a text has half of a surrogate pair"),
        ('{"openapi": "3.1.0", "\\ud800": 1}', "#: a text has half of a surrogate pair"),
        ('{"openapi": "3.1.0", "x": NaN}', "#/x: a document holds JSON values, not float"),
        ("a:\n " + "[" * 100_000, "the document "),
        ("a:\n " + "[" * 500 + "]" * 500, "the document nests more than 200 deep"),
        ('{"a":' * 100_000, "the document nests too deeply"),
    ],
)
def test_what_is_no_document(source: Any, said: str) -> None:
    assert said in problem(source)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert problem(tmp_path / "no.yaml").endswith("no.yaml cannot be read: No such file or directory")
    assert "cannot be read" in problem(tmp_path)


def test_aliases_cannot_make_a_document_endless() -> None:
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    assert problem(HEAD + bomb) == f"the document has more than {MOST_VALUES:,} values"
    assert "nests more than 200 deep" in problem(HEAD + "a: &a [*a]\n")


# References --------------------------------------------------------------------------------------------


def schema_of(source: dict[str, Any], **options: Any) -> Any:
    [operation] = read_api(source, **options).operations.values()
    schema = operation.parameters[0].schema
    assert schema is not None
    return schema.followed().value


def referring(reference: Any, schemas: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    parameter = {"name": "q", "in": "query", "schema": {"$ref": reference}}
    return document(parameters=[parameter], schemas=schemas, **more)


def test_pointers_have_escapes() -> None:
    source = referring("#/components/schemas/a~1b~0c%20d", {"a/b~c d": {"type": "integer"}})
    assert schema_of(source) == {"type": "integer"}


def test_a_reference_may_lead_to_a_reference() -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"type": "integer"}}
    assert schema_of(referring("#/components/schemas/A", schemas)) == {"type": "integer"}


def test_parameters_bodies_and_path_items_are_followed() -> None:
    source = document()
    source["components"] = {
        "parameters": {"Q": {"$ref": "#/components/parameters/R"}, "R": {"name": "q", "in": "query"}},
        "requestBodies": {"B": {"required": True, "content": {"application/json": {}}}},
        "pathItems": {"P": {"post": {"requestBody": {"$ref": "#/components/requestBodies/B"}, "responses": {}}}},
    }
    source["components"]["pathItems"]["P"]["parameters"] = [{"$ref": "#/components/parameters/Q"}]
    source["paths"] = {"/things": {"$ref": "#/components/pathItems/P"}}

    operation = read_api(source).operations["postThings"]
    assert [parameter.name for parameter in operation.parameters] == ["q"]
    assert operation.body is not None
    assert operation.body.required


def test_another_document_is_given_and_never_fetched() -> None:
    common = {"A": {"$ref": "#/B"}, "B": {"type": "boolean"}}
    source = referring("common.json#/A")
    given = {"documents": {"common.json": common}, "url": "https://docs.example/api/openapi.json"}

    assert schema_of(source, **given) == {"type": "boolean"}
    assert schema_of(referring("https://docs.example/api/common.json#/A"), **given) == {"type": "boolean"}
    assert schema_of(source, documents={"common.json": "A: {$ref: '#/B'}\nB: {type: boolean}\n"}) == {"type": "boolean"}


def test_schemas_of_3_1_have_names_and_addresses() -> None:
    schemas = {
        "A": {"$anchor": "named", "type": "integer"},
        "B": {"$id": "https://schemas.example/b", "$defs": {"C": {"type": "boolean"}}, "$ref": "#/$defs/C"},
    }
    assert schema_of(referring("#named", schemas)) == {"$anchor": "named", "type": "integer"}
    assert schema_of(referring("https://schemas.example/b#/$defs/C", schemas)) == {"type": "boolean"}
    assert schema_of(referring("#/components/schemas/B", schemas)) == {"type": "boolean"}


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("#/components/schemas/No", "nothing is at #/components/schemas/No"),
        ("#/paths/~1things/get/parameters/7", "nothing is at #/paths/~1things/get/parameters/7"),
        ("#/paths/~1things/get/parameters/x", "nothing is at #/paths/~1things/get/parameters/x"),
        ("#/info/title/x", "nothing is at #/info/title/x"),
        (
            "https://evil.example/a.json#/A",
            "https://evil.example/a.json#/A is in another document, and nothing is fetched: "
            "give it as documents={'https://evil.example/a.json': …}",
        ),
        ("file:///etc/passwd", "file:///etc/passwd is in another document, and nothing is fetched"),
        ("../secrets.yaml", "../secrets.yaml is in another document, and nothing is fetched"),
    ],
)
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_references_that_lead_nowhere_name_their_place(reference: str, said: str, version: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_api(referring(reference, version=version))
    assert str(caught.value).startswith(f"#/paths/~1things/get/parameters/0/schema/$ref: {said}")


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_references_in_a_circle_are_named(version: str) -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    with pytest.raises(InvalidInput, match=r"parameters/0/schema/\$ref: the reference leads in a circle"):
        read_api(referring("#/components/schemas/A", schemas, version=version))
