"""Keeps a session's sandbox and packs from one run to the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.errors import Closed, EndRun, EndTurn, InvalidInput
from agentloop.guard.logs import logger
from agentloop.records import Json, Scope
from agentloop.sandbox.builder import BuiltSandbox, SandboxBuilder

__all__ = ["SandboxPool"]

_CLOSE_S: Final = 15.0
_CANCEL_S: Final = 5.0
_PER_RUN: Final = frozenset({"run_id", "message_id", "start_url", "state", "resumed"})
_PARTS: Final = ("policy", "llm", "http", "ask", "artifacts")


class SandboxPool:
    """A `SandboxBuilder` that keeps what another one built: a session's open browser outlives its run.

    There is one build for each session and scope; a run without a session id gets one of its own. Runs of one
    session wait for each other, in order, whatever their scope; those of different sessions do not. What packs
    captured of the `BuildContext` follows the run that is served: `emit` after its end goes nowhere, and asking
    a person or a model then raises `Closed`. A copy made by `dataclasses.replace` has the first run's ids.

    A build serves only runs that may do the same: with another user, `enabled`, `allow`, workspace, settings or
    origin of the start URL, or a run that another process began, it is closed and made afresh. So it is when a
    pack's `renew` fails. A run's bad end does no harm: the sandbox replaces its process.

    What had no run for `idle_s` seconds, measured with `now`, is closed by a sweep every `sweep_s`. The pool belongs
    to one event loop at a time. After `aclose` its `build` raises `Closed`.
    """

    def __init__(
        self,
        builder: SandboxBuilder,
        *,
        idle_s: float = 1800.0,
        sweep_s: float = 60.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if idle_s < 0 or sweep_s <= 0:
            raise InvalidInput("idle_s must be at least 0 and sweep_s more than 0")
        self._builder = builder
        self._idle_s = idle_s
        self._sweep_s = sweep_s
        self._now = now
        self._seats: dict[str, _Seat] = {}
        self._open: set[_Kept] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        """How many builds are kept, those in use included."""
        return sum(kept.usable for seat in self._seats.values() for kept in seat.kept.values())

    def __bool__(self) -> bool:
        # An empty pool is a builder all the same: `given or default` must not pass it over.
        return True

    @asynccontextmanager
    async def build(self, context: BuildContext) -> AsyncIterator[BuiltSandbox]:
        """What is kept for the context's session and scope, or a new build; leaving the block gives it back.

        Raises `Closed` after `aclose`, else what the wrapped builder raises; a build that failed is not kept.
        """
        self._check_open()
        if not context.session_id:
            async with self._builder.build(context) as built:
                yield built
            return
        async with self._seat(context.session_id) as seat:
            kept = await self._renewed(seat, context) or await self._built(seat, context)
            try:
                yield kept.built
            finally:
                kept.rest(self._now())

    async def evict(self, session_id: str) -> int:
        """Closes what is kept for a session, once its run under way and those that wait already are over; returns
        how many builds. Not to be awaited by the run itself."""
        if session_id not in self._seats:
            return 0
        async with self._seat(session_id) as seat:
            return await _close(seat.take(lambda kept: True))

    async def evict_idle(self) -> int:
        """Closes what had no run for `idle_s` seconds; returns how many builds. Waits for no run."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._evict_idle(session_id)) for session_id in self._seats]
        return sum(task.result() for task in tasks)

    async def aclose(self) -> None:
        """Closes everything, also what is in use: a script that is running ends as died, later ones raise `Closed`."""
        self._closed = True
        self._seats = {session_id: seat for session_id, seat in self._seats.items() if seat.users}
        if self._sweeper is not None:
            self._sweeper.cancel()
        await _close(self._open)
        if self._sweeper is not None and not self._sweeper.done():
            await asyncio.wait([self._sweeper], timeout=_CANCEL_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the sandbox pool is closed: make another one for further runs")

    @asynccontextmanager
    async def _seat(self, session_id: str) -> AsyncIterator[_Seat]:
        seat = self._seats.setdefault(session_id, _Seat())
        seat.users += 1
        try:
            async with seat.lock:
                yield seat
        finally:
            seat.users -= 1
            if not seat.users and not seat.kept:
                del self._seats[session_id]

    async def _renewed(self, seat: _Seat, context: BuildContext) -> _Kept | None:
        kept = seat.kept.get(context.scope)
        if kept is None:
            return None
        try:
            if kept.fits(context):
                await kept.renew(context)
                return kept
        except (EndRun, EndTurn, asyncio.CancelledError):
            kept.rest(self._now())
            raise
        except Exception as error:  # the border: a pack is foreign code, and a new build may do what this one cannot
            why = str(error) or type(error).__name__
            await context.emit("warning", content=f"what was kept of the session had to be built anew: {why}")
        seat.kept.pop(context.scope, None)
        await _close([kept])
        return None

    async def _built(self, seat: _Seat, context: BuildContext) -> _Kept:
        self._check_open()
        kept = _Kept(self._builder, context)
        self._open.add(kept)
        kept.task.add_done_callback(lambda _: self._open.discard(kept))
        try:
            await kept.ready()
            self._check_open()
        except BaseException:
            await _close([kept])
            raise
        seat.kept[context.scope] = kept
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep())
        return kept

    async def _sweep(self) -> None:
        while self._seats:
            await asyncio.sleep(self._sweep_s)
            await self.evict_idle()

    async def _evict_idle(self, session_id: str) -> int:
        seat = self._seats.get(session_id)
        if seat is None or seat.lock.locked():
            return 0
        async with self._seat(session_id) as seat:
            latest = self._now() - self._idle_s
            return await _close(seat.take(lambda kept: kept.idle_since <= latest or not kept.usable))


