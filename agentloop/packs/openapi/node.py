"""A place in a document: its value, where it stands, and what references in it lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from referencing import Anchor, Registry, Resource, Specification
from referencing.exceptions import Unresolvable

from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["Node", "escaped", "kind_of", "root_of"]

_HOPS: Final = 50
_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True)
class Node:
    """A value of a document. `place` is its JSON pointer as a URL fragment, after the document's address if another.

    Reading what is not of the kind asked for raises `InvalidInput` that names the place.
    """

    value: Json
    place: str
    modern: bool
    """Whether the document is of version 3.1, in which schemas are those of JSON Schema."""
    _resolver: Any = field(repr=False, compare=False)
    _links: dict[int, Node] = field(repr=False, compare=False)

    def get(self, key: str) -> Node | None:
        """The entry of an object, None when there is none."""
        entries = self.mapping()
        return self._child(key, entries[key]) if key in entries else None

    def need(self, key: str) -> Node:
        """The entry of an object that must be there."""
        found = self.get(key)
        if found is None:
            raise InvalidInput(f"{self.place}: {key!r} is missing")
        return found

    def items(self) -> Iterator[tuple[str, Node]]:
        """The entries of an object."""
        return ((key, self._child(key, value)) for key, value in self.mapping().items())

    def elements(self) -> Iterator[Node]:
        """The elements of an array."""
        if not isinstance(self.value, list):
            raise InvalidInput(f"{self.place}: must be an array, not {kind_of(self.value)}")
        return (self._child(str(number), value) for number, value in enumerate(self.value))

    def mapping(self) -> Mapping[str, Json]:
        """The value as an object."""
        if not isinstance(self.value, dict):
            raise InvalidInput(f"{self.place}: must be an object, not {kind_of(self.value)}")
        return self.value

    def text(self, key: str, default: str = "") -> str:
        """A string of an object."""
        value = self.mapping().get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise InvalidInput(f"{self.place}/{escaped(key)}: must be a string, not {kind_of(value)}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false of an object."""
        value = self.mapping().get(key, default)
        if not isinstance(value, bool):
            raise InvalidInput(f"{self.place}/{escaped(key)}: must be true or false, not {kind_of(value)}")
        return value

    @property
    def reference(self) -> str:
        """What `$ref` says, "" without one."""
        value = self.value.get("$ref") if isinstance(self.value, dict) else None
        return value if isinstance(value, str) else ""

    def followed(self) -> Node:
        """The node itself, or what its reference, or the reference there, leads to in the end."""
        node = self
        for _ in range(_HOPS):
            if not node.reference:
                return node
            node = node.target()
        raise InvalidInput(f"{self.place}/$ref: the reference leads in a circle")

    def target(self) -> Node:
        """What the reference leads to, which may be one more reference."""
        # A value stands in one place alone, so it can be known by its identity.
        found = self._links.get(id(self.value))
        if found is None:
            found = self._links[id(self.value)] = self._looked_up()
        return found

    def _looked_up(self) -> Node:
        reference = self.reference
        file, _, fragment = reference.partition("#")
        try:
            found = self._resolver.lookup(reference)
        except (Unresolvable, LookupError, TypeError, ValueError):
            raise InvalidInput(f"{self.place}/$ref: {_unfound(reference)}") from None
        place = f"{file or self.place.partition('#')[0]}#{fragment}"
        return replace(self, value=found.contents, place=place, _resolver=found.resolver)

    def _child(self, key: str, value: Json) -> Node:
        place = f"{self.place}/{escaped(key)}"
        resolver = self._resolver
        if self.modern and _id_of(value) is not None:
            resolver = resolver.in_subresource(_NAMED.create_resource(value))
        return Node(value=value, place=place, modern=self.modern, _resolver=resolver, _links=self._links)


def root_of(contents: Json, *, url: str, others: Mapping[str, Json], modern: bool) -> Node:
    """The root of a document at `url`; `others` are the documents that its references may lead to, by address.

    Nothing is ever fetched.
    """
    kind: Specification[Json] = _NAMED if modern else Specification.OPAQUE
    resources = [(address, kind.create_resource(other)) for address, other in {**others, url: contents}.items()]
    registry: Registry[Json] = Registry().with_resources(resources).crawl()
    return Node(value=contents, place="#", modern=modern, _resolver=registry.resolver(base_uri=url), _links={})


def kind_of(value: Json) -> str:
    """What a value is, in words."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return {type(None): "null", str: "a string", list: "an array"}.get(type(value), "an object")


def _unfound(reference: str) -> str:
    shown = reference if len(reference) <= _SHOWN else f"{reference[:_SHOWN]}…"
    file, _, _ = reference.partition("#")
    if not file:
        return f"nothing is at {shown}"
    return f"{shown} is in another document, and nothing is fetched: give it as documents={{{file!r}: …}}"


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _id_of(contents: Json) -> str | None:
    found = contents.get("$id") if isinstance(contents, dict) else None
    return found if isinstance(found, str) else None


def _below(contents: Json) -> Iterator[dict[str, Json]]:
    """All objects inside, those that have an address of their own included but not entered."""
    waiting: list[Json] = [contents]
    while waiting:
        node = waiting.pop()
        inner: Sequence[Json] = (
            list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else ()
        )
        for one in inner:
            if isinstance(one, dict):
                yield one
            if _id_of(one) is None:
                waiting.append(one)


def _addressed(contents: Json) -> Iterator[Json]:
    return (node for node in _below(contents) if _id_of(node) is not None)


def _anchors(specification: Specification[Json], contents: Json) -> Iterator[Anchor[Json]]:
    for node in (contents, *_below(contents)):
        name = node.get("$anchor") if isinstance(node, dict) else None
        if isinstance(name, str) and (node is contents or _id_of(node) is None):
            yield Anchor(name=name, resource=specification.create_resource(node))  # type: ignore[call-arg]


def _passing(segments: Sequence[object], resolver: Any, subresource: Resource[Json]) -> Any:
    return resolver if _id_of(subresource.contents) is None else resolver.in_subresource(subresource)


_NAMED: Final[Specification[Json]] = Specification(  # type: ignore[call-arg]
    name="openapi-3.1",
    id_of=_id_of,
    subresources_of=_addressed,
    anchors_in=_anchors,
    maybe_in_subresource=_passing,
)
