"""Parameters as text: the styles of OpenAPI, which are those of RFC 6570 and three of its own.

A value is a scalar, a list of scalars or an object of scalars; what no style can say is refused, not flattened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from urllib.parse import quote

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.model import Parameter, Style
from agentloop.packs.openapi.node import kind_of
from agentloop.records import Json

__all__ = ["Pairs", "cookie_pairs", "form_pairs", "header_text", "json_text", "path_text", "query_pairs", "scalar"]

Pairs: TypeAlias = list[tuple[str, str]]
"""Names and values, encoded, in order."""

_Encode: TypeAlias = Callable[[str], str]
_Pieces: TypeAlias = str | list[str] | dict[str, str]

# Reserved characters that may stand in a query without parting it.
_RESERVED: Final = ":/?@!$'()*,;="
_TRIPLE: Final = re.compile(r"(%[0-9A-Fa-f]{2})")
_COOKIE_OCTETS: Final = "!#$&'()*+-./:<=>?@[]^_`{|}~,"
_PARTING: Final[dict[str, tuple[str, str]]] = {"spaceDelimited": (" ", "%20"), "pipeDelimited": ("|", "%7C")}
_LARGEST_PLAIN: Final = 1e21


def path_text(parameter: Parameter, value: Json) -> str:
    """What takes the place of `{name}` in a path, never nothing."""
    text = _percent(_in_media(parameter, value)) if parameter.media else _in_path(parameter, value)
    if text == ("." if parameter.style == "label" else ""):
        raise InvalidInput(f"{parameter.key} is part of the path and cannot be empty")
    return text


def _in_path(parameter: Parameter, value: Json) -> str:
    pieces = _pieces(value, parameter.key)
    if pieces in ([], {}):
        return "." if parameter.style == "label" else ""
    match parameter.style:
        case "label":
            between = "." if parameter.explode else ","
            return "." + between.join(_flat(pieces, explode=parameter.explode, encode=_percent))
        case "matrix":
            return "".join(f";{piece}" for piece in _matrix(parameter, pieces))
    return ",".join(_flat(pieces, explode=parameter.explode, encode=_percent))


def query_pairs(parameter: Parameter, value: Json) -> Pairs:
    """The pairs of a query; none for an empty list or object."""
    encode = _reserved if parameter.allow_reserved else _percent
    if parameter.media:
        return [(_percent(parameter.name), encode(_in_media(parameter, value)))]
    return form_pairs(
        value,
        parameter.name,
        style=parameter.style,
        explode=parameter.explode,
        allow_reserved=parameter.allow_reserved,
        key=parameter.key,
    )


def header_text(parameter: Parameter, value: Json) -> str:
    """A header's value. What would part a list is refused inside it: headers have no escapes."""
    if parameter.media:
        return _in_media(parameter, value)
    pieces = _pieces(value, parameter.key)
    if isinstance(pieces, str):
        return pieces
    for text in _flat(pieces, explode=False, encode=str):
        _refuse("," if isinstance(pieces, list) or not parameter.explode else ",=", text, parameter.key)
    return ",".join(_flat(pieces, explode=parameter.explode, encode=str))


def cookie_pairs(parameter: Parameter, value: Json) -> Pairs:
    """Cookies by name; what cannot stand in one is percent-encoded."""
    if parameter.media:
        return [(_cookie_name(parameter.name), _cookie(_in_media(parameter, value)))]
    pieces = _pieces(value, parameter.key)
    return _pairs(pieces, parameter.name, explode=parameter.explode, between=",", encode=_cookie, named=_cookie_name)


def form_pairs(
    value: Json, name: str, *, style: Style = "form", explode: bool = True, allow_reserved: bool = False, key: str = ""
) -> Pairs:
    """The pairs of a query or a form. `key` is the name in messages."""
    key, encode = key or name, _reserved if allow_reserved else _percent
    if style == "deepObject":
        return [(_percent(name + path), encode(text)) for path, text in _deep(value, key)]
    pieces = _pieces(value, key)
    parting, between = _PARTING.get(style, ("", ","))
    if not explode and not isinstance(pieces, str):
        for text in _flat(pieces, explode=False, encode=str):
            _refuse(parting, text, key)
    return _pairs(pieces, name, explode=explode, between=between, encode=encode, named=_percent)


