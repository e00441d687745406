"""The text of an OpenAPI document as plain JSON values, whoever wrote it."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.node import Node, escaped, root_of
from agentloop.records import Json

__all__ = ["LONGEST_DOCUMENT", "MOST_VALUES", "Source", "read_document"]

Source: TypeAlias = Mapping[str, Any] | str | bytes | Path
"""A document as values, as JSON or YAML text, or the file that it is in."""

LONGEST_DOCUMENT: Final = 32 * 1024 * 1024
"""Bytes of a document's text."""

MOST_VALUES: Final = 1_000_000
"""Values in one document, where each use of a YAML alias counts anew."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_DEEPEST: Final = 200
_VERSION: Final = re.compile(r"3\.([01])(\.\d+)?(-\S+)?")
_PLAIN_FLOAT: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PLAIN_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")


def read_document(source: Source, *, url: str = "", documents: Mapping[str, Source] | None = None) -> Node:
    """The root of a document of version 3.0 or 3.1; `documents` are those that it refers to, by address.

    Addresses are as the references have them, resolved against `url`. Raises `InvalidInput`.
    """
    contents = _loaded(source)
    others = {_absolute(url, address): _loaded(other) for address, other in (documents or {}).items()}
    return root_of(contents, url=url, others=others, modern=_is_modern(contents))


def _absolute(url: str, address: str) -> str:
    from urllib.parse import urljoin

    return urljoin(url, address)


def _is_modern(contents: Json) -> bool:
    if not isinstance(contents, dict):
        raise InvalidInput("an OpenAPI document is an object with openapi, info and paths")
    if "swagger" in contents:
        raise InvalidInput("this is a document of version 2.0 (Swagger): convert it to OpenAPI 3.0 or 3.1 first")
    version = contents.get("openapi")
    match = _VERSION.fullmatch(str(version))
    if match is None:
        said = "is missing" if version is None else f"{version!r} is not understood"
        raise InvalidInput(f'#/openapi: the version {said}; 3.0 and 3.1 are, as in openapi: "3.1.0"')
    return match[1] == "1"


def _loaded(source: Source) -> Json:
    if isinstance(source, Mapping):
        return _Values().plain(source)
    if isinstance(source, os.PathLike):
        source = _file(Path(source))
    data = source.encode("utf-8", "replace") if isinstance(source, str) else source
    if len(data) > LONGEST_DOCUMENT:
        raise InvalidInput(f"the document has {len(data):,} bytes, at most {LONGEST_DOCUMENT:,} are read")
    try:
        return _Values().plain(_parsed(_decoded(data)))
    except RecursionError:
        raise InvalidInput("the document nests too deeply") from None


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_DOCUMENT + 1)
    except OSError as error:
        raise InvalidInput(f"the document {path} cannot be read: {error.strerror or error}") from None


def _decoded(data: bytes) -> str:
    for mark, codec in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(codec, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the document is not UTF-8 text: byte {error.start}") from None


def _parsed(text: str) -> Any:
    text = text.strip()
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            # YAML has braces too; what is neither is most likely meant as JSON.
            return _yaml(text, problem=f"the document is no JSON: {error}")
    if "\n" not in text:
        raise InvalidInput(f"{text[:80]!r} is not the text of a document: give a file as a Path; no address is fetched")
    return _yaml(text)


def _yaml(text: str, *, problem: str = "") -> Any:
    import yaml

    try:
        return yaml.load(text, _loader())
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput(problem or f"the document is no YAML: {' '.join(str(error).split())}") from None


def _loader() -> Any:
    """A safe loader whose plain words are those of JSON: no dates, no `yes`, no numbers in base 60."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    words = {"null", "merge", "value"}
    kept = {
        first: [(tag, rule) for tag, rule in rules if tag.rpartition(":")[2] in words]
        for first, rules in base.yaml_implicit_resolvers.items()
    }
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": kept})
    loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z", re.IGNORECASE), [*"tTfF"])
    loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(rf"{_PLAIN_INT.pattern}\Z"), [*"-+0123456789"])
    loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(rf"{_PLAIN_FLOAT.pattern}\Z"), [*"-+.0123456789"]
    )
    return loader


class _Values:
    """Copies what was parsed, counting: aliases of YAML may stand for far more than was written, or for themselves."""

    def __init__(self) -> None:
        self._left = MOST_VALUES
        self._trail: list[str] = []

    def plain(self, value: Any) -> Json:
        self._left -= 1
        if self._left < 0:
            raise InvalidInput(f"the document has more than {MOST_VALUES:,} values")
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._inner(str(key), entry) for key, entry in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self._inner(str(number), entry) for number, entry in enumerate(value)]
        raise InvalidInput(f"{self._place()}: a document holds JSON values, not {type(value).__name__}")

    def _text(self, text: str) -> str:
        if not text.isascii() and _HALF.search(text):
            raise InvalidInput(f"{self._place()}: a text has half of a surrogate pair")
        return text

    def _place(self) -> str:
        return "/".join(["#", *map(escaped, self._trail)])

    def _inner(self, key: str, value: Any) -> Json:
        if len(self._trail) >= _DEEPEST:
            raise InvalidInput(f"#/{'/'.join(self._trail[:5])}/…: the document nests more than {_DEEPEST} deep")
        self._trail.append(key)
        found = self.plain(value)
        self._trail.pop()
        return found
