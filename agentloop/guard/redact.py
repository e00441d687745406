"""Takes secrets out of whatever is kept or shown, also where they were escaped or encoded on the way."""

from __future__ import annotations

import base64
import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol
from urllib.parse import quote

from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.records import Json

__all__ = ["Redactor", "StreamRedactor"]

_NESTING = 7
"""Backslashes before an escaped character: JSON text three times inside JSON text has seven."""

_BASE64_CHARS = 4
"""Characters of base64 that must be determined by a secret alone before they count as one."""

_BEGINNING = 4
"""Characters at the beginning of a secret that tell something of it when the rest was cut off."""

_CUT = "…"
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_URLSAFE = str.maketrans("+/", "-_")
_CONTROL = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Redactor:
    """Replaces secret values by placeholders; without pairs it passes everything through.

    A value is found as it is, its white space folded or stripped, JSON-, URL- or HTML-escaped (whole, in part, or one
    inside the other), in hex, and in base64 at all three alignments in both alphabets; characters that nobody sees
    may stand in between. Where finds overlap, all they cover becomes the placeholder of the longest value. Empty
    values are skipped; placeholders already there stay as they are, so redacting twice is redacting once. What it
    cannot see: a secret cut in two, reversed or encrypted.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        """`pairs` are (value, placeholder). Raises `InvalidInput` for anything but pairs of text."""
        self._secrets: tuple[_Secret, ...] = ()
        self._kept: tuple[str, ...] = ()
        self._longest = 0
        self.learn(pairs)

    def learn(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Takes out these too from now on; a value that is known gets the new placeholder."""
        known = {secret.value: secret.placeholder for secret in self._secrets}
        known |= dict(_checked(pair) for pair in pairs)
        ordered = sorted((value for value in known if value.strip()), key=len, reverse=True)
        self._secrets = tuple(_Secret(value, known[value]) for value in ordered)
        places = tuple(secret.placeholder for secret in self._secrets)
        self._kept = tuple(place for place in places if any(secret.spans(place) for secret in self._secrets))
        self._longest = max([*map(len, self._kept), *(secret.longest for secret in self._secrets)], default=0)

    def also(self, pairs: Iterable[tuple[str, str]]) -> Redactor:
        """One of its own that takes out these as well."""
        other = Redactor((secret.value, secret.placeholder) for secret in self._secrets)
        other.learn(pairs)
        return other

    def __bool__(self) -> bool:
        """True when there is anything to take out."""
        return bool(self._secrets)

    @property
    def longest(self) -> int:
        """Characters that the longest form of any secret has; 0 without secrets."""
        return self._longest

    @classmethod
    def from_secrets(cls, secrets: Mapping[str, str]) -> Redactor:
        """Placeholders are `[redacted:secret.<name>]`."""
        return cls((value, f"[redacted:secret.{name}]") for name, value in secrets.items())

    @classmethod
    def from_lists(cls, values: Sequence[str], placeholders: Sequence[str]) -> Redactor:
        """The first value by the first placeholder, and so on. Raises `InvalidInput` for lists of unequal length."""
        if len(values) != len(placeholders):
            raise InvalidInput(
                f"{len(values)} secret values and {len(placeholders)} placeholders: give one placeholder for each value"
            )
        return cls(zip(values, placeholders, strict=True))

    def text(self, text: str) -> str:
        """`text` without the secrets."""
        if not self._secrets:
            return text
        spans = self.finds(text)
        return _replaced(text, spans) if spans else text

    def json(self, value: Json) -> Json:
        """`value` with every key and string redacted; a number that is a secret becomes the placeholder.

        What is no JSON is redacted as the text that `str` makes of it.
        """
        if not self._secrets or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.json(item) for item in value]
        if isinstance(value, int | float):
            return self._number(value)
        return self.text(str(value))

    def document(self, text: str) -> str:
        """JSON text redacted as JSON, so that it stays JSON; text that is none is redacted as text."""
        if not self._secrets:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        shown = self.json(value)
        return text if shown == value else json.dumps(shown)

    def error(self, error: BaseException) -> BaseException:
        """`error` with the secrets taken out of its text and out of that of its causes.

        One whose text cannot be changed is replaced by an `AgentLoopError` of the same words.
        """
        if not self._secrets:
            return error
        links = list(_causes(error))
        for link in links:
            link.args = tuple(self.json(arg) if isinstance(arg, str) else arg for arg in link.args)
            link.__dict__.update({name: self.text(value) for name, value in vars(link).items() if type(value) is str})
        if all(self.text(told) == told for told in map(_told, links)):
            return error
        return AgentLoopError(self.text(f"{type(error).__name__}: {error}"))

    def stream(self) -> StreamRedactor:
        """A redactor of text that arrives in pieces."""
        return StreamRedactor(self)

    def finds(self, text: str) -> list[_Find]:
        """Where secrets are, in order and apart from each other."""
        return _merged(self._found(text, _inside_of(self.placeholders(text))))

    def without_beginnings(self, text: str) -> str:
        """`text` without the beginnings of secrets that a `…` cut short: four characters and more of one."""
        ends = list(_places(_CUT, text)) if self._secrets and _CUT in text else ()
        found = (secret.beginning(text, end) for secret in self._secrets for end in ends)
        return _replaced(text, _merged(sorted((find for find in found if find), key=_in_order)))

    def sees(self, text: str) -> bool:
        """Whether there is anything to take out, be it the beginning of a secret that a `…` cut short."""
        return bool(self.finds(text)) or self.without_beginnings(text) != text

    def _found(self, text: str, skipped: Callable[[_Find], bool]) -> list[_Find]:
        found = [find for secret in self._secrets for find in secret.spans(text)]
        if _UNSEEN.search(text):
            plain = _UNSEEN.sub("", text)
            through = [find for secret in self._secrets for find in secret.spans(plain)]
            places = [at for at, character in enumerate(text) if not _UNSEEN.match(character)] if through else []
            found += [replace(find, start=places[find.start], end=places[find.end - 1] + 1) for find in through]
        return sorted((find for find in found if not skipped(find)), key=_in_order)

    def placeholders(self, text: str) -> list[tuple[int, int]]:
        """Where placeholders are that hold a secret's text themselves, and so must not be looked into."""
        return [(start, start + len(place)) for place in self._kept for start in _places(place, text)]

    def _number(self, value: float) -> Json:
        written = json.dumps(value)
        return next((secret.placeholder for secret in self._secrets if secret.value == written), value)