def scalar(value: Json, key: str) -> str:
    """A string, number or boolean as text, numbers as JavaScript writes them."""
    if isinstance(value, str):
        return _well_formed(value, key)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    if isinstance(value, int | float):
        return json_text(value, key)
    raise InvalidInput(f"{key}: {kind_of(value)} inside a list or an object cannot be sent in this place")


def json_text(value: Json, key: str, *, ascii_only: bool = False) -> str:
    """A value as JSON."""
    try:
        text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InvalidInput(f"{key}: a number must be finite") from None
    return _well_formed(text, key)


def _percent(text: str) -> str:
    return quote(text, safe="")


def _reserved(text: str) -> str:
    parts = enumerate(_TRIPLE.split(text))
    return "".join(part if number % 2 else quote(part, safe=_RESERVED) for number, part in parts)


def _cookie(text: str) -> str:
    return quote(text, safe=_COOKIE_OCTETS)


def _cookie_name(text: str) -> str:
    return quote(text, safe=_COOKIE_OCTETS.replace("=", ""))


def _in_media(parameter: Parameter, value: Json) -> str:
    if "json" not in parameter.media and not isinstance(value, list | dict):
        return scalar(value, parameter.key)
    return json_text(value, parameter.key, ascii_only=parameter.place in ("header", "cookie"))


def _pieces(value: Json, key: str) -> _Pieces:
    if isinstance(value, list):
        return [scalar(item, key) for item in value]
    if isinstance(value, dict):
        return {_well_formed(name, key): scalar(item, f"{key}.{name}") for name, item in value.items()}
    return scalar(value, key)


def _deep(value: Json, key: str, path: str = "") -> Iterator[tuple[str, str]]:
    """The scalars of an object by their path in brackets, those of a list by their number in it."""
    if not path and not isinstance(value, dict | list):
        raise InvalidInput(f"{key} is sent in the style deepObject, which is for objects, not {kind_of(value)}")
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _deep(item, f"{key}.{name}", f"{path}[{_well_formed(name, key)}]")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _deep(item, f"{key}[{number}]", f"{path}[{number}]")
    else:
        yield path, scalar(value, key)


def _pairs(pieces: _Pieces, name: str, *, explode: bool, between: str, encode: _Encode, named: _Encode) -> Pairs:
    if isinstance(pieces, str):
        return [(named(name), encode(pieces))]
    if not explode:
        return [(named(name), between.join(_flat(pieces, explode=False, encode=encode)))] if pieces else []
    if isinstance(pieces, list):
        return [(named(name), encode(item)) for item in pieces]
    return [(named(property), encode(item)) for property, item in pieces.items()]


def _flat(pieces: _Pieces, *, explode: bool, encode: _Encode) -> list[str]:
    if isinstance(pieces, str):
        return [encode(pieces)]
    if isinstance(pieces, list):
        return [encode(item) for item in pieces]
    pairs = [(encode(name), encode(item)) for name, item in pieces.items()]
    return [f"{name}={item}" for name, item in pairs] if explode else [part for pair in pairs for part in pair]


def _matrix(parameter: Parameter, pieces: _Pieces) -> list[str]:
    name = _percent(parameter.name)
    if pieces == "":
        return [name]
    if isinstance(pieces, dict) and parameter.explode:
        return _flat(pieces, explode=True, encode=_percent)
    parts = _flat(pieces, explode=False, encode=_percent)
    return [f"{name}={part}" for part in (parts if parameter.explode else [",".join(parts)])]


def _refuse(parting: str, text: str, key: str) -> None:
    for char in parting:
        if char in text:
            raise InvalidInput(f"{key}: {text[:80]!r} has {char!r} in it, which parts the list here, and has no escape")


def _well_formed(text: str, key: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{key}: the text has half of a surrogate pair, which cannot be sent") from None
    return text
