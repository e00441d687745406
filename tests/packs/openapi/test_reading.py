from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi import read_api
from agentloop.packs.openapi.model import Encoding
from tests.packs.openapi.documents import document, operation


def with_methods(*methods: str) -> dict[str, Any]:
    source = document()
    source["paths"] = {"/b": {m: {"responses": {}} for m in methods}, "/a": {"get": {"responses": {}}}}
    return source


def problem(source: dict[str, Any], **options: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_api(source, **options)
    return str(caught.value)


# Operations ---------------------------------------------------------------------------------------------


def test_operations_stand_in_the_order_of_path_and_method() -> None:
    api = read_api(with_methods("put", "get", "delete"))
    assert list(api.operations) == ["getA", "deleteB", "getB", "putB"]


def test_five_methods_unless_others_are_listed() -> None:
    source = with_methods("head", "options", "trace", "patch")
    assert list(read_api(source).operations) == ["getA", "patchB"]
    assert list(read_api(source, methods=["head", "Options"]).operations) == ["headB", "optionsB"]


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (["DELETE"], "#/paths: there is no operation with one of DELETE"),
        ([], "#/paths: there is no operation"),
        (["TRACE"], "method 'TRACE' is never sent; there are: GET, POST"),
        (["CONNECT"], "method 'CONNECT' is never sent"),
        ("GET", "methods takes a list of methods, not one text: ['GET']"),
    ],
)
def test_methods_that_leave_nothing_or_are_never_sent(methods: Any, said: str) -> None:
    assert problem(with_methods("get"), methods=methods).startswith(said)


def test_no_paths_is_no_operation() -> None:
    source = document(webhooks={"new": {"post": {"responses": {}}}})
    del source["paths"]
    assert problem(source).startswith("#/paths: there is no operation")


def test_ids_become_names_and_two_alike_are_numbered() -> None:
    source = with_methods("get", "put", "post")
    for number, method in enumerate(("get", "put", "post")):
        source["paths"]["/b"][method]["operationId"] = ("repos/get-content", "repos get content", "help")[number]
    assert list(read_api(source).operations) == ["getA", "repos_get_content", "help2", "repos_get_content2"]


# Parameters ---------------------------------------------------------------------------------------------


def test_an_operation_overrides_parameters_of_its_path_by_place_and_name() -> None:
    source = document(path="/things/{id}", parameters=[{"name": "id", "in": "path", "schema": {"type": "integer"}}])
    source["paths"]["/things/{id}"]["parameters"] = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "id", "in": "query", "schema": {"type": "string"}},
    ]
    found = read_api(source).operations["call"].parameters

    assert [(one.key, one.place, one.required) for one in found] == [
        ("path_id", "path", True),
        ("query_id", "query", False),
    ]
    assert found[0].schema is not None
    assert found[0].schema.value == {"type": "integer"}


def test_places_and_names_are_in_order_and_every_place_has_its_style() -> None:
    listed = [{"name": name, "in": place} for place in ("cookie", "header", "query") for name in ("b", "a")]
    found = operation(parameters=listed).parameters

    assert [(one.place, one.name) for one in found] == [
        (place, name) for place in ("query", "header", "cookie") for name in ("a", "b")
    ]
    assert {one.place: (one.style, one.explode) for one in found} == {
        "query": ("form", True),
        "header": ("simple", False),
        "cookie": ("form", True),
    }


def test_headers_that_follow_from_the_rest_are_no_parameters() -> None:
    listed = [{"name": name, "in": "header"} for name in ("Accept", "Content-Type", "Authorization", "X-A")]
    assert [one.name for one in operation(parameters=listed).parameters] == ["X-A"]


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ({"in": "query"}, "#/paths/~1things/get/parameters/0: 'name' is missing"),
        ({"name": "a"}, "#/paths/~1things/get/parameters/0/in: must be one of path, query, header, cookie, not ''"),
        (
            {"name": "a", "in": "body"},
            "#/paths/~1things/get/parameters/0/in: must be one of path, query, header, cookie",
        ),
        (
            {"name": "a", "in": "query", "style": "matrix"},
            "#/paths/~1things/get/parameters/0/style: must be one of form",
        ),
        (
            {"name": "a", "in": "query", "explode": "no"},
            "#/paths/~1things/get/parameters/0/explode: must be true or false",
        ),
        (
            {"name": "a", "in": "query", "schema": []},
            "#/paths/~1things/get/parameters/0/schema: a schema must be an object",
        ),
        ({"name": 1, "in": "query"}, "#/paths/~1things/get/parameters/0/name: must be a string, not a number"),
        ({"name": "a", "in": "path"}, "#/paths/~1things/get/parameters: 'a' is in path, but /things has no {a}"),
        (
            {"name": "a", "in": "query", "content": {"a/b": {}, "c/d": {}}},
            "#/paths/~1things/get/parameters/0/content: must have one content type, not 2",
        ),
        ("a", "#/paths/~1things/get/parameters/0: must be an object, not a string"),
        ({"name": "a; b", "in": "cookie"}, "#/paths/~1things/get/parameters/0/name: 'a; b' is no name of a cookie"),
        (
            {"name": "A\r\nB", "in": "header"},
            "#/paths/~1things/get/parameters/0/name: 'A\\r\\nB' is no name of a header",
        ),
    ],
)
def test_broken_parameters_name_their_place(parameter: Any, said: str) -> None:
    assert problem(document(parameters=[parameter])).startswith(said)


