from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.errors import InvalidInput, StoreError
from agentloop.packs.documents import Document, documents_capability
from agentloop.packs.search import search_capability
from agentloop.packs.sqlite_documents import SQLiteDocuments
from tests.packs.scripts import scripts_with


@pytest.fixture
async def documents(tmp_path: Path) -> AsyncIterator[SQLiteDocuments]:
    documents = SQLiteDocuments(tmp_path / "documents.db")
    await documents.put("lamps", "Lamps", "Lamps cost 12.\n\nBrass lamps are rare.")
    await documents.put("chairs", "Chairs", "Chairs cost 40.")
    yield documents
    await documents.aclose()


async def test_scripts_find_list_and_read(documents: SQLiteDocuments) -> None:
    async with scripts_with(search_capability(documents)) as scripts:
        [best, *others] = await scripts.value("documentSearch('a brass lamp')")
    assert (best["documentId"], best["documentTitle"], best["chunkIndex"]) == ("lamps", "Lamps", 0)
    assert "Brass lamps" in best["content"] and all(one["score"] <= best["score"] for one in others)
    async with scripts_with(documents_capability(documents)) as scripts:
        assert [one["id"] for one in await scripts.value("stores.list()")] == ["chairs", "lamps"]
        assert await scripts.value("stores.read('chairs')") == "Chairs cost 40."


async def test_it_is_kept_and_what_is_put_again_takes_its_place(documents: SQLiteDocuments, tmp_path: Path) -> None:
    await documents.put("lamps", "New lamps", "Nothing of that.")
    await documents.remove("chairs")
    await documents.remove("nowhere")
    again = SQLiteDocuments(tmp_path / "documents.db")
    try:
        assert await again.list() == [Document(id="lamps", title="New lamps", chunk_count=1)]
        assert await again.search("brass chairs", 5) == []
        assert await again.read("chairs") == ""
    finally:
        await again.aclose()


async def test_long_documents_are_found_by_their_passages_and_nothing_of_them_is_lost() -> None:
    documents = SQLiteDocuments()
    words = [f"word{number}" for number in range(2_000)]
    await documents.put("long", "Long", "\n\n".join(" ".join(words[at : at + 700]) for at in range(0, 2_000, 700)))
    [found] = await documents.search("word1234", 3)
    assert "word1234" in found.content and len(found.content) <= 1_500 and found.chunk_index > 3
    for number in (0, 699, 700, 1_999):
        assert len(await documents.search(f"word{number}", 3)) == 1
    [listed] = await documents.list()
    assert listed.chunk_count > 8
    await documents.put("one word", "", "x" * 5_000)
    assert await documents.read("one word") == "x" * 5_000
    await documents.aclose()


@pytest.mark.parametrize(
    "query", ['"', "*", "a AND", "NEAR(", "lamps) OR (body", "body:", "-", "😀", "' ; drop table document"]
)
async def test_no_query_is_read_as_a_language(documents: SQLiteDocuments, query: str) -> None:
    await documents.search(query, 5)
    assert len(await documents.list()) == 2


async def test_as_many_as_are_wanted(documents: SQLiteDocuments) -> None:
    assert len(await documents.search("cost", 1)) == 1 and len(await documents.search("costs", 5)) == 2


async def test_many_at_once(documents: SQLiteDocuments) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(documents.put(f"n{number}", "N", f"number {number}"))
            group.create_task(documents.search("number", 5))
    assert len(await documents.list()) == 22


async def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        SQLiteDocuments(tmp_path)
    (tmp_path / "text").write_text("no database, but long enough to be taken for one by mistake" * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        SQLiteDocuments(tmp_path / "text")
    documents = SQLiteDocuments()
    with pytest.raises(InvalidInput, match="needs an id"):
        await documents.put("", "", "")
    await documents.aclose()
    with pytest.raises(StoreError):
        await documents.list()