@dataclass(eq=False)
class _Seat:
    """A session's place: `lock` is held by the run it serves, `users` counts those that wait as well."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    kept: dict[Scope, _Kept] = field(default_factory=dict)

    def take(self, wanted: Callable[[_Kept], bool]) -> list[_Kept]:
        return [self.kept.pop(scope) for scope, kept in list(self.kept.items()) if wanted(kept)]


class _Kept:
    """One build, held open by a task of its own: the run that began it is not the one that is there at its end."""

    def __init__(self, builder: SandboxBuilder, context: BuildContext) -> None:
        self.idle_since = 0.0
        self._served = _Served(context)
        self._fixed = _fixed(context)
        self._origin = _origin(context.start_url)
        self._built: asyncio.Future[BuiltSandbox] = asyncio.get_running_loop().create_future()
        self._leaving = asyncio.Event()
        self.task = asyncio.create_task(self._keep(builder))

    @property
    def built(self) -> BuiltSandbox:
        """What was built; only after `ready`."""
        return self._built.result()

    @property
    def usable(self) -> bool:
        """False once it closes, and when its event loop has ended."""
        return not self.task.done() and not self._leaving.is_set()

    async def _keep(self, builder: SandboxBuilder) -> None:
        stack = AsyncExitStack()
        built = await stack.enter_async_context(builder.build(_following(self._served)))
        try:
            self._built.set_result(built)
            await self._leaving.wait()
        finally:
            await _left(stack)

    async def ready(self) -> None:
        """Waits for the build. Raises what the builder raises, `Closed` when the pool is closed meanwhile."""
        await asyncio.wait((self.task, self._built), return_when=asyncio.FIRST_COMPLETED)
        if self._built.done():
            return
        if self.task.cancelled():
            raise Closed("the sandbox pool was closed while it built")
        self.task.result()

    def fits(self, context: BuildContext) -> bool:
        """Whether a build made for this context now would be allowed neither less nor more."""
        return self.usable and not context.resumed and self._fixed == _fixed(context) and self._goes_to(context)

    def _goes_to(self, context: BuildContext) -> bool:
        if context.start_url is None:
            return True
        if self._origin not in (None, _origin(context.start_url)):
            return False
        return any(pack.renew for pack in self.built.packs)

    async def renew(self, context: BuildContext) -> None:
        """Serves another run. Raises what a pack's `renew` raises."""
        self._served.context = context
        for pack in self.built.packs:
            if pack.receipts:
                pack.receipts()
            if pack.renew:
                await pack.renew()

    def rest(self, now: float) -> None:
        """Serves nobody from here on."""
        self.idle_since = now
        self._served.rest()

    def leave(self) -> None:
        """Begins to close."""
        self._leaving.set()
        if not self._built.done():
            self.task.cancel()


