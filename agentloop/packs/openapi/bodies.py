"""What goes into a request's body: JSON, forms, files and text, each as its content type has it."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.checking import is_binary, is_file
from agentloop.packs.openapi.model import Body, Encoding, Media
from agentloop.packs.openapi.names import near
from agentloop.packs.openapi.node import Node, kind_of
from agentloop.packs.openapi.styles import form_pairs, json_text, scalar
from agentloop.records import Json

__all__ = ["FORM", "MULTIPART", "Content", "chosen", "encoded", "is_json", "takes_files"]

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
_OCTETS: Final = "application/octet-stream"
_KEY: Final = "body"
_PLAIN: Final = Encoding()


@dataclass(frozen=True, kw_only=True)
class Content:
    """Bytes and the `Content-Type` that they go with."""

    data: bytes
    type: str


def is_json(media: str) -> bool:
    """Whether a content type, parameters or not, is JSON."""
    name = media.partition(";")[0].strip().lower()
    return name in ("application/json", "text/json") or name.endswith("+json")


def takes_files(media: str) -> bool:
    """Whether values in this content type may be files."""
    return not is_json(media) and _name(media) != FORM


def chosen(body: Body, wanted: str | None) -> Media:
    """The content type to send: the one asked for, or the first. Raises `InvalidInput` for one that there is not."""
    if wanted is None:
        return body.media[0]
    for media in body.media:
        if media.type == wanted:
            return media
    known = [media.type for media in body.media]
    raise InvalidInput(f"contentType must be one of {', '.join(known)}, not {wanted[:80]!r}{near(wanted, known)}")


def encoded(media: Media, value: Json) -> Content:
    """The value in a content type. Raises `InvalidInput` for what it cannot hold."""
    name = _name(media.type)
    if is_json(name):
        return Content(data=json_text(value, _KEY).encode(), type=media.type)
    if name == FORM:
        pairs = [pair for key, item in _entries(value) for pair in _fields(media, key, item)]
        return Content(data="&".join(f"{key}={text}" for key, text in pairs).encode(), type=media.type)
    if name.startswith("multipart/"):
        return _multipart(media, value)
    return _single(media, value)


def _name(media: str) -> str:
    return media.partition(";")[0].strip().lower()


def _entries(value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{_KEY} must be an object of the form's fields, not {kind_of(value)}")
    return ((key, item) for key, item in value.items() if item is not None)


def _fields(media: Media, key: str, value: Json) -> Iterator[tuple[str, str]]:
    """The pairs of one property: by its style, or else each of its items in its content type."""
    encoding = media.encoding.get(key, _PLAIN)
    where = f"{_KEY}.{key}"
    if encoding.style is not None:
        yield from form_pairs(
            value,
            key,
            style=encoding.style,
            explode=encoding.explode,
            allow_reserved=encoding.allow_reserved,
            key=where,
        )
        return
    for item in [value] if is_json(encoding.content_type) or not isinstance(value, list) else value:
        yield from form_pairs(_field(item, encoding.content_type, where), key, key=where)


def _field(value: Json, content_type: str, where: str) -> str:
    if is_json(content_type) or isinstance(value, dict | list):
        return json_text(value, where)
    return scalar(value, where)


def _single(media: Media, value: Json) -> Content:
    """A body that is one text or one file."""
    if isinstance(value, str):
        wild = "*" in media.type
        kind = "text/plain" if wild else media.type
        charset = "; charset=utf-8" if kind.startswith("text/") and "charset" not in kind else ""
        return Content(data=_bytes(value, _KEY), type=kind + charset)
    if is_file(value):
        return _file(value, _KEY, media.type)
    if isinstance(value, int | float) and not is_binary(media.schema):
        return Content(data=scalar(value, _KEY).encode(), type=media.type)
    if "*" in media.type:
        return Content(data=json_text(value, _KEY).encode(), type="application/json")
    raise InvalidInput(
        f"{_KEY} is sent as {media.type}: give its text as a string, or {{base64: …}} for bytes, not {kind_of(value)}"
    )


def _file(value: Json, where: str, kind: str) -> Content:
    assert isinstance(value, dict)
    own = value.get("contentType")
    if isinstance(own, str) and not _accepts(kind, own):
        raise InvalidInput(f"{where}.contentType must be {kind}, not {own[:80]!r}")
    kind = own if isinstance(own, str) else _OCTETS if "*" in kind or not kind else kind.partition(",")[0].strip()
    _check_line(kind, f"{where}.contentType")
    if (text := value.get("base64")) is not None:
        return Content(data=_from_base64(text, f"{where}.base64"), type=kind)
    return Content(data=_bytes(value["content"], f"{where}.content"), type=kind)


def _accepts(wanted: str, own: str) -> bool:
    """Whether a content type is one of a list such as `image/*, text/csv`; "" is any."""
    own = _name(own)
    ranges = [_name(one) for one in wanted.split(",") if one.strip()]
    return not ranges or any(
        one in ("*/*", own) or (one.endswith("/*") and own.startswith(one.removesuffix("*"))) for one in ranges
    )


def _bytes(value: Json, where: str) -> bytes:
    return scalar(value, where).encode()


def _from_base64(value: Json, where: str) -> bytes:
    try:
        return base64.b64decode(scalar(value, where), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{where} is no base64 text") from None


def _multipart(media: Media, value: Json) -> Content:
    parts = [part for key, item in _entries(value) for part in _parts(media, key, item)]
    boundary = secrets.token_hex(16)
    while any(boundary.encode() in part for part in parts):
        boundary = secrets.token_hex(16)
    data = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), part) for part in parts)
    return Content(data=b"%s--%s--\r\n" % (data, boundary.encode()), type=f"{_name(media.type)}; boundary={boundary}")


def _parts(media: Media, key: str, value: Json) -> Iterator[bytes]:
    """One part for a property, or one for each item of its list."""
    encoding = media.encoding.get(key, _PLAIN)
    schema = _property(media.schema, key)
    for item in [value] if is_json(encoding.content_type) or not isinstance(value, list) else value:
        yield _part(key, item, encoding.content_type, binary=_holds_binary(schema))


def _part(key: str, value: Json, content_type: str, *, binary: bool) -> bytes:
    where, name, filename = f"{_KEY}.{key}", _quoted(key), None
    if is_file(value) and not is_json(content_type):
        assert isinstance(value, dict)
        content = _file(value, where, content_type or "*/*")
        filename = str(value.get("filename") or key)
    elif binary and isinstance(value, str):
        content = _file({"content": value}, where, content_type or "*/*")
        filename = key
    elif is_json(content_type) or isinstance(value, dict | list):
        kind = content_type if is_json(content_type) else "application/json"
        content = Content(data=json_text(value, where).encode(), type=kind)
    else:
        content = Content(data=_bytes(value, where), type="" if "*" in content_type else content_type)
    disposition = f'Content-Disposition: form-data; name="{name}"'
    disposition += "" if filename is None else f'; filename="{_quoted(filename)}"'
    kind = f"Content-Type: {content.type}\r\n" if content.type else ""
    return f"{disposition}\r\n{kind}\r\n".encode() + content.data


def _quoted(text: str) -> str:
    """A name in a part's header, as browsers write it."""
    text = scalar(text, "a name in the form")
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _check_line(text: str, where: str) -> None:
    if not text.isascii() or not text.isprintable():
        raise InvalidInput(f"{where}: {text[:80]!r} is no content type")


def _property(schema: Node | None, key: str) -> Node | None:
    """The schema of a property, wherever in an `allOf` or one of several forms it stands."""
    waiting, seen = [schema], set[int]()
    while waiting:
        node = None if (one := waiting.pop(0)) is None else one.followed()
        if node is None or id(node.value) in seen or not isinstance(node.value, dict):
            continue
        seen.add(id(node.value))
        properties = node.get("properties")
        if properties is not None and (found := properties.get(key)) is not None:
            return found
        for word in ("allOf", "anyOf", "oneOf"):
            branches = node.get(word)
            waiting += [] if branches is None else branches.elements()
    return None


def _holds_binary(schema: Node | None) -> bool:
    """Whether a property is binary, or a list of what is."""
    if schema is None or is_binary(schema):
        return schema is not None
    node = schema.followed()
    return isinstance(node.value, dict) and is_binary(node.get("items"))
