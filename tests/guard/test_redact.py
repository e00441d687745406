from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.guard.redact import Redactor

ODD = "p@ss \"wörd\\of\n<the>&'day+1/"
PLAIN = "sk4Kd93jfXw02"


def redactor(**secrets: str) -> Redactor:
    return Redactor.from_secrets(secrets)


def twice(text: str) -> str:
    return json.dumps(json.dumps(text))


def small_hex(text: str) -> str:
    return quote(text, safe="").replace("%2F", "%2f").replace("%3C", "%3c")


FORMS: tuple[Callable[[str], str], ...] = (
    str,
    str.strip,
    lambda text: " ".join(text.split()),
    lambda text: text.replace("\n", "\r\n"),
    repr,
    ascii,
    json.dumps,
    twice,
    lambda text: json.dumps(twice(text)),
    lambda text: json.dumps(text, ensure_ascii=False),
    lambda text: json.dumps(text).replace("/", "\\/"),
    lambda text: json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003E").replace("&", "\\u0026"),
    html.escape,
    lambda text: html.escape(text, quote=False),
    lambda text: text.replace("&", "&#038;").replace("<", "&LT;"),
    quote,
    quote_plus,
    small_hex,
    lambda text: quote(text, safe=";,/?:@&=+$!'()*#"),
    lambda text: json.dumps({"url": quote(text)}),
)


@pytest.mark.parametrize("written", FORMS)
@pytest.mark.parametrize("secret", [ODD, PLAIN, "x-y.z_1~2", "\U0001f511 key", " padded ", "a\\\\b"])
def test_a_secret_is_found_however_it_is_written(written: Callable[[str], str], secret: str) -> None:
    text = f"before({written(secret)})after"
    shown = redactor(key=secret).text(text)
    assert "[redacted:secret.key]" in shown
    assert shown.startswith("before(") and shown.endswith(")after")
    assert len(shown) < len("before()after[redacted:secret.key]") + 20


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("secret", [ODD, PLAIN, "1234", "??>>~~"])
def test_a_secret_is_found_in_base64_wherever_it_stands(
    encode: Callable[[bytes], bytes], shift: int, secret: str
) -> None:
    encoded = encode(b"u" * shift + secret.encode() + b": more").decode()
    shown = redactor(key=secret).text(encoded)
    assert "[redacted:secret.key]" in shown
    around = len(shown.replace("[redacted:secret.key]", ""))
    assert around <= len(encode(b"u" * shift)) + len(encode(b": more")) + 4


def test_base64_of_nothing_else_leaves_its_padding_too() -> None:
    assert redactor(key=PLAIN).text(base64.b64encode(PLAIN.encode()).decode()) == "[redacted:secret.key]"


def test_the_longest_value_wins() -> None:
    shown = redactor(short="hunter2", long="hunter2-and-more")
    assert shown.text("hunter2-and-more, hunter2") == "[redacted:secret.long], [redacted:secret.short]"


def test_what_overlaps_goes_as_a_whole() -> None:
    assert Redactor([("abcd", "<1>"), ("cdefg", "<2>")]).text("xabcdefgx") == "x<2>x"
    assert Redactor([("abab", "<1>")]).text("xababab") == "x<1>"
    assert Redactor([("a-a", "<1>")]).text("xa-a-a") == "x<1>"


def test_empty_values_are_skipped() -> None:
    assert redactor(none="", blank=" \n").text("a b\nc") == "a b\nc"
    assert redactor().text("anything") == "anything"
    assert redactor().longest == 0


def test_what_is_no_pair_of_texts_is_refused() -> None:
    assert Redactor([("one", "<1>")]).text("one two") == "<1> two"
    with pytest.raises(InvalidInput, match="pairs of text"):
        Redactor([("one", None)])  # type: ignore[list-item]


def test_redacting_twice_is_redacting_once() -> None:
    once = redactor(secret="secret", red="red").text("a secret, red")
    assert once == "a [redacted:secret.secret], [redacted:secret.red]"
    assert redactor(secret="secret", red="red").text(once) == once


