"""Takes secrets out of whatever is kept or shown, also where they were escaped or encoded on the way."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.guard.spelling import LONGEST_MASK, Spelling, Unmasked, places
from agentloop.records import Json

__all__ = ["Redactor", "StreamRedactor"]

_BEGINNING = 4
"""Characters at the beginning of a secret that tell something of it when the rest was cut off."""

_CUT = "…"


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
        ends = list(places(_CUT, text)) if self._secrets and _CUT in text else ()
        found = (secret.beginning(text, end) for secret in self._secrets for end in ends)
        return _replaced(text, _merged(sorted((find for find in found if find), key=_in_order)))

    def sees(self, text: str) -> bool:
        """Whether there is anything to take out, be it the beginning of a secret that a `…` cut short."""
        return bool(self.finds(text)) or self.without_beginnings(text) != text

    def _found(self, text: str, skipped: Callable[[_Find], bool]) -> list[_Find]:
        found = [find for secret in self._secrets for find in secret.spans(text)]
        if (plain := Unmasked.of(text)) is not None:
            through = [find for secret in self._secrets for find in secret.spans(plain.text)]
            found += [replace(find, start=plain.start(find.start), end=plain.end(find.end)) for find in through]
        return sorted((find for find in found if not skipped(find)), key=_in_order)

    def placeholders(self, text: str) -> list[tuple[int, int]]:
        """Where placeholders are that hold a secret's text themselves, and so must not be looked into."""
        return [(start, start + len(place)) for place in self._kept for start in places(place, text)]

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
        plain = Unmasked.of(self._held)
        if plain is None:
            return max(0, len(self._held) - room)
        # A mask that has come in part only looks like so many characters.
        room += LONGEST_MASK
        return plain.start(len(plain.text) - room) if len(plain.text) > room else 0

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


class _Secret:
    """One value with all the ways to write it."""

    def __init__(self, value: str, placeholder: str) -> None:
        self.value = value
        self.placeholder = placeholder
        self._spelling = Spelling(value)
        self.longest = self._spelling.longest

    def beginning(self, text: str, end: int) -> _Find | None:
        """How much of the value ends at `end`."""
        for size in range(min(len(self.value) - 1, end), _BEGINNING - 1, -1):
            if text.startswith(self.value[:size], end - size):
                return _Find(end - size, end, size, self.placeholder)
        return None

    def spans(self, text: str) -> list[_Find]:
        size = len(self.value)
        return [_Find(start, end, size, self.placeholder) for start, end in self._spelling.spans(text)]


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
