"""Secrets: what shows them, where they may go, and how they are taken out of what comes back."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
import traceback
from typing import Any
from urllib.parse import quote

import pytest

from agentloop.browser.base import Dialog, Effects, Tab
from agentloop.errors import AgentLoopError, DriverError, InvalidInput
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret, SecretBinding, Secrets, read_bindings

VALUE = "correct-horse 7!"
HOST = "https://shop.example"


def made(value: str = VALUE, name: str = "LOGIN", *origins: str) -> Secret:
    return Secret(name=name, value=value, origins=origins or (HOST,))


# What shows a secret ----------------------------------------------------------------------------------------


def test_neither_repr_nor_str_nor_format_shows_the_value() -> None:
    secret = made()
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        repr([secret]),
        repr(Secrets([secret])),
        repr(vars(Secrets([secret]))),
    ]
    assert all(VALUE not in text for text in shown)
    assert "LOGIN" in repr(secret)


def test_a_secret_cannot_be_pickled_changed_or_copied_apart() -> None:
    secret = made()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="never stored"):
            pickle.dumps(secret, protocol)
    with pytest.raises(AttributeError):
        secret.name = "OTHER"
    with pytest.raises(AttributeError):
        del secret.name
    assert copy.copy(secret) is secret and copy.deepcopy([secret])[0] is secret
    with pytest.raises(TypeError):
        vars(secret)


def test_logs_and_tracebacks_with_locals_do_not_show_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail(secret: Secret) -> None:
        raise RuntimeError(f"cannot use {secret}")

    try:
        fail(made())
    except RuntimeError as error:
        told = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    logging.getLogger("test").warning("with %s %r", made(), made())
    assert VALUE not in told + caplog.text


@pytest.mark.parametrize("value", ["", "abc", "  a  ", None, 5, "x" * 10_001])
def test_a_value_that_cannot_be_kept_out_of_texts_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="LOGIN: a value has 4 to 10,000 characters"):
        made(value)


@pytest.mark.parametrize("name", ["", "7A", "a-b", "a b", "é", "x" * 65, None])
def test_names_are_words(name: Any) -> None:
    with pytest.raises(InvalidInput, match="no name for a secret"):
        made(name=name)


# Where it may go --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://Shop.Example", HOST),
        ("https://shop.example/", HOST),
        ("https://shop.example:443", HOST),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://a.localhost", "http://a.localhost"),
        ("http://[::1]:9", "http://[::1]:9"),
    ],
)
def test_origins_are_canonical(given: str, origin: str) -> None:
    assert made(VALUE, "LOGIN", given).origins == {origin}


@pytest.mark.parametrize(
    "given",
    [
        "",
        "shop.example",
        "http://shop.example",
        "http://192.168.0.1",
        "http://127.0.0.1.evil.example",
        "https://*.shop.example",
        "https://shop.example/login",
        "https://shop.example//",
        "https://shop.example?x",
        "https://shop.example#x",
        "https://user@shop.example",
        "https://user:pw@shop.example",
        "ftp://shop.example",
        "https://",
        "*",
        "null",
    ],
)
def test_an_origin_is_exact_and_encrypted_or_on_this_machine(given: str) -> None:
    with pytest.raises(InvalidInput, match="secret LOGIN: "):
        made(VALUE, "LOGIN", given)


def test_no_origin_is_no_binding() -> None:
    with pytest.raises(InvalidInput, match="name the origins"):
        Secret(name="LOGIN", value=VALUE, origins=())


# The flag -----------------------------------------------------------------------------------------------------


def test_bindings_come_with_commas_or_again() -> None:
    commas = read_bindings("A=env:X@https://a.example,B=env:Y@http://localhost:1,https://b.example")
    again = read_bindings(["A=env:X@https://a.example", "B=env:Y@http://localhost:1", "B=env:Y@https://b.example"])
    assert commas == again
    assert [str(binding) for binding in commas] == [
        "A=env:X@https://a.example",
        "B=env:Y@http://localhost:1,B=env:Y@https://b.example",
    ]
    assert read_bindings(",".join(map(str, commas))) == commas == read_bindings(commas)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("PW=hunter2-hunter2@https://h.example", "PW must be NAME=env:VARIABLE@https://host"),
        ("PW=hunter2-hunter2", "must be NAME=env"),
        ("hunter2-hunter2", "must be NAME=env"),
        ("PW=env:hunter2-hunter2@https://h.example", "must be NAME=env"),
        ("PW=env:VAR", "must be NAME=env"),
        ("PW=env:VAR@http://h.example", "is not encrypted"),
        ("PW=env:VAR@https://h.example/path", "one exact origin"),
        ("PW=env:VAR@https://h.example,PW=env:OTHER@https://g.example", "two variables, VAR and OTHER"),
        (7, "must be NAME=env"),
    ],
)
def test_a_flag_that_cannot_be_read_says_how_and_quotes_no_value(given: object, told: str) -> None:
    with pytest.raises(ValueError, match=r"LOGIN|PW|must be") as caught:
        read_bindings(given)
    assert told in str(caught.value) and "hunter2" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    [binding] = read_bindings("PW=env:SHOP_PW@https://shop.example")
    with pytest.raises(InvalidInput, match="--secret PW: the environment variable SHOP_PW is not set"):
        binding.read({"OTHER": VALUE})
    with pytest.raises(InvalidInput, match="SHOP_PW is not set"):
        binding.read({"SHOP_PW": ""})
    assert binding.read({"SHOP_PW": VALUE}).value == VALUE
    assert binding == SecretBinding(name="PW", variable="SHOP_PW", origins=(HOST,))


# The placeholder ----------------------------------------------------------------------------------------------


def test_a_placeholder_is_opaque_new_each_time_and_survives_every_encoding() -> None:
    one, other = made(), made()
    assert one.placeholder != other.placeholder
    assert VALUE not in one.placeholder and one.placeholder.startswith("secret.LOGIN.")
    assert quote(one.placeholder, safe="") == one.placeholder
    assert json.dumps(one.placeholder) == f'"{one.placeholder}"'


def test_only_the_whole_placeholder_means_the_secret() -> None:
    secrets = Secrets([made(), made("another-value", "LOGIN_2")])
    place = secrets.get("LOGIN").placeholder
    assert secrets.of_placeholder(place) is secrets.get("LOGIN")
    assert secrets.of_placeholder(secrets.get("LOGIN_2").placeholder) is secrets.get("LOGIN_2")
    for text in (
        f"{place} ",
        f"a{place}",
        place[::-1],
        place[:-1],
        place.upper(),
        base64.b64encode(place.encode()),
        "",
        None,
        3,
    ):
        assert secrets.of_placeholder(text) is None
    with pytest.raises(InvalidInput, match="no placeholder of this run"):
        secrets.of_placeholder(made().placeholder)


def test_placeholders_are_found_wherever_they_stand() -> None:
    secrets = Secrets([made(), made("another-value", "B")])
    a, b = (secret.placeholder for secret in secrets)
    assert [found.name for found in secrets.within({"x": [1, f"Bearer {a}"]})] == ["LOGIN"]
    assert [found.name for found in secrets.within({b: None})] == ["B"]
    assert secrets.within(["secret.LOGIN", VALUE]) == ()
    assert secrets.filled({"x": [f"Bearer {a}"], "y": 1}) == {"x": [f"Bearer {VALUE}"], "y": 1}
    assert secrets.filled(f"p={a}", write=lambda value: quote(value, safe="")) == "p=correct-horse%207%21"


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="no secret is called 'X'; there are: LOGIN, B"):
        Secrets([made(), made("another-value", "B")]).get("X")
    with pytest.raises(InvalidInput, match="none is bound"):
        Secrets().get("X")


def test_two_secrets_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two secrets are called LOGIN"):
        Secrets([made(), made()])


# What comes back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "echo",
    [
        VALUE,
        VALUE.upper(),
        VALUE.lower(),
        VALUE.capitalize(),
        quote(VALUE, safe=""),
        json.dumps(json.dumps(VALUE)),
        base64.b64encode(b"ab" + VALUE.encode()).decode(),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        "\u200b".join(VALUE),
        VALUE.replace("-", "-\u00ad"),
        "correct&#45;horse&#x20;7&#33;",
        VALUE.replace(" ", "\n "),
    ],
)
def test_an_echo_becomes_the_placeholder(echo: str) -> None:
    secrets = Secrets([made()])
    shown = secrets.hide(f"before {echo} after")
    assert secrets.get("LOGIN").placeholder in shown
    assert "horse" not in shown.lower()


def test_the_beginning_of_one_that_was_cut_off_is_hidden_too() -> None:
    secrets = Secrets([made()])
    place = secrets.get("LOGIN").placeholder
    assert secrets.hide("token correct-h…, and more") == f"token {place}…, and more"
    assert secrets.hide("corr…") == f"{place}…"
    assert secrets.hide("cor…") == "cor…"
    assert secrets.hide("a correct answer…") == "a correct answer…"


def test_hiding_goes_into_json_and_dataclasses_and_leaves_figures_alone() -> None:
    secrets = Secrets([made(), made("123456", "PIN")])
    login, pin = (secret.placeholder for secret in secrets)
    effects = Effects(
        url=f"https://shop.example/#{VALUE}",
        dialogs=(Dialog(kind="alert", message=f"got {VALUE}", accepted=True),),
        opened=(Tab(id="t1", url="about:blank", title=VALUE, active=True),),
        requests=123456,
    )
    hidden = secrets.hide(effects)
    assert VALUE not in repr(hidden)
    assert (hidden.url, hidden.opened[0].title, hidden.requests) == (f"https://shop.example/#{login}", login, 123456)
    assert secrets.hide({VALUE: [VALUE, 123456, None, True]}) == {login: [login, 123456, None, True]}
    assert secrets.hide({"a": [123456, 7]}, numbers=True) == {"a": [pin, 7]}
    assert Secrets().hide("text") == "text"


def test_errors_lose_it_too() -> None:
    secrets = Secrets([made()])
    error = secrets.hide_error(DriverError(f"eval: Error: {VALUE}"))
    assert isinstance(error, DriverError) and VALUE not in str(error)
    assert isinstance(secrets.hide_error(AgentLoopError("plain")), AgentLoopError)


def test_redactors_that_were_fed_learn_what_is_bound_later() -> None:
    secrets = Secrets()
    own = Redactor([("password-of-mine", "[mine]")])
    fed = secrets.extend(own)
    assert fed.text(f"{VALUE} password-of-mine") == f"{VALUE} [mine]"
    secrets.add(made())
    assert fed.text(f"{VALUE} password-of-mine") == f"{secrets.get('LOGIN').placeholder} [mine]"
    assert own.text(VALUE) == VALUE, "the caller's redactor is left as it was"
