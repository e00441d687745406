"""What is kept of a browser holds no value of a secret, and gives it back to who binds it again."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from agentloop.browser.keeping import Kept
from agentloop.guard.secrets import Secret, Secrets

VALUE = 'correct-horse\'s "7" & é'


def bound(value: str = VALUE) -> Secrets:
    return Secrets([Secret(name="LOGIN", value=value, origins=["https://shop.example"])])


def storage(**texts: str) -> bytes:
    return json.dumps({"cookies": [{"name": name, "value": text, "n": 1} for name, text in texts.items()]}).encode()


@pytest.mark.parametrize("form", [VALUE, quote(VALUE, safe=""), quote(VALUE, safe="!'()*~"), json.dumps([VALUE])])
def test_a_value_that_a_page_stored_is_taken_out_and_put_back(form: str) -> None:
    kept = Kept(url="https://shop.example/", storage=storage(a=f"x{form}y", b="other", c=f"{form}{form}"))
    data = kept.without(bound()).to_bytes()
    inside = base64.b64decode(json.loads(data)["storage"]).decode()
    assert not bound().redactor.sees(inside) and not bound().redactor.sees(data.decode())
    again = Kept.from_bytes(data).opened(bound())
    if form.startswith("["):
        assert json.loads(again.storage or b"")["cookies"][0]["value"] == "", "a form that cannot be put back is lost"
    else:
        assert json.loads(again.storage or b"") == json.loads(kept.storage or b"")
    assert again.url == kept.url


def test_another_value_takes_the_place_and_without_one_the_mark_stays() -> None:
    data = Kept(storage=storage(a=VALUE)).without(bound()).to_bytes()
    assert (
        json.loads(Kept.from_bytes(data).opened(bound("new-value")).storage or b"")["cookies"][0]["value"]
        == "new-value"
    )
    assert not bound().redactor.sees((Kept.from_bytes(data).opened(Secrets()).storage or b"").decode())


def test_a_page_cannot_ask_for_it_by_a_mark_it_made_up() -> None:
    marks = [json.loads(Kept(storage=storage(a="x")).without(bound()).to_bytes())["marks"]["LOGIN"] for _ in range(2)]
    assert marks[0] != marks[1] and len(marks[0]) == 32
    planted = Kept(storage=storage(a=f"{marks[0]}.plain", b="LOGIN.plain")).without(bound()).to_bytes()
    opened = Kept.from_bytes(planted).opened(bound()).storage or b""
    assert not bound().redactor.sees(opened.decode())


def test_without_secrets_and_with_foreign_storage() -> None:
    assert Kept(storage=b"\x00opaque").without(Secrets()).storage == b"\x00opaque"
    assert Kept(storage=b"\x00opaque").without(bound()).storage is None
    old = json.dumps({"version": 1, "url": "https://a.example/", "storage": None}).encode()
    assert Kept.from_bytes(old) == Kept(url="https://a.example/")
    for broken in (b"", b"[]", b"nonsense", json.dumps({"url": "x", "storage": None, "marks": 7}).encode()):
        assert Kept.from_bytes(broken) == Kept()
