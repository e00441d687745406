from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.request import ApiRequest, api_request
from tests.packs.openapi.documents import BASE, operation

PET = [
    {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}},
    {"name": "verbose", "in": "query", "schema": {"type": "boolean"}},
    {"name": "page-size", "in": "query", "schema": {"type": "integer"}},
]


def request(params: Any, *, headers: dict[str, str] | None = None, **parts: Any) -> ApiRequest:
    return api_request(operation(**parts), params, headers=headers)


def refusal(params: Any, **parts: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        request(params, **parts)
    return str(caught.value)


def test_real_names_go_over_the_wire_in_their_order() -> None:
    found = request({"verbose": True, "page-size": 20, "petId": "a/b c"}, path="/pets/{petId}", parameters=PET)
    assert (found.method, found.url) == ("GET", f"{BASE}/pets/a%2Fb%20c?page-size=20&verbose=true")


def test_two_parameters_next_to_each_other_in_a_path() -> None:
    listed = [{"name": name, "in": "path", "schema": {"type": "string"}} for name in ("b", "a")]
    assert request({"a": "1/", "b": "2"}, path="/x/{a}{b}/{a}", parameters=listed).url == f"{BASE}/x/1%2F2/1%2F"


def test_names_that_sanitise_alike_are_two() -> None:
    listed = [{"name": name, "in": "query"} for name in ("as-of", "as_of")]
    assert request({"as-of": "1", "as_of": "2"}, parameters=listed).url == f"{BASE}/things?as-of=1&as_of=2"


def test_null_and_missing_mean_the_same() -> None:
    found = request({"petId": "a", "verbose": None}, path="/pets/{petId}", parameters=PET)
    assert found.url == f"{BASE}/pets/a"
    assert request(None).url == request({}).url == f"{BASE}/things"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "call: petId is missing: it is required (path parameter)"),
        ({"petId": None}, "call: petId is missing: it is required (path parameter)"),
        ({"petId": ""}, "call: petId is part of the path and cannot be empty"),
        ({"petId": ".."}, "call: a part of the path cannot be '..'"),
        ({"petId": "."}, "call: a part of the path cannot be '.'"),
        ({"petId": 7}, "call: petId must be a string, not a number (7)"),
        ({"petId": "a", "verbose": "true"}, 'call: verbose must be a boolean, not a string ("true")'),
        ({"petId": "a", "page_size": 1}, "call: there is no parameter 'page_size'; did you mean \"page-size\"?"),
        ({"petId": "a", "x": 1}, "call: there is no parameter 'x'; there are: petId, page-size, verbose"),
        (["a"], "call: takes one object of parameters, not an array"),
        ("a", "call: takes one object of parameters, not a string"),
    ],
)
def test_wrong_calls_say_what_to_do(params: Any, said: str) -> None:
    assert refusal(params, path="/pets/{petId}", parameters=PET) == said


def test_an_operation_without_parameters_takes_none() -> None:
    assert refusal({"a": 1}) == "call: there is no parameter 'a': it takes none"


@pytest.mark.parametrize("place", ["query", "header", "cookie"])
def test_required_parameters_are_required_everywhere(place: str) -> None:
    listed = [{"name": "a", "in": place, "required": True}]
    assert refusal({}, parameters=listed) == f"call: a is missing: it is required ({place} parameter)"


@pytest.mark.parametrize("place", ["query", "cookie"])
def test_a_required_list_is_not_empty(place: str) -> None:
    listed = [{"name": "a", "in": place, "required": True, "schema": {"type": "array"}}]
    assert refusal({"a": []}, parameters=listed) == "call: a is required and cannot be empty"


def test_headers_and_cookies() -> None:
    listed = [{"name": name, "in": place} for place, name in (("header", "X-A"), ("cookie", "c"), ("cookie", "d"))]
    found = request({"X-A": "1", "c": "x;y", "d": "z"}, parameters=listed)
    assert found.headers == {"x-a": "1", "cookie": "c=x%3By; d=z"}


