"""The headers that an operator has sent with every call: an API's only authentication, so kept from scripts."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.guard.network.url import parse_url
from agentloop.guard.redact import Redactor

__all__ = ["StaticHeaders"]

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_WORD: Final = re.compile(r"[^\s;,=\"]+")
_WRITTEN: Final = frozenset({"connection", "content-length", "content-type", "host", "transfer-encoding", "upgrade"})
# A redirect takes these to whatever host it leads to, as a browser's would.
_FOR_ANYBODY: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "content-language", "if-modified-since"}
    | {"if-none-match", "pragma", "range", "user-agent"}
)
_SHORTEST_WORD: Final = 8


class StaticHeaders:
    """`secret` headers go to `origins` alone and are taken out of what comes back; `public` ones go everywhere.

    Raises `InvalidInput` for a header that cannot be sent, or not be kept.
    """

    def __init__(self, *, secret: Mapping[str, str], public: Mapping[str, str], origins: Iterable[str]) -> None:
        self._secret = dict(_checked(secret))
        self._public = dict(_checked(public))
        self._origins = frozenset(parse_url(url).origin for url in origins)
        for name in self._secret:
            if name in self._public:
                raise InvalidInput(f"the header {name} is given twice")
            if name in _FOR_ANYBODY:
                raise InvalidInput(f"the header {name} goes wherever a redirect leads: give it in public_headers")
        if self._secret and not self._origins:
            raise InvalidInput(
                "the document has no server of its own, so headers would go nowhere: give header_origins"
            )
        self.redactor = Redactor(
            (value, f"[header {name}]") for name, text in self._secret.items() for value in _words(text)
        )

    def sent_to(self, server: str) -> dict[str, str]:
        """The headers for a base URL."""
        secret = self._secret if parse_url(server).origin in self._origins else {}
        return self._public | secret

    @property
    def names(self) -> frozenset[str]:
        """All of them, lower case."""
        return frozenset({*self._public, *self._secret})


def _checked(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise InvalidInput(f"{name!r} is no name of a header")
        if name.lower() in _WRITTEN:
            raise InvalidInput(f"the header {name} follows from the request itself: leave it out")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise InvalidInput(f"the header {name}: a value is one line of ASCII text")
        yield name.lower(), value.strip()


def _words(value: str) -> Iterator[str]:
    """What of a header's value must not be seen: the whole, its longer words, what Basic authentication hides."""
    yield value
    for word in _WORD.findall(value):
        if len(word) >= _SHORTEST_WORD:
            yield word
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, ValueError):
            return
        yield pair
        yield pair.partition(":")[2]
