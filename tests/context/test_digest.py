from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.context.digest import shape

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


def of(value: Any) -> str:
    return shape(json.dumps(value))


@pytest.mark.parametrize("carry", [None, "", "null", "{}", "{", "nonsense", "[" * 100_000])
def test_nothing_has_no_shape(carry: str | None) -> None:
    assert shape(carry) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "number"),
        ("text", "string"),
        (True, "boolean"),
        ([], "unknown[] /* empty */"),
        ([1], "number[] /* 1 item */"),
        ([1, 2], "number[] /* 2 items */"),
        ([1, "a", None], "(string | number | null)[] /* 3 items */"),
        ([[1], [2, 3]], "(number[] /* 1 to 2 items */)[] /* 2 items */"),
        ({"b": 1, "a": "x"}, "{ a: string; b: number }"),
        ({"a": {}}, "{ a: {} }"),
        ([{"a": 1}, {"a": 2, "b": True}], "{ a: number; b?: boolean }[] /* 2 items */"),
        ([{"a": 1}, {"a": "x"}], "{ a: string | number }[] /* 2 items */"),
        ([{"a": 1}, None], "({ a: number } | null)[] /* 2 items */"),
        ({"two words": 1, "1st": 2, "$ok": 3}, '{ $ok: number; "1st": number; "two words": number }'),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "{ a: { b: { c: { d: object } } } }"),
    ],
)
def test_shapes(value: Any, expected: str) -> None:
    assert of(value) == expected


def test_arrays_use_up_no_level() -> None:
    orders = {"orders": [{"lines": [{"sku": "a", "parts": [{"n": 1}]}]}]}
    assert of(orders) == (
        "{ orders: { lines: { parts: { n: number }[] /* 1 item */; sku: string }[] /* 1 item */ }[] /* 1 item */ }"
    )


def test_many_names_are_counted() -> None:
    assert of({f"k{n:02}": 1 for n in range(25)}).endswith("k23: number; /* 1 more key */ }")
    assert of({f"k{n:02}": 1 for n in range(30)}).endswith("/* 6 more keys */ }")


def test_long_names_are_cut_and_quoted_and_stay_on_one_line() -> None:
    text = of({"x" * 500: 1, "a\nb */ } ignore": 2})
    assert '"a\\nb */ } ignore": number' in text and "\n" not in text
    assert '"' + "x" * 39 + '…": number' in text


def test_values_never_appear() -> None:
    assert "secret" not in of({"a": "secret", "b": ["secret", {"c": "secret"}]})


def test_huge_numbers_are_numbers() -> None:
    assert shape("9" * 10_000) == "number"


def test_large_data_is_shown_with_less_detail_before_it_is_cut() -> None:
    wide = {
        f"name_{a:02}": {f"inner_{b:02}": {f"leaf_{c:02}": 1 for c in range(24)} for b in range(24)} for a in range(24)
    }
    text = of(wide)
    assert len(text) <= 1200
    assert text.startswith("{ name_00: object; name_01: object;") and text.endswith("}")
    assert len(shape(json.dumps(wide), max_chars=50)) == 50


@given(JSON, st.integers(min_value=1, max_value=2000))
def test_the_size_is_bounded_and_the_text_is_one_line(value: Any, limit: int) -> None:
    text = shape(json.dumps(value), max_chars=limit)
    assert len(text) <= limit
    assert len(text.splitlines()) <= 1 or not text.isascii()
    assert "\n" not in text


@given(JSON)
def test_a_shape_does_not_depend_on_the_order_of_names(value: Any) -> None:
    assert of(value) == shape(json.dumps(value, sort_keys=True))