async def _close(kept: Iterable[_Kept]) -> int:
    closing = list(kept)
    for one in closing:
        one.leave()
    if tasks := [one.task for one in closing if not one.task.done()]:
        await asyncio.wait(tasks, timeout=_CLOSE_S + _CANCEL_S)
    return len(closing)


async def _left(stack: AsyncExitStack) -> None:
    try:
        async with asyncio.timeout(_CLOSE_S):
            await stack.aclose()
    except Exception as error:  # the border: what was built is foreign code, and nobody waits for this error
        logger(__name__).warning("a kept sandbox did not close: %s", error or type(error).__name__)


def _fixed(context: BuildContext) -> tuple[object, ...]:
    """What packs may have settled on when they were built, so that another run must bring the same."""
    return (
        context.user_id,
        context.secrets or None,
        None if context.enabled is None else frozenset(context.enabled),
        None if context.allow is None else frozenset(context.allow),
        context.workspace,
        dict(context.settings),
        tuple(getattr(context, name) is None for name in _PARTS),
    )


def _origin(url: str | None) -> tuple[str, str] | None:
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


class _Served:
    """The run that a build serves now."""

    def __init__(self, context: BuildContext) -> None:
        self.context = context

    def rest(self) -> None:
        """Lets go of the run: its ids stay, what it could do does not."""
        ended = self.context
        self.context = BuildContext(
            run_id=ended.run_id,
            session_id=ended.session_id,
            message_id=ended.message_id,
            user_id=ended.user_id,
            scope=ended.scope,
        )

    def part(self, name: str) -> Any:
        part = getattr(self.context, name)
        if part is None:
            raise Closed(f"{name} was used after its run had ended")
        return part

    async def emit(self, type: str, **fields: Json) -> None:
        await self.context.emit(type, **fields)


class _Part:
    """A collaborator of the run that is served now."""

    def __init__(self, served: _Served, name: str) -> None:
        self._served = served
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._served.part(self._name), name)

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self._served.part(self._name)(*values, **named)


class _RunClock(Clock):
    """The clock of the run that is served now; what began on one run's clock ends on it."""

    def __init__(self, served: _Served) -> None:
        super().__init__()
        self._served = served

    def now(self) -> float:
        return self._served.context.clock.now()

    def pause(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return self._served.context.clock.pause()

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[asyncio.Timeout]:
        return self._served.context.clock.timeout(seconds)

    async def until(self, deadline: float) -> None:
        await self._served.context.clock.until(deadline)


class _Following(BuildContext):
    """A context whose per-run values are those of the run that is served; copies of it stay as they are."""

    _served: _Served | None

    def __init__(self, *, served: _Served | None = None, **values: Any) -> None:
        super().__init__(**values)
        object.__setattr__(self, "_served", served)

    def __getattribute__(self, name: str) -> Any:
        if name in _PER_RUN and (served := object.__getattribute__(self, "_served")) is not None:
            return getattr(served.context, name)
        return object.__getattribute__(self, name)


def _following(served: _Served) -> BuildContext:
    first = served.context
    values = {one.name: getattr(first, one.name) for one in fields(first)}
    parts = {name: _Part(served, name) for name in _PARTS if values[name] is not None}
    return _Following(served=served, **values | parts | {"emit": served.emit, "clock": _RunClock(served)})