def test_json_keeps_its_structure() -> None:
    value = {
        "a": [PLAIN, {PLAIN: 1}],
        "b": {"c": ODD},
        "n": None,
        "t": True,
        "x": 1.5,
        "pin": 493817,
        "tuple": (PLAIN,),
    }
    shown = redactor(key=PLAIN, odd=ODD, pin="493817").json(value)
    key = "[redacted:secret.key]"
    assert shown == {
        "a": [key, {key: 1}],
        "b": {"c": "[redacted:secret.odd]"},
        "n": None,
        "t": True,
        "x": 1.5,
        "pin": "[redacted:secret.pin]",
        "tuple": [key],
    }


def test_what_is_no_json_is_never_let_through() -> None:
    class Odd:
        def __str__(self) -> str:
            return f"odd {PLAIN}"

    shown = redactor(key=PLAIN).json([Odd(), PLAIN.encode(), {PLAIN}])
    assert shown == ["odd [redacted:secret.key]", "b'[redacted:secret.key]'", ["[redacted:secret.key]"]]


def test_a_document_stays_json_whatever_the_placeholder() -> None:
    hostile = Redactor([(ODD, 'a"b\\')])
    assert json.loads(hostile.document(json.dumps({"k": ODD, ODD: [ODD]}))) == {"k": 'a"b\\', 'a"b\\': ['a"b\\']}
    untouched = '{"a":1.0,  "b":"\\ud800"}'
    assert hostile.document(untouched) == untouched
    assert hostile.document(f"no json {ODD}") == 'no json a"b\\'
    assert redactor(key=PLAIN).document(f'["\\ud800", "{PLAIN}"]').encode() == b'["\\ud800", "[redacted:secret.key]"]'


def test_an_error_and_its_causes_are_redacted() -> None:
    keys = redactor(key=PLAIN)
    try:
        try:
            raise ValueError(f"inner {PLAIN}", 3)
        except ValueError as inner:
            raise KeyError(f"outer {PLAIN}") from inner
    except KeyError as error:
        shown = keys.error(error)
        assert shown is error
        assert error.args == ("outer [redacted:secret.key]",)
        assert error.__cause__ is not None and error.__cause__.args == ("inner [redacted:secret.key]", 3)


def test_an_error_that_cannot_be_changed_is_replaced() -> None:
    class Fixed(Exception):
        def __str__(self) -> str:
            return f"fixed {PLAIN}"

    noted = ValueError("x")
    noted.add_note(f"note {PLAIN}")
    shown = redactor(key=PLAIN).error(Fixed())
    assert type(shown) is AgentLoopError and str(shown) == "Fixed: fixed [redacted:secret.key]"
    assert type(redactor(key=PLAIN).error(noted)) is AgentLoopError
    grouped = redactor(key=PLAIN).error(ExceptionGroup("many", [ValueError(PLAIN)]))
    assert PLAIN not in repr(grouped)


# Streams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_a_secret_across_chunks_is_never_shown(size: int) -> None:
    text = f"Your key is {PLAIN}, and {base64.b64encode(PLAIN.encode()).decode()} again. " + "More text. " * 20
    stream = redactor(key=PLAIN).stream()
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    alive = "".join(pieces)
    shown = alive + stream.finish()
    assert shown == redactor(key=PLAIN).text(text)
    assert PLAIN not in shown and len(alive) > len(shown) - 30


def test_without_secrets_a_stream_holds_nothing_back() -> None:
    stream = redactor().stream()
    assert (stream.feed("ab"), stream.feed("c"), stream.finish()) == ("ab", "c", "")


SMALL = st.text(alphabet="ab[r:%2&-\\ \n", max_size=40)


@given(
    secrets=st.lists(st.text(alphabet="abr-:\\ [", min_size=1, max_size=4), max_size=3),
    chunks=st.lists(SMALL, max_size=8),
)
def test_a_stream_shows_what_the_whole_would(secrets: list[str], chunks: list[str]) -> None:
    keys = Redactor((secret, f"[r:{number}-ab]") for number, secret in enumerate(secrets))
    stream = keys.stream()
    shown = "".join(map(stream.feed, chunks)) + stream.finish()
    assert shown == keys.text("".join(chunks))


@given(secret=st.text(min_size=1, max_size=8).filter(str.strip), before=SMALL, after=SMALL)
def test_no_form_of_any_secret_stays(secret: str, before: str, after: str) -> None:
    keys = Redactor([(secret, "\x00")])
    for written in (secret, json.dumps(secret)[1:-1], quote_plus(secret), html.escape(secret)):
        assert "\x00" in keys.text(f"{before}{written}{after}")
