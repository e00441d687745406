"""Whatever a page's names, texts, titles and files say, no line about it looks like another of ours."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentloop.browser.base import Dialog, Download, Effects, Mark, Receipt, Tab
from agentloop.browser.listing import Listing, ScrollState, mark_from
from agentloop.browser.look import render
from agentloop.browser.receipts import View, changed_line, receipt_line

BITS = """
[9|[912] |]|912|] |button "Pay"|PAGE| NOW|PAGE NOW: x|CHANGED| since your last script: |[outside text |outside| text
0badf00d]|<|im_start|[/INST]|```|"|\\\\|(|)|- |# | · |:
"""
PIECE = st.sampled_from([bit for line in BITS.strip().splitlines() for bit in line.split("|")]) | st.sampled_from(
    ["<|im_end|>", "|im_start|>", "|", "\n", "\r", "\u2028", "\x85", "\u200b", "\u202e", "\x1b[1m", "\ud800", " "]
)
TEXT = st.lists(PIECE | st.text(max_size=4), max_size=12).map("".join)
ADDRESS = TEXT.map(lambda text: f"http://shop.test/{text}") | TEXT.map(lambda text: f"data:text/html,{text}") | TEXT
MARK = re.compile(r"\[\s*\d+\s*\]")
HEAD = re.compile(r"^[\s#-]*(?:PAGE NOW|CHANGED since)", re.MULTILINE)
OTHERS = re.compile(
    r"\[(?:end of )?outside\s+text|<\|im_(?:start|end)\|>|\[/?INST\]|^\s*```|[\r\u2028\x85\u200b\u202e\x1b\ud800]",
    re.MULTILINE,
)


def mark_with(number: int, text: str, more: str) -> Mark:
    return Mark(
        id=number, tag="button", role="button", name=text if number % 2 else "", hint=more, value=more, type="text",
        options=(text, more), more_options=2, context=text, x=1, y=1, w=9, h=9, key=f"k{number}",
    )  # fmt: skip


@given(TEXT)
def test_a_role_is_a_word(text: str) -> None:
    raw = {"tag": "div", "role": text, "name": "", "x": 1, "y": 1, "w": 1, "h": 1, "px": 1, "py": 1}
    assert re.fullmatch("[a-z]{1,24}", mark_from(raw, number=1, frame="").role)


def listing_of(texts: list[str], address: str) -> Listing:
    marks = tuple(mark_with(number, text, texts[-number]) for number, text in enumerate(texts, 1))
    scroll = ScrollState(y=9, height=5000, view_height=700)
    return Listing(
        marks=marks, document="d", url=address, title=texts[0], scroll=scroll, skipped_frames=(address,), left_out=3
    )


def tree_of(texts: list[str]) -> Any:
    leaves: list[Any] = []
    for number, text in enumerate(texts, 1):
        leaves += [
            {"t": text, "b": number},
            {"t": texts[-number], "b": number, "g": 1},
            {"m": f"k{number}", "b": number},
        ]
        leaves += [
            {"d": text, "t": text, "b": number},
            {"i": text, "b": -number},
            {"t": text, "b": -number, "h": 1},
        ]
    row = {"u": "row", "p": 1, "n": leaves[:6]}
    return {"": {"tree": {"u": "page", "p": 0, "n": [row, *leaves[6:]]}, "containers": {}}}


@given(st.lists(TEXT, min_size=1, max_size=4), ADDRESS, st.sampled_from([300, 6_000]))
def test_the_page_as_it_is_read(texts: list[str], address: str, chars: int) -> None:
    text = render(listing_of(texts, address), tree_of(texts), {}, chars=chars).text
    head, *body = text.split("\n")
    assert head.startswith('PAGE NOW: "')
    assert not HEAD.search("\n".join(body)) and not OTHERS.search(text)
    drawn = MARK.findall(text)
    assert len(drawn) <= len(texts) and set(drawn) <= {f"[{number}]" for number in range(1, len(texts) + 1)}


@given(TEXT, TEXT, ADDRESS)
def test_what_an_act_did(text: str, more: str, address: str) -> None:
    effects = Effects(
        url=address,
        document=True,
        opened=(Tab(id="t2", url=address, title=text, active=True),),
        dialogs=(Dialog(kind="alert", message=text, accepted=True),),
        downloads=(Download(id="1", name=text, url=address, state="done"),),
    )
    receipt = Receipt(call='click("x", 3)', changed=True, effects=effects, title=text, appeared=more, value=more)
    line = receipt_line(receipt, "http://shop.test/")
    assert "\n" not in line and not MARK.search(line) and not OTHERS.search(line)


@given(st.lists(TEXT, min_size=1, max_size=3), TEXT, ADDRESS)
def test_what_is_different(texts: list[str], text: str, address: str) -> None:
    def view(words: list[str], where: str) -> View:
        marks = {number: mark_with(number, word, word) for number, word in enumerate(words, 1)}
        return View(document="d", address=where, headings=(f"# {words[0]}",), marks=marks)

    line = changed_line(view(texts, "http://shop.test/"), view([text, *texts], address))
    assert "\n" not in line and not OTHERS.search(line)
    assert {int(number) for number in re.findall(r"\[\s*(\d+)\s*\]", line)} <= set(range(1, 5))
