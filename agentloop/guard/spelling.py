"""All the ways in which a text may be written: as it is, escaped, encoded, or with unseen characters in it."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import Protocol
from urllib.parse import quote

__all__ = ["LONGEST_MASK", "Spelling", "Unmasked", "places"]

LONGEST_MASK = 16
"""Characters that one letter takes at most when it is masked."""

_NESTING = 7
"""Backslashes before an escaped character: JSON text three times inside JSON text has seven."""

_BASE64_CHARS = 4
"""Characters of base64 that must be determined by a text alone before they count as it."""

_UNSEEN = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_MASK = re.compile(
    rf"{_UNSEEN}|(?i:\\{{1,{_NESTING}}}(?:u00|x)(?P<code>[3-7][0-9a-f])|%(?P<percent>[3-7][0-9a-f])"
    r"|&#0{0,4}(?P<number>[4-9][0-9]|1[0-2][0-9]);|&#x0{0,4}(?P<entity>[3-7][0-9a-f]);)"
)
_URLSAFE = str.maketrans("+/", "-_")
_CONTROL = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Unmasked:
    """A text without unseen characters, and with letters and figures that were escaped for no need as they are."""

    def __init__(self, masked: str) -> None:
        self._masked = masked
        self.text = _MASK.sub(_meant, masked)
        self._steps: list[tuple[int, int]] | None = None

    @classmethod
    def of(cls, text: str) -> Unmasked | None:
        """That of `text`; None when it is the text itself."""
        if not _MASK.search(text):
            return None
        plain = cls(text)
        return None if plain.text == text else plain

    def start(self, at: int) -> int:
        """Where the character at `at` begins in the masked text."""
        if self._steps is None:
            self._steps = list(self._measured())
        _, gone = self._steps[bisect_right(self._steps, at, key=lambda step: step[0]) - 1]
        return at + gone

    def end(self, at: int) -> int:
        """Where the character before `at` ends there, unseen ones behind it included."""
        return self.start(at) if at < len(self.text) else len(self._masked)

    def _measured(self) -> Iterator[tuple[int, int]]:
        """From which place of the plain text on how many characters are missing there."""
        yield 0, 0
        gone = 0
        for match in _MASK.finditer(self._masked):
            meant = _meant(match)
            # What follows a mask begins after all of it; the mask itself where it stands.
            after = match.start() - gone + len(meant)
            gone += len(match[0]) - len(meant)
            yield after, gone


def _meant(match: re.Match[str]) -> str:
    code = match["code"] or match["percent"] or match["entity"]
    if code is None and match["number"] is None:
        return ""
    character = chr(int(code, 16) if code else int(match["number"]))
    return character if character.isalnum() else match[0]


class _Form(Protocol):
    longest: int

    def spans(self, text: str) -> Iterator[tuple[int, int]]: ...


class Spelling:
    """A text in all its forms: escaped, white space folded or stripped, in hex, in base64; `longest` of them."""

    def __init__(self, text: str) -> None:
        plain = dict.fromkeys((text, text.strip()))
        self._forms: tuple[_Form, ...] = (
            *(_Literal(form) if _is_plain(form) else _Escaped(form) for form in plain),
            *(_Literal(form) for form in dict.fromkeys(chain.from_iterable(map(_base64_forms, plain)))),
            *(_Literal(form) for form in dict.fromkeys(chain.from_iterable(map(_hex_forms, plain)))),
        )
        self.longest: int = max(form.longest for form in self._forms)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in `text`, form by form."""
        return chain.from_iterable(form.spans(text) for form in self._forms)


class _Literal:
    def __init__(self, text: str) -> None:
        self._text = text
        self.longest = len(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        return ((start, start + self.longest) for start in places(self._text, text))


class _Escaped:
    """A text in which each character may stand in any of its escaped forms, and white space may be folded."""

    def __init__(self, text: str) -> None:
        characters = [_Written(character) for character in text]
        self._pattern = re.compile("".join(map(_folding, re.findall(r"\s+|\S+", text))))
        self.longest: int = sum(character.longest for character in characters)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        match = self._pattern.search(text)
        while match is not None:
            yield match.span()
            match = self._pattern.search(text, match.start() + 1)


class _Written:
    """One character as a pattern of all the ways to write it, and the length of the longest."""

    def __init__(self, character: str) -> None:
        if _is_plain(character):
            self.pattern, self.longest = character, 1
            return
        units = character.encode("utf-16-be", "surrogatepass").hex()
        code = ord(character)
        slashes = rf"\\{{1,{_NESTING}}}"
        percent = quote(character.encode("utf-8", "surrogatepass"), safe="") if character not in "-._~" else ""
        ways = [
            rf"\\{{1,{2 * _NESTING}}}" if character == "\\" else rf"\\{{0,{_NESTING}}}{re.escape(character)}",
            "".join(f"{slashes}u{units[at : at + 4]}" for at in range(0, len(units), 4)),
            f"{slashes}U{code:08x}",
            percent or f"%{code:02x}",
            f"&#0{{0,4}}{code};",
            f"&#x0{{0,4}}{code:x};",
        ]
        ways += [f"{slashes}x{code:02x}"] if code < 0x100 else []
        ways += [slashes + _CONTROL[character]] if character in _CONTROL else []
        ways += [f"&{_ENTITIES[character]};"] if character in _ENTITIES else []
        ways += [r"\+"] if character == " " else []
        literal, *encoded = ways
        self.pattern = f"(?:{literal}|(?i:{'|'.join(encoded)}))"
        self.longest = max(2 * _NESTING, 2 * (_NESTING + 5), len(percent), 15)


def _folding(part: str) -> str:
    pattern = "".join(_Written(character).pattern for character in part)
    return rf"(?:{pattern}|\s{{1,{len(part) + 1}}})" if part.isspace() else pattern


def _is_plain(text: str) -> bool:
    """True when no way of escaping changes the text."""
    return text.isascii() and text.isalnum()


def _base64_forms(text: str) -> Iterator[str]:
    data = text.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode()
    inner = (_determined(data, shift) for shift in range(3))
    for form in (whole, whole.rstrip("="), *(part for part in inner if len(part) >= _BASE64_CHARS)):
        yield form
        yield form.translate(_URLSAFE)


def _hex_forms(text: str) -> Iterator[str]:
    form = text.encode("utf-8", "surrogatepass").hex()
    yield form
    yield form.upper()


def _determined(data: bytes, shift: int) -> str:
    """The characters of base64 that `data` alone decides when it begins `shift` bytes into a group of three."""
    encoded = base64.b64encode(bytes(shift) + data).decode()
    first, last = -(-8 * shift // 6), 8 * (shift + len(data)) // 6
    return encoded[first:last]


def places(part: str, text: str) -> Iterator[int]:
    """Every place of `part`, also overlapping ones."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
