"""From an OpenAPI document to the operations that can be called."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, get_args

from agentloop.errors import InvalidInput, refuse_text
from agentloop.packs.openapi.bodies import is_json
from agentloop.packs.openapi.document import Source, read_document
from agentloop.packs.openapi.model import Api, Body, Encoding, Media, Operation, Parameter, Place, Style
from agentloop.packs.openapi.names import derived, distinct, keys, sanitised
from agentloop.packs.openapi.node import Node
from agentloop.packs.openapi.servers import Servers

Word = TypeVar("Word", bound=str)

__all__ = ["BODY", "CONTENT_TYPE", "METHODS", "read_api"]

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""The methods whose operations scripts get when none are listed."""

BODY: Final = "body"
"""What scripts call the body among their parameters."""

CONTENT_TYPE: Final = "contentType"
"""What scripts call the choice of the body's content type, where there is one."""

_SENDABLE: Final = (*METHODS, "HEAD", "OPTIONS")
_OURS: Final = ("help",)
_PLACES: Final[tuple[Place, ...]] = get_args(Place)
_STYLES: Final[Mapping[Place, tuple[Style, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# The document's word on these headers is void: they follow from the body, the answer and the static headers.
_VOID_HEADERS: Final = frozenset({"accept", "authorization", "content-type"})
_NAMED_BY_TOKENS: Final = frozenset({"header", "cookie"})
# Cookies of the wild have brackets too.
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~\[\]-]+")
_TEMPLATED: Final = re.compile(r"\{([^{}]*)\}")


def read_api(
    source: Source,
    *,
    url: str = "",
    documents: Mapping[str, Source] | None = None,
    base_url: str | None = None,
    server_variables: Mapping[str, str] | None = None,
    methods: Collection[str] | None = None,
) -> Api:
    """What a document offers by these methods (None: `METHODS`).

    Raises `InvalidInput`, with the place as a JSON pointer, for whatever in it cannot be understood.
    """
    root = read_document(source, url=url, documents=documents)
    servers = Servers(base_url=base_url, url=url, variables=server_variables or {})
    info = root.need("info")
    drafts = sorted(_drafts(root, servers, _wanted(methods)), key=lambda draft: (draft.path, draft.method))
    if not drafts:
        raise InvalidInput(f"#/paths: there is no operation with one of {', '.join(sorted(_wanted(methods)))}")
    named = distinct([operation.function for operation in drafts], _OURS)
    base = servers.base(root)
    servers.check()
    return Api(
        title=info.text("title"),
        version=info.text("version"),
        description=info.text("description"),
        base=base,
        operations={name: replace(draft, function=name) for name, draft in zip(named, drafts, strict=True)},
    )


def _wanted(methods: Collection[str] | None) -> frozenset[str]:
    refuse_text("methods", methods, of="methods")
    wanted = frozenset(method.upper() for method in (METHODS if methods is None else methods))
    for method in wanted:
        if method not in _SENDABLE:
            raise InvalidInput(f"method {method!r} is never sent; there are: {', '.join(_SENDABLE)}")
    return wanted


def _drafts(root: Node, servers: Servers, wanted: frozenset[str]) -> Iterator[Operation]:
    paths = root.get("paths")
    for path, item in () if paths is None else paths.items():
        if path.startswith("x-"):
            continue
        if not path.startswith("/") or "?" in path or "#" in path:
            raise InvalidInput(f"{item.place}: a path begins with a slash, and has no ? and no # in it")
        item = item.followed()
        for method in sorted(wanted):
            operation = item.get(method.lower())
            if operation is not None:
                yield _operation(path, method, operation, item, servers.base(operation, item, root))


def _operation(path: str, method: str, node: Node, item: Node, server: str) -> Operation:
    if not server:
        raise InvalidInput("#/servers: the document names no server: give base_url")
    name = node.text("operationId")
    body = None if (found := node.get("requestBody")) is None else _body(found.followed())
    result, accept = _result(node)
    return Operation(
        function=sanitised(name) if name else derived(method, path),
        method=method,
        path=path,
        server=server,
        parameters=_parameters(path, node, item, body),
        body=body,
        result=result,
        accept=accept,
        summary=node.text("summary"),
        description=node.text("description"),
        tags=tuple(_texts(node, "tags")),
        deprecated=node.flag("deprecated"),
    )


def _texts(node: Node, key: str) -> list[str]:
    found = node.get(key)
    return [] if found is None else [str(element.value) for element in found.elements()]


@dataclass(frozen=True, kw_only=True)
class _Found:
    name: str
    place: Place
    node: Node


def _parameters(path: str, operation: Node, item: Node, body: Body | None) -> tuple[Parameter, ...]:
    """Those of the path item, where the operation has not its own, in the order of place and name."""
    found = {(one.place, one.name): one for one in _listed(item)} | {
        (one.place, one.name): one for one in _listed(operation)
    }
    used = [one for one in found.values() if one.place != "header" or one.name.lower() not in _VOID_HEADERS]
    ordered = sorted(used, key=lambda one: (_PLACES.index(one.place), one.name))
    _check_template(path, {one.name for one in ordered if one.place == "path"}, operation)
    reserved = [BODY] if body else []
    reserved += [CONTENT_TYPE] if body and len(body.media) > 1 else []
    named = keys([(one.place, one.name) for one in ordered], reserved)
    return tuple(_parameter(one, key) for one, key in zip(ordered, named, strict=True))


def _listed(owner: Node) -> Iterator[_Found]:
    listed = owner.get("parameters")
    seen = set()
    for element in () if listed is None else listed.elements():
        node = element.followed()
        name, place = node.text("name"), _one_of(node, "in", _PLACES, "")
        if not name:
            raise InvalidInput(f"{node.place}: 'name' is missing")
        if place in _NAMED_BY_TOKENS and not _TOKEN.fullmatch(name):
            raise InvalidInput(f"{node.place}/name: {name!r} is no name of a {place}")
        if (place, name) in seen:
            raise InvalidInput(f"{element.place}: there are two parameters {name!r} in {place}")
        seen.add((place, name))
        yield _Found(name=name, place=place, node=node)


def _one_of(node: Node, key: str, known: Sequence[Word], default: str) -> Word:
    word = node.text(key, default)
    for one in known:
        if word == one:
            return one
    raise InvalidInput(f"{node.place}/{key}: must be one of {', '.join(known)}, not {word!r}")


def _check_template(path: str, declared: set[str], operation: Node) -> None:
    needed = set(_TEMPLATED.findall(path))
    for name in sorted(needed - declared):
        raise InvalidInput(f"{operation.place}/parameters: {name!r} of the path {path} is not among them")
    for name in sorted(declared - needed):
        raise InvalidInput(f"{operation.place}/parameters: {name!r} is in path, but {path} has no {{{name}}}")


def _parameter(found: _Found, key: str) -> Parameter:
    node, place = found.node, found.place
    style = _one_of(node, "style", _STYLES[place], _STYLES[place][0])
    media, schema = _parameter_schema(node)
    return Parameter(
        key=key,
        name=found.name,
        place=place,
        required=place == "path" or node.flag("required"),
        style=style,
        explode=node.flag("explode", style in ("form", "deepObject")),
        allow_reserved=place == "query" and node.flag("allowReserved"),
        media=media,
        schema=schema,
        description=node.text("description"),
    )


def _parameter_schema(node: Node) -> tuple[str, Node | None]:
    """The content type that a parameter is written in, "" for a style, and its schema."""
    content = node.get("content")
    if content is None:
        return "", _schema(node)
    entries = list(content.items())
    if len(entries) != 1:
        raise InvalidInput(f"{content.place}: must have one content type, not {len(entries)}")
    media, inner = entries[0]
    return media, _schema(inner.followed())


def _schema(owner: Node) -> Node | None:
    schema = owner.get("schema")
    if schema is None:
        return None
    if not isinstance(schema.value, dict) and not (schema.modern and isinstance(schema.value, bool)):
        raise InvalidInput(f"{schema.place}: a schema must be an object")
    schema.followed()
    return schema


def _body(node: Node) -> Body | None:
    content = list(node.need("content").items())
    media = tuple(_media(name, inner.followed()) for name, inner in content)
    if not media:
        return None
    # What is JSON is simplest to give; else the document's own order tells.
    ordered = tuple(sorted(media, key=lambda one: not is_json(one.type)))
    return Body(required=node.flag("required"), media=ordered, description=node.text("description"))


def _media(name: str, node: Node) -> Media:
    if not name.isascii() or not name.isprintable() or "/" not in name:
        raise InvalidInput(f"{node.place}: {name!r} is no content type")
    encoding = node.get("encoding")
    entries = {} if encoding is None else {key: _encoding(inner) for key, inner in encoding.items()}
    return Media(type=name, schema=_schema(node), encoding=entries)


def _encoding(node: Node) -> Encoding:
    styled = bool({"style", "explode", "allowReserved"} & node.mapping().keys())
    style = _one_of(node, "style", _STYLES["query"], "form")
    return Encoding(
        content_type=node.text("contentType"),
        style=style if styled else None,
        explode=node.flag("explode", style in ("form", "deepObject")),
        allow_reserved=node.flag("allowReserved"),
    )


def _result(operation: Node) -> tuple[Node | None, str]:
    """The schema and the content type of what a success answers as JSON."""
    responses = operation.get("responses")
    entries = {} if responses is None else dict(responses.items())
    successes = sorted(code for code in entries if code.startswith("2"))
    for code in [*successes, "default"] if successes or "default" in entries else []:
        response = entries.get(code)
        content = None if response is None else response.followed().get("content")
        for name, media in _json_first(() if content is None else list(content.items())):
            return _schema(media.followed()), name
    return None, ""


def _json_first(entries: Sequence[tuple[str, Node]]) -> Iterator[tuple[str, Node]]:
    return ((name, node) for name, node in entries if is_json(name))