class StreamRedactor:
    """Redacts text as it arrives: what may yet turn out to be the beginning of a secret is held back.

    All that `feed` and `finish` return is together what `Redactor.text` makes of the whole.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, chunk: str) -> str:
        """What may be shown once `chunk` is there too, often ""."""
        self._held += chunk
        cut = self._cut()
        spans = self._redactor.finds(self._held)
        whole = [(find.start, find.end) for find in spans] + self._redactor.placeholders(self._held)
        while crossed := [start for start, end in whole if start < cut < end]:
            cut = min(crossed)
        ready, self._held = self._held[:cut], self._held[cut:]
        return _replaced(ready, [find for find in spans if find.end <= cut])

    def _cut(self) -> int:
        """Where to cut so that what is held back has room for all but the last character of a secret."""
        room = max(0, self._redactor.longest - 1)
        if not _UNSEEN.search(self._held):
            return max(0, len(self._held) - room)
        seen = [at for at, character in enumerate(self._held) if not _UNSEEN.match(character)]
        return 0 if len(seen) <= room else seen[len(seen) - room] if room else len(self._held)

    def finish(self) -> str:
        """The rest."""
        rest, self._held = self._held, ""
        return self._redactor.text(rest)


@dataclass(frozen=True, slots=True)
class _Find:
    """A secret's place in a text."""

    start: int
    end: int
    size: int
    placeholder: str


class _Form(Protocol):
    longest: int

    def spans(self, text: str) -> Iterator[tuple[int, int]]: ...


class _Secret:
    """One value with all its forms."""

    def __init__(self, value: str, placeholder: str) -> None:
        self.value = value
        self.placeholder = placeholder
        plain = dict.fromkeys((value, value.strip()))
        self._forms: tuple[_Form, ...] = (
            *(_Literal(text) if _is_plain(text) else _Escaped(text) for text in plain),
            *(_Literal(text) for text in dict.fromkeys(chain.from_iterable(map(_base64_forms, plain)))),
            *(_Literal(text) for text in dict.fromkeys(chain.from_iterable(map(_hex_forms, plain)))),
        )
        self.longest: int = max(form.longest for form in self._forms)

    def beginning(self, text: str, end: int) -> _Find | None:
        """How much of the value ends at `end`."""
        for size in range(min(len(self.value) - 1, end), _BEGINNING - 1, -1):
            if text.startswith(self.value[:size], end - size):
                return _Find(end - size, end, size, self.placeholder)
        return None

    def spans(self, text: str) -> list[_Find]:
        size = len(self.value)
        return [_Find(start, end, size, self.placeholder) for form in self._forms for start, end in form.spans(text)]


class _Literal:
    def __init__(self, text: str) -> None:
        self._text = text
        self.longest = len(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        return ((start, start + self.longest) for start in _places(self._text, text))


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


def _places(part: str, text: str) -> Iterator[int]:
    """Every place of `part`, also overlapping ones."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _inside_of(kept: Sequence[tuple[int, int]]) -> Callable[[_Find], bool]:
    return lambda find: any(start <= find.start and find.end <= end for start, end in kept)


def _in_order(find: _Find) -> tuple[int, int]:
    return find.start, -find.end


def _merged(found: Sequence[_Find]) -> list[_Find]:
    merged: list[_Find] = []
    for find in found:
        if not merged or find.start >= merged[-1].end:
            merged.append(find)
            continue
        last = merged[-1]
        longer = max(last, find, key=lambda one: one.size)
        merged[-1] = _Find(last.start, max(last.end, find.end), longer.size, longer.placeholder)
    return merged


def _replaced(text: str, finds: Sequence[_Find]) -> str:
    parts, at = [], 0
    for find in finds:
        parts += [text[at : find.start], find.placeholder]
        at = find.end
    return "".join([*parts, text[at:]])


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        inner = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        waiting += [one for one in (link.__cause__, link.__context__, *inner) if one is not None]


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error))


def _checked(pair: tuple[str, str]) -> tuple[str, str]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise InvalidInput("a redactor takes pairs of text: (secret value, placeholder)")
    return pair
