from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agentloop.guard import Decision, ToolCall
from agentloop.packs.search import Passage, SearchBackend, search_capability
from tests.packs.scripts import Scripts, scripts_with


@dataclass
class Texts:
    """A backend that keeps what it was asked, and finds what it was given."""

    found: Sequence[Passage] = ()
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def search(self, query: str, top_k: int) -> Sequence[Passage]:
        self.asked.append((query, top_k))
        return self.found


def passage(content: str = "Lamps cost 12.", score: float = 0.9) -> Passage:
    return Passage(document_id="d1", document_title="Prices", chunk_index=3, content=content, score=score)


async def test_what_is_found_comes_back_under_the_names_that_are_declared() -> None:
    texts = Texts([passage()])
    async with scripts_with(search_capability(texts)) as scripts:
        found = await scripts.value("documentSearch('lamp', 3)")
    wanted = {"documentId": "d1", "documentTitle": "Prices", "chunkIndex": 3, "content": "Lamps cost 12.", "score": 0.9}
    assert found == [wanted] and texts.asked == [("lamp", 3)]
    assert scripts.events[0]["args"] == {"kind": "document_search", "query": "lamp", "count": 1}


@pytest.mark.parametrize("top", ["", ", 0", ", -3", ", null", ", undefined"])
async def test_five_are_wanted_unless_something_else_is_said(top: str) -> None:
    texts = Texts()
    async with scripts_with(search_capability(texts)) as scripts:
        assert await scripts.value(f"documentSearch('lamp'{top})") == []
    assert texts.asked == [("lamp", 5)]


@pytest.mark.parametrize(
    "call", ["documentSearch()", "documentSearch('')", "documentSearch(' ')", "documentSearch(null)"]
)
async def test_without_a_query_nothing_is_asked(call: str) -> None:
    texts = Texts()
    async with scripts_with(search_capability(texts)) as scripts:
        assert "needs a query" in await scripts.error(call)
    assert not texts.asked


@pytest.mark.parametrize("call", ["documentSearch(1)", "documentSearch('x', 'y')", "documentSearch('x', 1.5)"])
async def test_what_is_no_query_or_number_is_told(call: str) -> None:
    async with scripts_with(search_capability(Texts())) as scripts:
        assert "must be" in await scripts.error(call)


async def test_without_a_backend_the_call_says_so() -> None:
    async with scripts_with(search_capability(None)) as scripts:
        assert "no search backend" in await scripts.error("documentSearch('x')")


async def test_what_comes_back_is_bounded_and_that_is_said() -> None:
    texts = Texts([passage("x" * 30_000, float("nan"))] * 80)
    async with scripts_with(search_capability(texts)) as scripts:
        found = await scripts.value("documentSearch('x', 70).map(hit => [hit.content.length, hit.score])")
        notes = scripts.notes()
    assert found == [[20_000, 0]] * 50 and texts.asked == [("x", 50)]
    assert "20000 characters were cut" in notes and "50 passages at most" in notes


async def test_a_backend_that_fails_or_takes_too_long_is_an_error() -> None:
    class Broken:
        async def search(self, query: str, top_k: int) -> Sequence[Passage]:
            if query == "wait":
                await asyncio.Event().wait()
            raise LookupError("the index is gone")

    async with scripts_with(search_capability(Broken(), seconds=0.05)) as scripts:
        assert await scripts.error("documentSearch('x')") == "LookupError: the index is gone"
        assert "longer than 0.05 s" in await scripts.error("documentSearch('wait')")


async def test_what_is_found_is_strangers_text() -> None:
    backend: SearchBackend = Texts([passage()])
    async with scripts_with(search_capability(backend)) as scripts:
        assert (await scripts.run("log(documentSearch('x'))")).untrusted


async def test_a_policy_can_deny_it() -> None:
    class NoSearch:
        async def check(self, call: ToolCall) -> Decision:
            return Decision(allowed=call.tool != "documentSearch", reason="not these documents")

    async def denied(scripts: Scripts) -> str:
        return await scripts.error("documentSearch('x')")

    texts = Texts()
    async with scripts_with(search_capability(texts), policy=NoSearch()) as scripts:
        assert "not these documents" in await denied(scripts)
    assert not texts.asked
