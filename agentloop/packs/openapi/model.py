"""What was understood of an API: plain values, ready for calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agentloop.packs.openapi.node import Node

__all__ = ["Api", "Body", "Encoding", "Media", "Operation", "Parameter", "Place", "Style"]

Place: TypeAlias = Literal["path", "query", "header", "cookie"]

Style: TypeAlias = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """`key` is what scripts call it, `name` what goes over the wire. With a `media` type it is written in that."""

    key: str
    name: str
    place: Place
    required: bool = False
    style: Style = "form"
    explode: bool = True
    allow_reserved: bool = False
    media: str = ""
    schema: Node | None = None
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How one property of a form is written; `style` None: by its content type, "" for the usual one."""

    content_type: str = ""
    style: Style | None = None
    explode: bool = True
    allow_reserved: bool = False


@dataclass(frozen=True, kw_only=True)
class Media:
    """A body in one content type."""

    type: str
    schema: Node | None = None
    encoding: Mapping[str, Encoding] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Body:
    """What may be sent; the first of `media` is what a script sends that does not choose."""

    required: bool
    media: tuple[Media, ...]
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One call. `function` is its name in scripts, `server` its base URL without a slash at the end."""

    function: str
    method: str
    path: str
    server: str
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    result: Node | None = None
    """The schema of what a success answers as JSON, and the type that it comes in."""
    accept: str = ""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False


@dataclass(frozen=True, kw_only=True)
class Api:
    """An API. `base` is the server of the document itself; an operation may have another one."""

    title: str
    version: str
    description: str
    base: str
    operations: Mapping[str, Operation]