def test_two_parameters_of_one_place_and_name() -> None:
    listed = [{"name": "a", "in": "query"}, {"name": "a", "in": "query"}]
    assert problem(document(parameters=listed)) == (
        "#/paths/~1things/get/parameters/1: there are two parameters 'a' in query"
    )


def test_a_part_of_the_path_that_nobody_declares() -> None:
    assert problem(document(path="/things/{id}")) == (
        "#/paths/~1things~1{id}/get/parameters: 'id' of the path /things/{id} is not among them"
    )


# Bodies and answers -------------------------------------------------------------------------------------


def test_json_is_the_usual_content_type_and_else_the_first() -> None:
    body = operation(method="post", body={"text/csv": {}, "application/vnd.x+json": {}, "application/xml": {}}).body
    assert body is not None
    assert [media.type for media in body.media] == ["application/vnd.x+json", "text/csv", "application/xml"]
    assert not body.required


def test_encodings_count_as_styles_only_when_they_name_one() -> None:
    encoding = {"a": {"contentType": "text/csv"}, "b": {"style": "deepObject"}, "c": {"explode": False}}
    body = operation(method="post", body={"multipart/form-data": {"encoding": encoding}}).body
    assert body is not None
    assert body.media[0].encoding == {
        "a": Encoding(content_type="text/csv"),
        "b": Encoding(style="deepObject"),
        "c": Encoding(style="form", explode=False),
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"json": {}}, "#/paths/~1things/post/requestBody/content/json: 'json' is no content type"),
        ({"a/b\r\nX-Evil: 1": {}}, "is no content type"),
        ({"a/b": []}, "#/paths/~1things/post/requestBody/content/a~1b: must be an object, not an array"),
        (
            {"a/b": {"encoding": {"x": {"style": "label"}}}},
            "#/paths/~1things/post/requestBody/content/a~1b/encoding/x/style: must be one of form",
        ),
    ],
)
def test_broken_bodies_name_their_place(body: Any, said: str) -> None:
    assert said in problem(document(method="post", body=body))


def test_the_answer_is_that_of_the_first_success() -> None:
    source = document()
    source["paths"]["/things"]["get"]["responses"] = {
        "404": {"description": "", "content": {"application/json": {"schema": {"type": "null"}}}},
        "201": {"description": "", "content": {"text/html": {}, "application/hal+json": {"schema": {"type": "array"}}}},
        "default": {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}},
    }
    call = read_api(source).operations["call"]
    assert call.result is not None
    assert (call.result.value, call.accept) == ({"type": "array"}, "application/hal+json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"paths": {"things": {}}}, "#/paths/things: a path begins with a slash, and has no ? and no # in it"),
        ({"paths": {"/a?b": {}}}, "#/paths/~1a?b: a path begins with a slash, and has no ? and no # in it"),
        ({"paths": []}, "#/paths: must be an object, not an array"),
        ({"paths": {"/a": {"get": "x"}}}, "#/paths/~1a/get: must be an object, not a string"),
        ({"paths": {"/a": {"get": {"operationId": 5}}}}, "#/paths/~1a/get/operationId: must be a string, not a number"),
        ({"info": None}, "#/info: must be an object, not null"),
        ({"servers": {}}, "#/servers: must be an array, not an object"),
    ],
)
def test_other_breaks_name_their_place(change: dict[str, Any], said: str) -> None:
    assert problem(document(**change)) == said