def test_a_header_given_once_and_for_all_wins_and_is_not_asked_for() -> None:
    listed = [{"name": "X-Key", "in": "header", "required": True}, {"name": "c", "in": "cookie"}]
    static = {"X-KEY": "static", "Cookie": "s=1", "X-B": "b"}
    assert request({}, parameters=listed, headers=static).headers == {"x-key": "static", "cookie": "s=1", "x-b": "b"}
    found = request({"X-Key": "mine", "c": "2"}, parameters=listed, headers=static).headers
    assert found == {"x-key": "static", "cookie": "s=1; c=2", "x-b": "b"}


def test_what_nests_without_end_is_refused() -> None:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    for parts in (
        {"parameters": [{"name": "q", "in": "query", "style": "deepObject"}]},
        {"parameters": [{"name": "q", "in": "query", "content": {"application/json": {}}}]},
    ):
        assert refusal({"q": value}, **parts) == "call: the parameters nest too deeply"


def test_a_body_against_a_schema_that_multiplies_is_sent_in_time() -> None:
    schemas = {f"S{n}": {"anyOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 4} for n in range(60)}
    for kind, value in (("application/json", 5), ("multipart/form-data", {"a": {"content": "b"}})):
        body = {kind: {"schema": {"$ref": "#/components/schemas/S0"}}}
        assert request({"body": value}, method="post", body=body, schemas=schemas | {"S60": {}}).body


# Bodies -------------------------------------------------------------------------------------------------

BOTH = {"application/json": {"schema": {"type": "object"}}, "text/plain": {"schema": {"type": "string"}}}


def test_the_body_comes_with_its_content_type() -> None:
    found = request({"body": {"a": 1}}, method="post", body=BOTH, headers={"X-A": "1"})
    assert (found.body, found.headers) == (b'{"a":1}', {"content-type": "application/json", "x-a": "1"})


def test_a_content_type_may_be_chosen() -> None:
    found = request({"body": "a", "contentType": "text/plain"}, method="post", body=BOTH)
    assert (found.body, found.headers["content-type"]) == (b"a", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"body": "a"}, 'call: body must be an object, not a string ("a")'),
        (
            {"body": {}, "contentType": "text/plan"},
            "call: contentType must be one of application/json, text/plain, not",
        ),
        ({"body": {}, "contentType": 1}, "call: contentType must be a string, not a number"),
        ({"contentType": "text/plain"}, "call: contentType is given without body"),
    ],
)
def test_bodies_that_do_not_fit(params: Any, said: str) -> None:
    assert refusal(params, method="post", body=BOTH).startswith(said)


def test_one_content_type_leaves_no_choice() -> None:
    assert "no parameter 'contentType'" in refusal({"contentType": "a/b"}, method="post", body={"a/b": {}})


def test_without_a_body_nothing_is_sent_and_a_required_one_is_asked_for() -> None:
    assert request({}, method="post", body=BOTH) == ApiRequest(method="POST", url=f"{BASE}/things")
    for params in ({}, {"body": None}):
        said = refusal(params, method="post", body=BOTH, body_required=True)
        assert said == "call: body is missing: it is required"


def test_null_is_a_body_where_the_schema_says_so() -> None:
    nothing = {"application/json": {"schema": {"type": ["object", "null"]}}}
    assert request({"body": None}, method="post", body=nothing).body == b"null"
    assert request({}, method="post", body=nothing).body == b""
    assert request({"body": None}, method="post", body=BOTH).body == b""


def test_parameters_may_be_called_as_the_body_is() -> None:
    listed = [{"name": "body", "in": "query"}, {"name": "contentType", "in": "query"}]
    found = request(
        {"query_body": "q", "query_contentType": "c", "body": {}}, method="post", parameters=listed, body=BOTH
    )
    assert (found.url, found.body) == (f"{BASE}/things?body=q&contentType=c", b"{}")
    assert request({"body": "q"}, parameters=listed).url == f"{BASE}/things?body=q"
