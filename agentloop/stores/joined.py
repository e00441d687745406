"""One store out of several: bring your own for some of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self, TypeVar, cast

from agentloop.errors import Closed, StaleEpoch, StoreError, UnknownSession
from agentloop.events import LIVE_ONLY, RunEvent
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.records import RunRecord, Session, Status, Step
from agentloop.stores.base import (
    EventStore,
    GrantStore,
    QuestionStore,
    RunStore,
    SessionCatalog,
    SessionStore,
    SessionSummary,
    StepStore,
    Store,
)
from agentloop.stores.lease import refuse_owned
from agentloop.stores.listing import summarised
from agentloop.stores.memory import MemoryStore

__all__ = ["WRITE_S", "JoinedStore"]

WRITE_S = 20.0
"""Seconds that a cancelled caller, or `aclose`, waits for a write that has begun."""

T = TypeVar("T")


class JoinedStore:
    """Implements `Store` over parts. What is not given is kept in `rest`, by default one `MemoryStore`.

    Parts that are one object keep its promises. Across different objects this store checks epoch and `seq`
    first and writes a step before its events: a crash between the two leaves a step whose events are missing,
    never the other way round. To list sessions the part `sessions` needs the methods of `SessionCatalog`, to
    delete one every part needs `delete_session`. `aclose` closes each part that has one.
    """

    def __init__(
        self,
        *,
        sessions: SessionStore | None = None,
        steps: StepStore | None = None,
        events: EventStore | None = None,
        runs: RunStore | None = None,
        grants: GrantStore | None = None,
        questions: QuestionStore | None = None,
        rest: Store | None = None,
    ) -> None:
        others: Store = rest or MemoryStore()
        self._sessions: SessionStore = sessions or others
        self._steps: StepStore = steps or others
        self._events: EventStore = events or others
        self._runs: RunStore = runs or others
        self._grants: GrantStore = grants or others
        self._questions: QuestionStore = questions or others
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def durable(self) -> bool:
        """As the part that keeps sessions."""
        return self._sessions.durable

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the parts after the writes begun so far. May be called more than once."""
        self._closed = True
        if self._writes:
            await asyncio.wait(self._writes, timeout=WRITE_S)
        async with AsyncExitStack() as stack:
            for part in self._parts():
                if hasattr(part, "aclose"):
                    stack.push_async_callback(part.aclose)

    def _parts(self) -> list[Any]:
        parts = (self._sessions, self._steps, self._events, self._runs, self._grants, self._questions)
        return list({id(part): part for part in parts}.values())

    def _open(self) -> None:
        if self._closed:
            raise Closed("This store is closed; make a new JoinedStore.")

    # Sessions

    async def create_session(self, session: Session) -> Session:
        """See `SessionStore.create_session`."""
        self._open()
        return await self._sessions.create_session(session)

    async def get_session(self, session_id: str) -> Session | None:
        """See `SessionStore.get_session`."""
        self._open()
        return await self._sessions.get_session(session_id)

    async def save_carry(self, session_id: str, carry: str | None) -> None:
        """See `SessionStore.save_carry`."""
        self._open()
        await self._sessions.save_carry(session_id, carry)

    async def set_session_status(self, session_id: str, status: Status) -> None:
        """See `SessionStore.set_session_status`."""
        self._open()
        await self._sessions.set_session_status(session_id, status)

    async def save_state(self, session_id: str, driver_state: bytes) -> None:
        """See `SessionStore.save_state`."""
        self._open()
        await self._sessions.save_state(session_id, driver_state)

    async def load_state(self, session_id: str) -> bytes | None:
        """See `SessionStore.load_state`."""
        self._open()
        return await self._sessions.load_state(session_id)

    # The catalog

    async def list_sessions(self, limit: int = 0) -> tuple[SessionSummary, ...]:
        """See `SessionCatalog.list_sessions`; reads each listed session's history where that is another part."""
        listed = await self._catalog().list_sessions(limit)
        if _same(self._steps, self._sessions) and _same(self._runs, self._sessions):
            return listed
        return tuple([await self._counted(summary.session) for summary in listed])

    async def most_recent_session(self) -> str | None:
        """See `SessionCatalog.most_recent_session`."""
        return await self._catalog().most_recent_session()

    async def find_session(self, prefix: str) -> str:
        """See `SessionCatalog.find_session`."""
        return await self._catalog().find_session(prefix)

    async def delete_session(self, session_id: str) -> None:
        """See `SessionCatalog.delete_session`. Raises `StoreError`, and deletes nothing, when a part cannot."""
        self._open()
        parts = self._parts()
        unable = [type(part).__name__ for part in parts if not hasattr(part, "delete_session")]
        if unable:
            raise StoreError(f"{', '.join(unable)} cannot delete sessions; give it a method delete_session(id).")
        refuse_owned(await self._runs.runs(session_id))
        await self._finish(self._delete(parts, session_id))

    async def _delete(self, parts: Sequence[SessionCatalog], session_id: str) -> None:
        known = await self._sessions.get_session(session_id) is not None
        for part in parts:
            try:
                await part.delete_session(session_id)
            except UnknownSession:
                pass  # a part without the session's own row has deleted the rest all the same
        if not known:
            raise UnknownSession(f"No session has the id {session_id!r}.")

    def _catalog(self) -> SessionCatalog:
        self._open()
        if not hasattr(self._sessions, "list_sessions"):
            raise StoreError(
                f"{type(self._sessions).__name__} cannot list sessions; give it the methods of SessionCatalog."
            )
        return cast(SessionCatalog, self._sessions)

    async def _counted(self, session: Session) -> SessionSummary:
        steps = await self._steps.last_steps(session.session_id, 0)
        return summarised(session, steps, await self._runs.runs(session.session_id))

    # Steps and events

    async def append_step(self, step: Step, *, events: Sequence[RunEvent] = (), epoch: int | None = None) -> Step:
        """See `StepStore.append_step`."""
        self._open()
        return await self._finish(self._append_step(step, tuple(events), epoch))

    async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_steps`."""
        self._open()
        return await self._steps.last_steps(session_id, n)

    async def last_summaries(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_summaries`."""
        self._open()
        return await self._steps.last_summaries(session_id, n)

    async def append_events(self, events: Sequence[RunEvent], *, epoch: int | None = None) -> None:
        """See `EventStore.append_events`."""
        self._open()
        await self._finish(self._append_events(tuple(events), epoch))

    async def events(self, run_id: str, *, after: int = 0, limit: int = 0) -> tuple[RunEvent, ...]:
        """See `EventStore.events`."""
        self._open()
        return await self._events.events(run_id, after=after, limit=limit)

    async def last_seq(self, run_id: str) -> int:
        """See `EventStore.last_seq`."""
        self._open()
        return await self._events.last_seq(run_id)

    async def _append_step(self, step: Step, events: Sequence[RunEvent], epoch: int | None) -> Step:
        if not _same(self._steps, self._runs):
            await self._refuse_stale({step.run_id, *(event.run_id for event in events)}, epoch)
        if _same(self._steps, self._events):
            return await self._steps.append_step(step, events=events, epoch=epoch)
        await self._refuse_gaps(events)
        kept = await self._steps.append_step(step, epoch=epoch)
        if events:
            await self._append_events(events, epoch)
        return kept

    async def _append_events(self, events: Sequence[RunEvent], epoch: int | None) -> None:
        if not _same(self._events, self._runs):
            await self._refuse_stale({event.run_id for event in events}, epoch)
        await self._events.append_events(events, epoch=epoch)

    async def _refuse_stale(self, run_ids: set[str], epoch: int | None) -> None:
        for run_id in run_ids if epoch is not None else ():
            run = await self._runs.get_run(run_id)
            if run is not None and epoch is not None and epoch < run.epoch:
                raise StaleEpoch(f"Run {run_id!r} is at epoch {run.epoch} now; a write of epoch {epoch} is refused.")

    async def _refuse_gaps(self, events: Sequence[RunEvent]) -> None:
        newest = {event.run_id: await self._events.last_seq(event.run_id) for event in events}
        for event in events:
            newest[event.run_id] += 1
            if event.type in LIVE_ONLY or event.seq != newest[event.run_id]:
                raise StoreError(
                    f"Run {event.run_id!r} needs a stored event with seq {newest[event.run_id]},"
                    f" not {event.type!r} with {event.seq}."
                )

    async def _finish(self, write: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(write)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task], timeout=WRITE_S)  # what the caller reads next must see it
            raise

    # Runs

    async def create_run(self, run: RunRecord) -> RunRecord:
        """See `RunStore.create_run`."""
        self._open()
        return await self._runs.create_run(run)

    async def get_run(self, run_id: str) -> RunRecord | None:
        """See `RunStore.get_run`."""
        self._open()
        return await self._runs.get_run(run_id)

    async def save_run(self, run: RunRecord) -> None:
        """See `RunStore.save_run`."""
        self._open()
        await self._runs.save_run(run)

    async def claim_run(self, run_id: str, owner: str, *, now: float | None = None) -> RunRecord:
        """See `RunStore.claim_run`."""
        self._open()
        return await self._runs.claim_run(run_id, owner, now=now)

    async def heartbeat(self, run_id: str, epoch: int) -> None:
        """See `RunStore.heartbeat`."""
        self._open()
        await self._runs.heartbeat(run_id, epoch)

    async def last_run(self, session_id: str) -> RunRecord | None:
        """See `RunStore.last_run`."""
        self._open()
        return await self._runs.last_run(session_id)

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """See `RunStore.runs`."""
        self._open()
        return await self._runs.runs(session_id)

    # Grants and questions

    async def add_grant(self, session_id: str, grant: Grant) -> None:
        """See `GrantStore.add_grant`."""
        self._open()
        await self._grants.add_grant(session_id, grant)

    async def grants(self, session_id: str) -> tuple[Grant, ...]:
        """See `GrantStore.grants`."""
        self._open()
        return await self._grants.grants(session_id)

    async def revoke_grants(self, session_id: str) -> int:
        """See `GrantStore.revoke_grants`."""
        self._open()
        return await self._grants.revoke_grants(session_id)

    async def add_question(self, question: Question) -> None:
        """See `QuestionStore.add_question`."""
        self._open()
        await self._questions.add_question(question)

    async def answer_question(self, question_id: str, answer: Answer) -> bool:
        """See `QuestionStore.answer_question`."""
        self._open()
        return await self._questions.answer_question(question_id, answer)

    async def get_question(self, question_id: str) -> Question | None:
        """See `QuestionStore.get_question`."""
        self._open()
        return await self._questions.get_question(question_id)

    async def open_questions(self, run_id: str) -> tuple[Question, ...]:
        """See `QuestionStore.open_questions`."""
        self._open()
        return await self._questions.open_questions(run_id)


def _same(one: object, other: object) -> bool:
    return one is other
