"""JSON at the border: what may pass, what is made fit to pass, how deep it may nest."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["encode", "escaped_surrogates", "readable", "strict", "too_deep", "usable_args"]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# `json.loads` and `json.dumps` with options make one of these for every call.
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NO_MARKS: Final = bytes(sorted(set(range(256)) - set(b'[]{}"')))


def encode(value: Any) -> bytes:
    """The JSON of what a primitive returned; NaN and the infinities become null.

    Raises `TypeError` or `ValueError` when the value is no JSON data.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        text = _ENCODER.encode(_finite(value))
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
        return json.dumps(json.loads(text), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def strict(text: bytes) -> Any:
    """Parses what a child sent. Raises `ValueError` for anything but JSON in UTF-8."""
    try:
        return _DECODER.decode(text.decode())
    except RecursionError:
        raise ValueError("nests too deeply") from None


def too_deep(text: bytes, depth: int) -> bool:
    """Whether the JSON nests arrays and objects more than `depth` deep; never recurses itself."""
    if text.count(b"[") + text.count(b"{") <= depth:
        return False
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = text.translate(_ONE_KIND, _NO_MARKS)
    # Every second piece between quotes is the inside of a string.
    shape = b"".join(marks.split(b'"')[::2])
    for _ in range(depth):
        if not shape:
            return False
        shape = shape.replace(b"[]", b"")
    return bool(shape)


def usable_args(args_json: str) -> str:
    """`args` as an engine can take it: blank text and null stand for `{}`, NaN and Infinity become null.

    Whether it is JSON otherwise shows where it is parsed, in the child.
    """
    text = args_json.strip()
    if text in ("", "null"):
        return "{}"
    try:
        if "NaN" in text or "Infinity" in text:
            return encode(json.loads(text)).decode()
        return escaped_surrogates(text)
    except (ValueError, RecursionError):
        return readable(text)


def escaped_surrogates(text: str) -> str:
    """The same JSON text with lone surrogates as escapes, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(text))
    return text


def readable(text: str) -> str:
    """Text that can be written as UTF-8: lone surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
