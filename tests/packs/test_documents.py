from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from agentloop.guard import Decision, ToolCall
from agentloop.packs.documents import Document, documents_capability
from tests.packs.scripts import scripts_with


@dataclass
class Library:
    """A backend with texts by id."""

    texts: Mapping[str, str] = field(default_factory=dict)
    read_ids: list[str] = field(default_factory=list)

    async def list(self) -> Sequence[Document]:
        return [Document(id=id, title=f"About {id}", chunk_count=len(text)) for id, text in self.texts.items()]

    async def read(self, id: str) -> str:
        self.read_ids.append(id)
        return self.texts.get(id, "")


async def test_documents_are_listed_and_read() -> None:
    async with scripts_with(documents_capability(Library({"d1": "Lamps cost 12."}))) as scripts:
        assert await scripts.value("stores.list()") == [{"id": "d1", "title": "About d1", "chunkCount": 14}]
        assert await scripts.value("stores.read('d1')") == "Lamps cost 12."
        assert await scripts.value("stores.read('d1', {offset: 6})") == "cost 12."
        assert await scripts.value("stores.read('nowhere')") == ""
        assert "stores" in await scripts.value("help('stores')")
    assert scripts.events[0]["args"] == {"kind": "document_read", "id": "d1"}


async def test_an_empty_shelf_is_an_empty_list() -> None:
    async with scripts_with(documents_capability(Library())) as scripts:
        assert await scripts.value("stores.list()") == []


@pytest.mark.parametrize("call", ["stores.read()", "stores.read('')", "stores.read(null)"])
async def test_without_an_id_nothing_is_read(call: str) -> None:
    library = Library({"": "x"})
    async with scripts_with(documents_capability(library)) as scripts:
        assert "needs an id" in await scripts.error(call)
        assert "must be a string" in await scripts.error("stores.read(3)")
    assert not library.read_ids


async def test_without_a_backend_each_call_says_so() -> None:
    async with scripts_with(documents_capability(None)) as scripts:
        assert "no document backend" in await scripts.error("stores.list()")
        assert "no document backend" in await scripts.error("stores.read('x')")


async def test_what_is_long_is_cut_and_can_be_read_on() -> None:
    text = "a" * 1024 * 1024 + "the end"
    library = Library({f"d{n}": text for n in range(510)})
    async with scripts_with(documents_capability(library)) as scripts:
        assert await scripts.value("stores.list().length") == 500
        assert "more documents than the 500" in scripts.notes()
        assert await scripts.value("stores.read('d1').length") == 1024 * 1024
        assert 'stores.read: "d1" has 1048583 characters; go on with {offset: 1048576}' in scripts.notes()
        assert await scripts.value("stores.read('d1', {offset: 1048576})") == "the end"
        assert not scripts.notes()


async def test_a_backend_that_fails_or_takes_too_long_is_an_error() -> None:
    class Broken:
        async def list(self) -> Sequence[Document]:
            raise LookupError("the folder is gone")

        async def read(self, id: str) -> str:
            await asyncio.Event().wait()
            return ""

    async with scripts_with(documents_capability(Broken(), seconds=0.05)) as scripts:
        assert await scripts.error("stores.list()") == "LookupError: the folder is gone"
        assert "longer than 0.05 s" in await scripts.error("stores.read('x')")


@pytest.mark.parametrize("call", ["stores.list()", "stores.read('d1')"])
async def test_what_they_give_is_strangers_text(call: str) -> None:
    async with scripts_with(documents_capability(Library({"d1": "x"}))) as scripts:
        assert (await scripts.run(f"log({call})")).untrusted


async def test_a_policy_can_deny_them() -> None:
    class NoStores:
        async def check(self, call: ToolCall) -> Decision:
            return Decision(allowed=not call.tool.startswith("stores."), reason=f"no {call.tool} here")

    async with scripts_with(documents_capability(Library({"d1": "x"})), policy=NoStores()) as scripts:
        assert "no stores.list here" in await scripts.error("stores.list()")
        assert "no stores.read here" in await scripts.error("stores.read('d1')")
