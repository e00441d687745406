from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.bodies import FORM, MULTIPART, encoded
from agentloop.packs.openapi.model import Media
from tests.packs.openapi.documents import operation

OBJECT = {"type": "object"}


def media(kind: str, *, schema: Any = None, encoding: Any = None, version: str = "3.1.0") -> Media:
    content: dict[str, Any] = {} if schema is None else {"schema": schema}
    content |= {} if encoding is None else {"encoding": encoding}
    body = operation(method="post", body={kind: content}, version=version).body
    assert body is not None
    return body.media[0]


def form(value: Any, **parts: Any) -> str:
    content = encoded(media(FORM, **parts), value)
    assert content.type == FORM
    return content.data.decode()


def refusal(one: Media, value: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        encoded(one, value)
    return str(caught.value)


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/merge-patch+json"]
)
def test_json(kind: str) -> None:
    content = encoded(media(kind), {"a": [1, "é", None, 2.5], "b": {}})
    assert (content.type, content.data) == (kind, '{"a":[1,"é",null,2.5],"b":{}}'.encode())


@pytest.mark.parametrize("value", [None, False, 0, "", [], "text"])
def test_any_value_is_json(value: Any) -> None:
    assert encoded(media("application/json"), value).data.decode() in ("null", "false", "0", '""', "[]", '"text"')


def test_half_a_character_is_refused() -> None:
    assert "half of a surrogate pair" in refusal(media("application/json"), ["\udc00"])


# Forms -------------------------------------------------------------------------------------------------


def test_a_form_repeats_lists_and_writes_objects_as_json() -> None:
    value = {"a b": "x&y=z", "list": [1, True], "none": None, "object": {"k": ["v"]}, "empty": []}
    assert form(value) == "a%20b=x%26y%3Dz&list=1&list=true&object=%7B%22k%22%3A%5B%22v%22%5D%7D"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ({"style": "form", "explode": False}, "a=x%2Cy,z"),
        ({"explode": True}, "a=x%2Cy&a=z"),
        ({"style": "pipeDelimited", "explode": False}, "a=x%2Cy%7Cz"),
        ({"allowReserved": True}, "a=x,y&a=z"),
        ({"contentType": "application/json"}, "a=%5B%22x%2Cy%22%2C%22z%22%5D"),
        ({"contentType": "text/plain"}, "a=x%2Cy&a=z"),
    ],
)
def test_a_property_of_a_form_has_its_own_encoding(encoding: dict[str, Any], expected: str) -> None:
    assert form({"a": ["x,y", "z"]}, encoding={"a": encoding}) == expected


def test_a_deep_object_in_a_form() -> None:
    found = form({"meta": {"k": "v w", "n": {"m": 1}}}, encoding={"meta": {"style": "deepObject"}})
    assert found == "meta%5Bk%5D=v%20w&meta%5Bn%5D%5Bm%5D=1"


@pytest.mark.parametrize("kind", [FORM, MULTIPART])
def test_a_form_is_an_object(kind: str) -> None:
    assert refusal(media(kind), ["a"]) == "body must be an object of the form's fields, not an array"


# Files -------------------------------------------------------------------------------------------------


def parts(value: Any, **more: Any) -> list[str]:
    content = encoded(media(MULTIPART, **more), value)
    kind, _, boundary = content.type.partition("; boundary=")
    assert kind == MULTIPART
    text = content.data.decode()
    assert text.endswith(f"--{boundary}--\r\n")
    return [part.removesuffix("\r\n") for part in text.split(f"--{boundary}\r\n")[1:-1]] + [
        text.split(f"--{boundary}\r\n")[-1].removesuffix(f"\r\n--{boundary}--\r\n")
    ]


def test_a_part_for_each_property_and_item() -> None:
    assert parts({"a": "x", "n": [1, 2], "o": {"k": 1}, "no": None}) == [
        'Content-Disposition: form-data; name="a"\r\n\r\nx',
        'Content-Disposition: form-data; name="n"\r\n\r\n1',
        'Content-Disposition: form-data; name="n"\r\n\r\n2',
        'Content-Disposition: form-data; name="o"\r\nContent-Type: application/json\r\n\r\n{"k":1}',
    ]


def test_names_cannot_break_out_of_their_line() -> None:
    [part] = parts({'a"\r\nX: y': {"content": "", "filename": '"\r\n\r\nevil'}})
    assert part == (
        'Content-Disposition: form-data; name="a%22%0D%0AX: y"; filename="%22%0D%0A%0D%0Aevil"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )


def test_text_for_a_binary_property_is_a_file() -> None:
    schema = {"allOf": [{"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}]}
    assert parts({"f": "a"}, schema=schema, encoding={"f": {"contentType": "text/csv"}}) == [
        'Content-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: text/csv\r\n\r\na'
    ]


def test_a_part_may_have_a_json_type_of_its_own() -> None:
    assert parts({"a": ["x"]}, encoding={"a": {"contentType": "application/vnd.a+json"}}) == [
        'Content-Disposition: form-data; name="a"\r\nContent-Type: application/vnd.a+json\r\n\r\n["x"]'
    ]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"base64": "not base64!"}, "body.f.base64 is no base64 text"),
        ({"base64": "AAA"}, "body.f.base64 is no base64 text"),
        ({"content": "", "contentType": "image/gif"}, "body.f.contentType must be image/png, text/*, not 'image/gif'"),
        ({"content": "", "contentType": "text/a\r\nX: y"}, "body.f.contentType: 'text/a\\r\\nX: y' is no content type"),
        ({"content": "\ud800"}, "body.f.content: the text has half of a surrogate pair"),
    ],
)
def test_files_that_cannot_be_sent(file: dict[str, str], said: str) -> None:
    one = media(MULTIPART, encoding={"f": {"contentType": "image/png, text/*"}})
    assert refusal(one, {"f": file}).startswith(said)


# One text, one file --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("text/plain", "é", ("text/plain; charset=utf-8", "é".encode())),
        ("text/csv; charset=utf-8", "a", ("text/csv; charset=utf-8", b"a")),
        ("text/plain", 5, ("text/plain", b"5")),
        ("application/xml", "<a/>", ("application/xml", b"<a/>")),
        ("application/octet-stream", "a", ("application/octet-stream", b"a")),
        ("application/octet-stream", {"base64": "AAE="}, ("application/octet-stream", b"\0\1")),
        ("image/*", {"base64": "AAE=", "contentType": "image/png"}, ("image/png", b"\0\1")),
        ("*/*", {"base64": "AAE="}, ("application/octet-stream", b"\0\1")),
        ("*/*", "a", ("text/plain; charset=utf-8", b"a")),
        ("*/*", {"a": 1}, ("application/json", b'{"a":1}')),
    ],
)
def test_a_body_of_one_piece(kind: str, value: Any, expected: tuple[str, bytes]) -> None:
    content = encoded(media(kind), value)
    assert (content.type, content.data) == expected


def test_what_has_no_form_in_a_content_type_is_refused() -> None:
    assert refusal(media("application/xml"), {"a": 1}) == (
        "body is sent as application/xml: give its text as a string, or {base64: …} for bytes, not an object"
    )
    assert "contentType must be image/*" in refusal(media("image/*"), {"base64": "", "contentType": "text/html"})
