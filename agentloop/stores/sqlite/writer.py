"""The one thread that talks to a database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from agentloop.errors import Closed, InvalidInput
from agentloop.stores.sqlite.connection import connect, explained

__all__ = ["Writer"]

P = ParamSpec("P")
T = TypeVar("T")


class Writer:
    """Runs work on its own connection, one piece after the other, in the order of the calls.

    The connection is opened by the first piece. Work that was handed over is done even when
    its caller is cancelled. May be used from any event loop, also from several.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agentloop-store")
        self._db: sqlite3.Connection | None = None
        self._end: Future[None] | None = None

    async def do(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(connection, ...)`. Raises `StoreError` for what the database refuses, `Closed` after `aclose`."""
        if self._end is not None:
            raise Closed(f"This store is closed; make a new SQLiteStore({self._path!r}).")
        done = self._thread.submit(self._do, lambda db: work(db, *args, **kwargs))
        return await asyncio.shield(asyncio.wrap_future(done))

    async def aclose(self) -> None:
        """Ends after the work handed over so far. May be called more than once."""
        if self._end is None:
            self._end = self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(self._end))

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._db is None:
                self._db = connect(self._path)
            return work(self._db)
        except (sqlite3.Error, OSError) as error:
            raise explained(self._path, error) from error
        except UnicodeEncodeError as error:
            raise InvalidInput("An id holds half of a surrogate pair; choose one of whole characters.") from error

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
