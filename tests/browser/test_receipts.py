"""The lines that tell what acts did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentloop.browser.base import Act, Dialog, Download, Effects, Mark, Receipt, Refusal, Tab
from agentloop.browser.receipts import (
    LINE_LIMIT,
    TURN_LIMIT,
    View,
    appeared,
    changed_line,
    event_args,
    event_line,
    receipt_line,
    short_address,
    turn_lines,
    written,
)
from agentloop.browser.targets import Found, read_target

BASE = "http://shop.test/shop/checkout"


def mark(id: int, role: str = "textbox", name: str = "Name", **fields: Any) -> Mark:
    return Mark(id=id, tag="input", role=role, name=name, x=0, y=0, w=9, h=9, **fields)


def receipt(
    call: str = 'click("Save", 9)', *, changed: bool = True, effects: Effects | None = None, **fields: Any
) -> Receipt:
    return Receipt(call=call, changed=changed, effects=effects or Effects(), **fields)


def opened(path: str, status: int | None = None) -> Effects:
    return Effects(url=f"http://shop.test{path}", document=True, status=status)


def refused(*requests: int) -> Receipt:
    refusals = [
        Refusal(place=f"evil.test:{80 + number}", rule="not-allowed", requests=count)
        for number, count in enumerate(requests)
    ]
    return receipt(effects=Effects(refused=tuple(each.place for each in refusals), refusals=tuple(refusals)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (written("click", Found(mark=mark(9, name="Save"))), 'click("Save", 9)'),
        (written("click", Found(mark=mark(9, name=""))), "click(9)"),
        (written("click", Found(selector="#a > b")), 'click("#a > b")'),
        (written("click", Found(point=(3.0, 4.5))), "click({x: 3, y: 4.5})"),
        (written("click", read_target(("Save", 9))), 'click("Save", 9)'),
        (written("browser.type", read_target(6), values=("Ann",)), 'browser.type(6, "Ann")'),
        (
            written("type", read_target(6), values=("Ann",), options={"submit": True}),
            'type(6, "Ann", {submit: true})',
        ),
        (written("select", read_target(9), values=(["a", "b"],)), 'select(9, ["a", "b"])'),
        (written("check", read_target(9), values=(False,)), "check(9, false)"),
        (written("press", read_target(("Name", 6)), before=("Enter",)), 'press("Enter", "Name", 6)'),
        (written("drag", read_target(("A", 3)), read_target(5)), 'drag("A", 3, 5)'),
        (written("back"), "back()"),
    ],
)
def test_a_call_is_written_as_a_script_may_write_it(call: str, words: str) -> None:
    assert call == words


def test_texts_in_calls_are_quoted_and_short() -> None:
    call = written("type", read_target(6), values=('say "hi"\n' + "x" * 4000,))
    assert call.startswith('type(6, "say \\"hi\\"\\nx') and len(call) < 60


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (receipt(), "ok"),
        (receipt(changed=False), "no effect seen"),
        (receipt(effects=opened("/shop/order"), title="Order"), 'opened /shop/order "Order"'),
        (receipt(effects=opened("/nope", status=404), title="Gone"), 'opened /nope "Gone" (404)'),
        (receipt(effects=Effects(url="http://shop.test/shop/checkout#pay")), "address /shop/checkout#pay"),
        (receipt(effects=Effects(url="https://pay.test/x", document=True)), "opened https://pay.test/x"),
        (
            receipt(effects=Effects(opened=(Tab(id="t2", url="http://shop.test/help", title="", active=True),))),
            "new tab /help",
        ),
        (
            receipt(effects=Effects(dialogs=(Dialog(kind="confirm", message="Delete?", accepted=False),))),
            'a dialog "Delete?" was dismissed',
        ),
        (
            receipt(effects=Effects(downloads=(Download(id="d1", name="a.csv", url="", state="done"),))),
            "downloaded a.csv",
        ),
        (receipt(effects=Effects(refused=("evil.test:80",))), "refused evil.test:80"),
        (refused(1), "refused evil.test:80 (not-allowed)"),
        (refused(3), "3 requests refused: evil.test:80 (not-allowed)"),
        (
            refused(1, 2, 3, 4),
            "refused evil.test:80 (not-allowed); 2 requests refused: evil.test:81 (not-allowed); 7 more refused",
        ),
        (receipt(appeared="Name is required"), 'new text "Name is required"'),
        (receipt(value="12.5"), 'holds "12.5"'),
        (receipt(value=""), 'holds ""'),
        (receipt(note='by name; 11 was "Cancel"'), 'ok; by name; 11 was "Cancel"'),
        (receipt(effects=Effects(timed_out=True)), "still loading"),
    ],
)
def test_a_line_tells_what_an_act_caused(outcome: Receipt, words: str) -> None:
    assert receipt_line(outcome, BASE) == f'click("Save", 9) -> {words}'


def test_a_line_is_bounded_and_one_line() -> None:
    line = receipt_line(receipt(appeared="a\n" * 500, note="n" * 500), BASE)
    assert len(line) <= LINE_LIMIT and "\n" not in line


def test_a_turn_shows_a_dozen_lines_with_the_last_one() -> None:
    lines = turn_lines([f"act {number}" for number in range(40)])
    assert len(lines) == TURN_LIMIT
    assert lines[-1] == "act 39" and "29 more" in lines[-2]
    assert turn_lines(["a", "b"]) == ("a", "b")


def test_what_was_typed_is_in_no_event() -> None:
    secret = 's3cret & "quoted"\nline'
    act = Act(verb="type", call="", values=(secret,))
    done = receipt(
        written("type", read_target(("Name", 6)), values=(secret,)), value=secret.upper(), appeared=f"Hello {secret}!"
    )
    told = event_line(act, done) + json.dumps(event_args(act, done))
    assert "s3cret" not in told and "S3CRET" not in told
    assert event_line(act, done).startswith('type("Name", 6, "***") -> ')
    assert event_args(act, done)["note"] == "the page altered the value"


def test_other_events_keep_their_words() -> None:
    done = receipt(effects=opened("/x"), title="X")
    assert event_args(Act(verb="click", call=""), done) == {
        "verb": "click",
        "changed": True,
        "url": "http://shop.test/x",
        "title": "X",
    }


@pytest.mark.parametrize(
    ("url", "base", "short"),
    [
        ("http://shop.test/a?b=c#d", BASE, "/a?b=c#d"),
        ("http://shop.test", BASE, "/"),
        ("https://shop.test/a", BASE, "https://shop.test/a"),
        ("http://shop.test/a", "about:blank", "/a"),
        ("about:blank", BASE, "about:blank"),
    ],
)
def test_addresses_are_short(url: str, base: str, short: str) -> None:
    assert short_address(url, base) == short


def test_new_lines_near_a_target_are_what_appeared() -> None:
    assert appeared("Name\nCity", "Name\n Name  is required \nCity") == "Name is required"
    assert appeared("Name", "Name") == ""


def view(**fields: Any) -> View:
    known: dict[str, Any] = {"document": "d1", "address": "http://shop.test/shop/", "headings": ("# Products (200)",)}
    return View(**(known | fields))


def test_the_changed_line_names_address_headings_and_values() -> None:
    after = view(address="http://shop.test/shop/?q=lamp", headings=("# Products (32)",), document="d2")
    assert changed_line(view(), after) == 'address /shop/ -> /shop/?q=lamp; + "# Products (32)"; - "# Products (200)"'
    filled = view(marks={6: mark(6, value="Ann Lee"), 8: mark(8, "button", "Pay")})
    assert changed_line(view(marks={6: mark(6, value="")}), filled) == '[6] "Name" "" -> "Ann Lee"; + [8] button "Pay"'
    ticked = view(marks={7: mark(7, "checkbox", "I agree", checked=True)})
    unticked = view(marks={7: mark(7, "checkbox", "I agree", checked=False)})
    assert changed_line(unticked, ticked) == '[7] "I agree" not checked -> checked'


def test_the_changed_line_is_bounded_in_whole_parts() -> None:
    after = view(marks={id: mark(id, "button", f"A button with a rather long name {id}") for id in range(50)})
    line = changed_line(view(), after)
    assert len(line) <= 300 and line.count("+ ") == 4 and line.endswith('"')
    assert changed_line(after, view()).count("- ") == 3


def test_nothing_changed_is_an_empty_line() -> None:
    assert changed_line(view(), view()) == ""
