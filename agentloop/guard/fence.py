"""Strangers' text in a prompt: fenced, quoted, or so written that no line of it can pass for one of ours.

Ours are the marks of a page (`[9] button "Pay"`), the first line of its text (`PAGE NOW`), the line about what
`CHANGED since`, and the fence itself, whose words are in `fence.md`.
"""

from __future__ import annotations

import json
import re
import secrets
from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["fence", "neutralized", "neutralized_line", "neutralized_message", "one_line", "quoted", "visible"]

_BREAKS: Final = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ue000-\uf8ff\ufe00-\ufe0f\ufeff\ufff9-\ufffb\uffa0\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
"""Controls, what has no width or turns the direction, tags, and the private-use ones that icon fonts draw with."""
_HALVES: Final = re.compile("[\ud800-\udfff]")
_FENCE_WORDS: Final = re.compile(r"outside[\W_]{1,8}text", re.IGNORECASE)
_HEADS: Final = re.compile(r"PAGE[\W_]{0,8}NOW|CHANGED[\W_]{0,8}since")
_ROLES: Final = re.compile(
    r"<(?=\|[^\s|<>]{1,40}\|>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|<SYS>>|</SYS>>)|\[(?=/?INST\])", re.IGNORECASE
)
"""What begins a word by which chat templates part system, user and model; some servers read it in any text."""
_OPEN: Final = r"[\[\uff3b\u3010\u3014\u27e6]"
_CLOSE: Final = r"[\]\uff3d\u3011\u3015\u27e7]"
_NUMBER: Final = re.compile(rf"{_OPEN}(\s{{0,9}}\w{{0,9}}\s{{0,9}}){_CLOSE}")
_LATE_CLOSE: Final = re.compile(rf"^(\s{{0,9}}\w{{0,9}}\s{{0,9}}){_CLOSE}", re.MULTILINE)
_MARK: Final = re.compile(rf"(?<!\w){_OPEN}(\s{{0,9}}\d{{1,9}}\s{{0,9}}){_CLOSE}(?=\s+\w)")
_BRACKET: Final = re.compile(r"[\[\]]")
_SUSPECT: Final = re.compile(r"[^\n\t -;=-Z\\^_a-~\u00c0-\u024f\u2013\u2014\u2026\u20ac]|PAGE|CHANGED|(?i:outside)")
"""Without any of these, as nearly all pieces of a page, a text is left as it is; looking costs a tenth of changing."""


def fence(text: str, nonce: str | None = None) -> str:
    """`text` marked as written by strangers, without what does not show in it.

    `nonce` (None: a new one) must be new each time, so that the text cannot close its fence; the fence's own
    words inside it are broken up.
    """
    nonce = secrets.token_hex(4) if nonce is None else nonce
    return _template().replace("{nonce}", nonce).replace("{text}", _broken_up(visible(text)))


def quoted(text: str, limit: int) -> str:
    """A JSON string of at most `limit` characters of text, which cannot be broken out of.

    Brackets are codes in it, so that a model which repeats the string names what it saw.
    """
    shown = _cut(_HALVES.sub("\ufffd", _INVISIBLE.sub("", text)), limit)
    written = json.dumps(shown, ensure_ascii=False)
    return _BRACKET.sub(_code, _ROLES.sub(_code, _BREAKS.sub(_code, written)))


def neutralized(text: str) -> str:
    """Text that stands among our own lines: a bracketed number or word in it is in parentheses.

    The bracket that closes a number may be in another piece of text than the one that opens it, so one near the
    beginning of a line counts by itself.
    """
    if _SUSPECT.search(text) is None:
        return text
    text = _LATE_CLOSE.sub(r"\1)", _NUMBER.sub(r"(\1)", _broken_up(visible(text))))
    return text.replace("`" * 3, "'" * 3)


def neutralized_line(line: str) -> str:
    """A line put together of `neutralized` pieces, without the words of ours that two of them made together."""
    return line if _SUSPECT.search(line) is None else _broken_up(line)


def neutralized_message(text: str) -> str:
    """Words of ours that name what strangers named: they may have brackets, but no line looks like a mark."""
    return text if _SUSPECT.search(text) is None else _MARK.sub(r"(\1)", _broken_up(visible(text)))


def one_line(text: str, limit: int) -> str:
    """The same on one line of at most `limit` characters."""
    return _cut(neutralized_message(" ".join(visible(text).split())), limit)


def visible(text: str) -> str:
    """The text without what does not show; whatever breaks a line in it is a line feed."""
    return _HALVES.sub("\ufffd", _INVISIBLE.sub("", _BREAKS.sub("\n", text)))


def _broken_up(text: str) -> str:
    text = _ROLES.sub(lambda found: "(" if found[0] == "[" else "‹", _FENCE_WORDS.sub("outside-text", text))
    return _HEADS.sub(lambda found: found[0].lower(), text)


def _code(found: re.Match[str]) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in found[0])


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


@cache
def _template() -> str:
    return files("agentloop.guard").joinpath("fence.md").read_text("utf-8").strip()
