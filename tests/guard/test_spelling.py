"""All the ways to write a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.guard.redact import Redactor
from agentloop.guard.spelling import Unmasked

WORD = "hunter2hunter2"
MASKS = (
    "{0}",
    "\\u{1:04x}",
    "\\\\u{1:04x}",
    "\\x{1:02X}",
    "%{1:02x}",
    "&#{1};",
    "&#x{1:x};",
    "&#0{1};",
    "\u200b{0}\u00ad",
)


def masked(word: str, masks: list[str]) -> str:
    return "".join(mask.format(letter, ord(letter)) for letter, mask in zip(word, masks, strict=True))


@pytest.mark.parametrize("mask", MASKS)
def test_letters_that_were_escaped_one_by_one_are_found(mask: str) -> None:
    text = f"a {masked(WORD, [mask] * len(WORD))} b"
    assert Redactor([(WORD, "[x]")]).text(text).replace("\u200b", "") in ("a [x] b", "a [x]b")


@given(
    st.lists(st.sampled_from(MASKS), min_size=len(WORD), max_size=len(WORD)), st.text("a%u \\&#;\u200b0", max_size=9)
)
def test_masks_may_be_mixed_and_what_is_around_stays(masks: list[str], around: str) -> None:
    text = f"{around}|{masked(WORD, masks)}|{around}"
    shown = Redactor([(WORD, "[x]")]).text(text)
    assert WORD not in (Unmasked(shown).text, shown) and "[x]" in shown
    assert shown.startswith(f"{around}|") and shown.endswith(f"|{around}")


@given(st.lists(st.sampled_from(MASKS), min_size=len(WORD), max_size=len(WORD)), st.integers(1, 30))
def test_a_stream_gives_what_the_whole_text_gives(masks: list[str], size: int) -> None:
    text = f"before {masked(WORD, masks)} after {WORD}."
    redactor = Redactor([(WORD, "[x]")])
    stream = redactor.stream()
    parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*parts, stream.finish()]) == redactor.text(text)


@pytest.mark.parametrize("text", ["", "plain", "100%", "a\\nb", "&amp;", "%2F", "\\u00e9"])
def test_text_in_which_nothing_is_masked_is_none(text: str) -> None:
    assert Unmasked.of(text) is None
