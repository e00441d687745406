"""`documentSearch`: passages of the host's documents, by whatever the host searches with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.backend import BACKEND_S, bounded, required_backend
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.notes import Notes
from agentloop.packs.options import text_argument
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.records import Json

__all__ = ["Passage", "SearchBackend", "search_capability", "search_pack"]

_DESCRIPTION: Final = "Searches the host's documents."
_TOP: Final = 5
_MOST: Final = 50
_MOST_QUERY: Final = 10_000
_MOST_CONTENT: Final = 20_000


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One passage found. `chunk_index` counts within its document; a larger `score` fits better."""

    document_id: str
    document_title: str
    chunk_index: int
    content: str
    score: float


class SearchBackend(Protocol):
    """Finds passages, best first, `top_k` at most; what is more is left out. The script reads what it raises."""

    async def search(self, query: str, top_k: int) -> Sequence[Passage]: ...


def search_capability(backend: SearchBackend | None, *, seconds: float = BACKEND_S) -> Capability:
    """`documentSearch` by `backend`, which has `seconds` for each query; without one every call says so."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [search_pack(backend, Permission(context), seconds=seconds)]

    return Capability(name="search", description=_DESCRIPTION, build=build)


def search_pack(
    backend: SearchBackend | None, permission: Permission | None = None, *, seconds: float = BACKEND_S
) -> Pack:
    """The pack, which does not close the backend."""
    declarations = text("search.d.ts")
    searcher = _Searcher(backend, permission or Permission(), seconds)
    return Pack(
        name="search",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        primitives={"documentSearch": Primitive(searcher.search, untrusted=True)},
        receipts=searcher.notes.take,
    )


class _Searcher:
    def __init__(self, backend: SearchBackend | None, permission: Permission, seconds: float) -> None:
        self.notes = Notes()
        self._backend = backend
        self._permission = permission
        self._seconds = seconds

    async def search(self, query: Json = None, top_k: Json = None) -> list[Json]:
        if query is None or not text_argument("query", query).strip():
            raise InvalidInput("documentSearch needs a query: what to look for")
        if len(query) > _MOST_QUERY:
            raise InvalidInput(f"documentSearch: the query has {len(query)} characters, at most {_MOST_QUERY} are read")
        await self._permission.need("documentSearch", query=query)
        wanted = self._wanted(top_k)
        backend = required_backend(self._backend, "search")
        late = say("backends.md", "late", what="search", seconds=f"{self._seconds:g}")
        found = await bounded(backend.search(query, wanted), seconds=self._seconds, late=late)
        hits = [self._as_json(hit) for hit in found[:wanted]]
        content = f"documentSearch: {len(hits)} passages"
        await self._permission.tell(
            "sandbox_event", content=content, args={"kind": "document_search", "query": query, "count": len(hits)}
        )
        return hits

    def _wanted(self, top_k: Json) -> int:
        if top_k is None:
            return _TOP
        if isinstance(top_k, bool) or not isinstance(top_k, int | float) or top_k != top_k // 1:
            raise InvalidInput(f"documentSearch: topK must be a whole number, not {top_k!r}")
        if top_k > _MOST:
            self.notes.add(say("backends.md", "search_most", most=_MOST))
        return min(int(top_k), _MOST) if top_k > 0 else _TOP

    def _as_json(self, hit: Passage) -> dict[str, Json]:
        if len(hit.content) > _MOST_CONTENT:
            self.notes.add(say("backends.md", "search_cut", most=_MOST_CONTENT))
        return {
            "documentId": hit.document_id,
            "documentTitle": hit.document_title,
            "chunkIndex": hit.chunk_index,
            "content": hit.content[:_MOST_CONTENT],
            "score": hit.score if math.isfinite(hit.score) else 0.0,
        }
