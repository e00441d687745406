from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.sandbox.values import encode, readable, strict, too_deep, usable_args

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text('[]{}"\\ab'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('{}[]"\\'), inner, max_size=3),
    max_leaves=20,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max((depth(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth(item) for item in value), default=0)
    return 0


@given(JSON, st.integers(0, 6))
def test_depth_is_measured_exactly(value: Any, limit: int) -> None:
    assert too_deep(json.dumps(value).encode(), limit) is (depth(value) > limit)


def test_depth_of_what_no_parser_survives() -> None:
    assert too_deep(b"[" * 1_000_000 + b"]" * 1_000_000, 200)
    assert not too_deep(b"[" + b",".join([b'{"a":[1]}'] * 100_000) + b"]", 3)


@given(JSON)
def test_what_is_encoded_comes_back(value: Any) -> None:
    assert strict(encode(value)) == value


def test_what_json_lacks_becomes_null() -> None:
    assert (
        encode({"a": [float("nan"), (float("-inf"),)], "s": "\ud800é"}) == b'{"a":[null,[null]],"s":"\\ud800\\u00e9"}'
    )


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), {(1, 2): 3}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        encode(value)


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"-Infinity", b"'a'", b"\xff", b"1 2", b"[" * 100_000])
def test_strict(text: bytes) -> None:
    with pytest.raises(ValueError):
        strict(text)


@pytest.mark.parametrize(
    ("args", "usable"),
    [
        ("", "{}"),
        (" null ", "{}"),
        ('{"a": NaN}', '{"a":null}'),
        ('{"a":"NaN"}', '{"a":"NaN"}'),
        ("[1]", "[1]"),
        ("{", "{"),
    ],
)
def test_usable_args(args: str, usable: str) -> None:
    assert usable_args(args) == usable


def test_readable() -> None:
    assert readable("a\ud800b😀\udfff") == "a\ufffdb😀\ufffd"
