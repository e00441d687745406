from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.context.tokens import IMAGE_TOKENS, MESSAGE_TOKENS, estimate_tokens, message_tokens
from agentloop.llm.base import Image, Message, Text
from agentloop.llm.scripted import rough_tokens

LISTING = "\n".join(
    f'- [{n}] link "Lamp {n}" · {n + 90} EUR · [{n + 1}] button "Add to cart"' for n in range(10, 40, 2)
)
PROSE = "The harbour was quiet that morning, and the keeper went down to look after the boats as he always did. " * 10


def test_listings_count_for_more_than_a_quarter_of_their_bytes_and_prose_does_not() -> None:
    assert 2.0 <= len(LISTING) / estimate_tokens(LISTING) <= 2.6
    assert estimate_tokens(LISTING) > 1.4 * rough_tokens(LISTING)
    assert 4.0 <= len(PROSE) / estimate_tokens(PROSE) <= 5.8


# True counts of the public vocabulary cl100k, digits taken one by one.
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Съешь же ещё этих мягких французских булок, да выпей чаю. Государственная программа.", 46),
        ("我们今天讨论的是关于浏览器自动化的问题，请打开购物车并告诉我总价是多少。", 37),
        ('{"name": "Glass lamp", "price": 143, "currency": "EUR", "in_stock": true}', 27),
        ("function run(args) {\n  return { ...args, total: args.items.length };\n}", 18),
    ],
)
def test_other_scripts_data_and_code_are_near_the_true_count(text: str, count: int) -> None:
    assert 0.8 <= estimate_tokens(text) / count <= 1.5


def test_a_quarter_of_the_bytes_is_rounded_up() -> None:
    assert [rough_tokens(text) for text in ("", "a", "abcd", "abcde", "éé", "\ud800")] == [0, 1, 1, 2, 1, 1]


@given(st.text(), st.text())
def test_two_texts_count_about_what_both_count_together(first: str, second: str) -> None:
    apart = estimate_tokens(first) + estimate_tokens(second)
    assert apart - 2 <= estimate_tokens(first + second) <= apart + 1
    assert (estimate_tokens(first) == 0) == (first == "")


def test_long_runs_of_anything_are_counted_in_linear_time() -> None:
    for filler in (" ", "\r", "\u2003", "\n ", "a", "0", "-", "é", "文", "\x00"):
        assert estimate_tokens(filler * 200_000) >= 1


def test_a_message_counts_its_frame_and_its_pictures() -> None:
    assert message_tokens(Message("user", ""), rough_tokens) == MESSAGE_TOKENS
    picture = Message("user", (Text("abcd"), Image(b"x" * 50_000)))
    assert message_tokens(picture, rough_tokens) == MESSAGE_TOKENS + 1 + IMAGE_TOKENS
    assert message_tokens(picture, len) == MESSAGE_TOKENS + 4 + IMAGE_TOKENS
