"""`stores`: the host's documents by name, whole, from wherever the host keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.backend import BACKEND_S, bounded, required_backend
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.notes import Notes
from agentloop.packs.options import Options, text_argument
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.records import Json

__all__ = ["Document", "DocumentBackend", "documents_capability", "documents_pack"]

_DESCRIPTION: Final = "Reads the host's documents."
_MOST_LISTED: Final = 500
_MOST_READ: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document in a list; `chunk_count` is into how many passages it is cut for a search."""

    id: str
    title: str
    chunk_count: int = 0


class DocumentBackend(Protocol):
    """Lists documents and reads one; `read` of an id that is none is "". The script reads what they raise."""

    async def list(self) -> Sequence[Document]: ...

    async def read(self, id: str) -> str: ...


def documents_capability(backend: DocumentBackend | None, *, seconds: float = BACKEND_S) -> Capability:
    """`stores` over `backend`, which has `seconds` for each call; without one every call says so."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [documents_pack(backend, Permission(context), seconds=seconds)]

    return Capability(name="documents", description=_DESCRIPTION, build=build)


def documents_pack(
    backend: DocumentBackend | None, permission: Permission | None = None, *, seconds: float = BACKEND_S
) -> Pack:
    """The pack, which does not close the backend."""
    declarations = text("documents.d.ts")
    stores = _Stores(backend, permission or Permission(), seconds)
    return Pack(
        name="documents",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        primitives={
            "stores.list": Primitive(stores.list, untrusted=True),
            "stores.read": Primitive(stores.read, untrusted=True),
        },
        receipts=stores.notes.take,
    )


class _Stores:
    def __init__(self, backend: DocumentBackend | None, permission: Permission, seconds: float) -> None:
        self.notes = Notes()
        self._backend = backend
        self._permission = permission
        self._seconds = seconds
        self._late = say("backends.md", "late", what="document", seconds=f"{seconds:g}")

    async def list(self) -> list[Json]:
        await self._permission.need("stores.list")
        backend = required_backend(self._backend, "document")
        found = await bounded(backend.list(), seconds=self._seconds, late=self._late)
        if len(found) > _MOST_LISTED:
            self.notes.add(say("backends.md", "list_cut", most=_MOST_LISTED))
        return [{"id": one.id, "title": one.title, "chunkCount": one.chunk_count} for one in found[:_MOST_LISTED]]

    async def read(self, id: Json = None, opts: Json = None) -> str:
        if id is None or not text_argument("id", id):
            raise InvalidInput("stores.read needs an id: stores.list() names them")
        offset = Options(opts, ("offset",)).whole("offset", least=0) or 0
        await self._permission.need("stores.read", id=id)
        backend = required_backend(self._backend, "document")
        whole = await bounded(backend.read(id), seconds=self._seconds, late=self._late)
        end = offset + _MOST_READ
        if len(whole) > end:
            self.notes.add(say("backends.md", "read_cut", id=json.dumps(id), total=len(whole), next=end))
        await self._permission.tell(
            "sandbox_event", content=f"stores.read: {json.dumps(id)}", args={"kind": "document_read", "id": id}
        )
        return whole[offset:end]
