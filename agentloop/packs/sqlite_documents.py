"""Documents in one SQLite file with a full-text index: a backend for the packs `search` and `documents`."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from agentloop.errors import InvalidInput, StoreError
from agentloop.packs.documents import Document
from agentloop.packs.search import Passage

__all__ = ["SQLiteDocuments"]

T = TypeVar("T")

_PASSAGE: Final = 1_500
_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 64
_SCHEMA: Final = """
create table if not exists document (id text primary key, title text not null, body text not null);
create virtual table if not exists passage using fts5(
    body, document unindexed, number unindexed, tokenize='porter unicode61'
);
"""
_LISTED: Final = """
select id, title, (select count(*) from passage where passage.document = document.id) from document order by id
"""
_FOUND: Final = """
select document, title, number, passage.body, bm25(passage) as rank from passage join document on id = document
where passage match ? order by rank limit ?
"""


class SQLiteDocuments:
    """Texts by id. `path` ":memory:" keeps them for this object alone.

    Passages are found by their words, whatever the order; the more and the rarer ones they share with the query, the
    better they fit. Raises `StoreError` for a file that cannot be opened or used.
    """

    def __init__(self, path: str | os.PathLike[str] = ":memory:") -> None:
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(os.fspath(path), check_same_thread=False, isolation_level=None)
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise StoreError(f"the documents in {os.fspath(path)} cannot be used: {error}") from error

    async def put(self, id: str, title: str, text: str) -> None:
        """Adds a document, or puts another in its place. Raises `InvalidInput` for an empty id."""
        if not id:
            raise InvalidInput("a document needs an id")
        await self._work(lambda db: _put(db, id, title, text))

    async def remove(self, id: str) -> None:
        """Takes a document away; one that is not there is no error."""
        await self._work(lambda db: _remove(db, id))

    async def list(self) -> Sequence[Document]:
        """See `DocumentBackend`; sorted by id."""
        rows = await self._work(lambda db: db.execute(_LISTED).fetchall())
        return [Document(id=id, title=title, chunk_count=count) for id, title, count in rows]

    async def read(self, id: str) -> str:
        """See `DocumentBackend`."""
        row = await self._work(lambda db: db.execute("select body from document where id = ?", [id]).fetchone())
        return row[0] if row else ""

    async def search(self, query: str, top_k: int) -> Sequence[Passage]:
        """See `SearchBackend`. A query without a word finds nothing."""
        words = _WORD.findall(query)[:_MOST_WORDS]
        if not words:
            return []
        wanted = " OR ".join(f'"{word}"' for word in words)
        rows = await self._work(lambda db: db.execute(_FOUND, [wanted, top_k]).fetchall())
        return [
            Passage(document_id=id, document_title=title, chunk_index=number, content=body, score=-rank)
            for id, title, number, body, rank in rows
        ]

    async def aclose(self) -> None:
        """Closes the file, after whatever is under way in it."""
        await self._work(sqlite3.Connection.close)

    async def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def locked() -> T:
            with self._lock:
                return work(self._db)

        try:
            return await asyncio.to_thread(locked)
        except sqlite3.Error as error:
            raise StoreError(f"the documents cannot be used: {error}") from error


def _put(db: sqlite3.Connection, id: str, title: str, text: str) -> None:
    with db:
        db.execute("begin immediate")
        _clear(db, id)
        db.execute("insert into document values (?, ?, ?)", [id, title, text])
        rows = [(passage, id, number) for number, passage in enumerate(_passages(text))]
        db.executemany("insert into passage (body, document, number) values (?, ?, ?)", rows)


def _remove(db: sqlite3.Connection, id: str) -> None:
    with db:
        db.execute("begin immediate")
        _clear(db, id)


def _clear(db: sqlite3.Connection, id: str) -> None:
    db.execute("delete from document where id = ?", [id])
    db.execute("delete from passage where document = ?", [id])


def _passages(text: str) -> Iterator[str]:
    """Paragraphs together, as many as fit into a passage; a longer one is cut between words."""
    held = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for piece in _pieces(paragraph.strip()):
            if held and len(held) + len(piece) > _PASSAGE:
                yield held
                held = ""
            held = f"{held}\n\n{piece}" if held else piece
    if held:
        yield held


def _pieces(paragraph: str) -> Iterator[str]:
    while len(paragraph) > _PASSAGE:
        end = paragraph.rfind(" ", _PASSAGE // 2, _PASSAGE)
        end = end if end > 0 else _PASSAGE
        yield paragraph[:end]
        paragraph = paragraph[end:].lstrip()
    if paragraph:
        yield paragraph
