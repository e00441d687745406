from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import InvalidInput
from agentloop.guard.grants import Grant, covers, unambiguous


@pytest.mark.parametrize(
    ("kind", "known", "wanted", "yes"),
    [
        ("path", "modify src/a.py", "modify src/a.py", True),
        ("path", "modify src/a.py", "modify src/a.pyc", False),
        ("path", "modify src/a", "modify src/a/b", False),
        ("path", "modify src/", "modify src/a.py", True),
        ("path", "modify src/", "modify src/deep/a.py", True),
        ("path", "modify src/", "modify src", False),
        ("path", "modify src/", "modify srcs/a.py", False),
        ("path", "modify src/", "modify other/src/a.py", False),
        ("path", "modify src/", "modify src/../etc", False),
        ("path", "modify src/", "upload src/a.py", False),
        ("host", "a.test:443", "a.test:443/any/page", True),
        ("host", "a.test:443", "a.test:4430/x", False),
        ("host", "a.test:443", "a.test:443.evil.test/x", False),
        ("host", "a.test:443", "www.a.test:443/", False),
        ("host", "a.test:443", "private a.test:443/", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/x", True),
        ("host", "a.test:443/v1/", "a.test:443/v1", False),
        ("host", "a.test:443/v1/", "a.test:443/v1x", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/..%2Fv2", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/%2e%2e/v2", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/%252e%252e/v2", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/..;a=1/v2", False),
        ("host", "a.test:443/v1/", "a.test:443/v1/..a;/v2", True),
        ("host", "a.test:443/v1/x", "a.test:443/v1/x/y", False),
        ("command", "git log/", "git log/x", False),
        ("action", "submit https://a.test/", "submit https://a.test/x", False),
    ],
)
def test_what_an_approval_covers(kind: str, known: str, wanted: str, yes: bool) -> None:
    assert covers(Grant(kind=kind, subject=known), Grant(kind=kind, subject=wanted)) is yes


def test_kinds_do_not_cover_each_other() -> None:
    assert not covers(Grant(kind="path", subject="x"), Grant(kind="host", subject="x"))


@pytest.mark.parametrize("subject", ["a\nb", "a\x1b[2K", "a\u202eb", "a\u200bb", "a\x00", "a\u2028b"])
def test_what_does_not_print_is_no_subject(subject: str) -> None:
    with pytest.raises(InvalidInput):
        Grant(kind="path", subject=subject)
    assert Grant(kind="path", subject=unambiguous(subject)).subject.isprintable()


@pytest.mark.parametrize(
    ("text", "written"),
    [("plain it's \\ok", "plain it's \\ok"), ("a\nb", "$'a\\nb'"), ("$'a'", "$'$\\'a\\''"), ("\\\n'", "$'\\\\\\n\\''")],
)
def test_texts_are_written_as_a_shell_does(text: str, written: str) -> None:
    assert unambiguous(text) == written


@given(st.text(alphabet="a\\n\n'$\x1b\u202e", max_size=6), st.text(alphabet="a\\n\n'$\x1b\u202e", max_size=6))
def test_two_texts_are_never_written_alike(one: str, other: str) -> None:
    assert (unambiguous(one) == unambiguous(other)) is (one == other)
    assert unambiguous(one).isprintable()
