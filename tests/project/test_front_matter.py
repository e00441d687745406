from __future__ import annotations

import time

import pytest

from agentloop.project.front_matter import FRONT_MATTER_BYTES, split_front_matter

HEAD = "---\nname: deploy\ndescription: Ships it.\n---\n"


@pytest.mark.parametrize(
    ("text", "entries", "body"),
    [
        (HEAD + "Do.", {"name": "deploy", "description": "Ships it."}, "Do."),
        ("Do.", {}, "Do."),
        ("---\nname: never ends\n", {}, "---\nname: never ends\n"),
        ("---\n---\nDo.", {}, "Do."),
        ("--- \nname: a\n---\t\nDo.", {"name": "a"}, "Do."),
        ("---\nname: a\n...\nDo.", {"name": "a"}, "Do."),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("text\n---\nname: a\n---\n", {}, "text\n---\nname: a\n---\n"),
        ("----\nname: a\n----\n", {}, "----\nname: a\n----\n"),
        ("---\nname: 'a b'\ndescription: \"c: d\"\n---\n", {"name": "a b", "description": "c: d"}, ""),
        ("---\ndescription: >\n  two\n  lines\n---\nDo.", {"description": "two lines\n"}, "Do."),
        ("---\ndescription: |\n  two\n  lines\nname: a\n---\n", {"description": "two\nlines\n", "name": "a"}, ""),
        ("---\ndescription: two\n  lines\n---\n", {"description": "two lines"}, ""),
        ("---\nname: a\nmeta:\n  name: b\ntags: [x]\n---\n", {"name": "a"}, ""),
        ("---\n# a comment\nname: a # another\n---\n", {"name": "a"}, ""),
        ("---\nname: 2024-01-01\nversion: 1.10\n---\n", {"name": "2024-01-01", "version": "1.10"}, ""),
        ("---\nname:\ndescription: ~\nother: null\n---\n", {}, ""),
        # What people write though it is no YAML: line by line.
        (
            "---\nname: a\ndescription: Do this: then that\n---\nDo.",
            {"name": "a", "description": "Do this: then that"},
            "Do.",
        ),
        ("---\ndescription: 'it's: x'\n  name: nested\n- b: c\n---\n", {"description": "it's: x"}, ""),
        ("---\njust words\n---\nDo.", {}, "Do."),
    ],
)
def test_head_and_body(text: str, entries: dict[str, str], body: str) -> None:
    assert split_front_matter(text) == (entries, body)


@pytest.mark.parametrize(
    "head",
    [
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: &a {x: 1}\n"
        + "".join(
            f"{c}: &{c}\n  <<: [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "a: " + "[" * 3000,
        "a: " + "{b: " * 1500,
        "a: !!python/object/apply:os.system ['false']",
        "? [a]\n: b",
        "a: " + "1:" * 2000,
        "a: " + "9" * 6000,
        "a: &a [*a]",
        "- " * 3500,
        "? " * 3500,
        "a: " + "!<x> " * 1000,
        "a: " + '"' * 7000,
        "a:\n" + " " * 7000,
        "".join(f"k{n}: v\n" for n in range(700)),
    ],
)
def test_a_hostile_head_is_read_in_no_time(head: str) -> None:
    begun = time.process_time()
    entries, body = split_front_matter(f"---\nname: fine\n{head}\n---\nDo.")
    assert time.process_time() - begun < 2
    assert entries.get("name") == "fine"
    assert body == "Do."


def test_a_head_longer_than_its_bound_is_text() -> None:
    text = f"---\nname: a\nx: {'y' * FRONT_MATTER_BYTES}\n---\nDo."
    assert split_front_matter(text) == ({}, text)
