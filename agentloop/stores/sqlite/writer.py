"""The one thread that talks to a database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from agentloop.errors import Closed, InvalidInput
from agentloop.guard.logs import logger
from agentloop.stores.sqlite.connection import connect, explained, unreadable

__all__ = ["Writer"]

P = ParamSpec("P")
T = TypeVar("T")

_log = logger(__name__)


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
        return await self._hand_over(lambda: work(self._connection(), *args, **kwargs))

    async def aclose(self) -> None:
        """Ends after the work handed over so far. May be called more than once."""
        if self._end is None:
            self._end = self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(self._end))

    def _hand_over(self, work: Callable[[], T]) -> asyncio.Future[T]:
        # A future of the loop's own: its cancellation, unlike that of a task or an executor's future,
        # reaches nothing but the one who waits.
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._thread.submit(self._work, work, loop, future)
        return future

    def _work(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop, future: asyncio.Future[T]) -> None:
        try:
            result = work()
        except BaseException as error:  # whatever it was, its caller gets it
            answer = partial(_fail, future, self._named(error))
        else:
            answer = partial(_succeed, future, result)
        try:
            loop.call_soon_threadsafe(answer)
        except RuntimeError:
            _log.debug("An event loop was closed before its work in %s was done.", self._path)

    def _named(self, error: BaseException) -> BaseException:
        if isinstance(error, (sqlite3.Error, OSError)):
            named: BaseException = explained(self._path, error)
        elif isinstance(error, UnicodeEncodeError):
            named = InvalidInput("An id holds half of a surrogate pair; choose one of whole characters.")
        elif isinstance(error, OverflowError):
            named = InvalidInput("A number has more than 63 bits; the database keeps none of that size.")
        elif isinstance(error, ValueError):
            named = unreadable(self._path, error)
        else:
            return error
        named.__cause__ = error
        return named

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = connect(self._path)
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if future.done():
        _log.warning("A write whose caller was cancelled failed: %s", error)
    else:
        future.set_exception(error)
