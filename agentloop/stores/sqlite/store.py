"""The store that lasts: one SQLite file, any number of processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from agentloop.clock import utc_now
from agentloop.errors import InvalidInput
from agentloop.events import RunEvent
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.records import RunRecord, Session, Status, Step
from agentloop.stores.base import SessionSummary
from agentloop.stores.lease import created
from agentloop.stores.sqlite import catalog, history, permissions, runs, sessions
from agentloop.stores.sqlite.connection import MEMORY
from agentloop.stores.sqlite.rows import event_row, question_row, session_row, step_row
from agentloop.stores.sqlite.writer import Writer

__all__ = ["SQLiteStore"]


class SQLiteStore:
    """Implements `Store` in the file `path`, opened at first use; `:memory:` lasts as long as this object.

    A file that it makes has mode 0600, a folder that it makes 0700: browser states are secrets. Local disks
    only. Every call runs on one thread of the store's own; a write that has begun is finished also when its
    caller is cancelled. Steps, events, runs, grants and questions may name a session that this store does not
    know (see `JoinedStore`). Raises `InvalidInput` for an empty path; each method may raise `StoreError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if not name or "\0" in name:
            raise InvalidInput(f"{name!r} is no path of a database; give a file, or {MEMORY!r}.")
        self.path = name if name == MEMORY else str(Path(name).absolute())
        self._writer = Writer(self.path)

    @property
    def durable(self) -> bool:
        """True, unless all is in memory."""
        return self.path != MEMORY

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the file after the writes begun so far; every later call raises `Closed`. May be called twice."""
        await self._writer.aclose()

    # Sessions

    async def create_session(self, session: Session) -> Session:
        """See `SessionStore.create_session`."""
        now = utc_now()
        stamped = replace(session, created_at=session.created_at or now, updated_at=session.updated_at or now)
        return await self._writer.do(sessions.create, session_row(stamped), stamped.carry)

    async def get_session(self, session_id: str) -> Session | None:
        """See `SessionStore.get_session`."""
        return await self._writer.do(sessions.get, session_id)

    async def save_carry(self, session_id: str, carry: str | None) -> None:
        """See `SessionStore.save_carry`."""
        await self._writer.do(sessions.save_carry, session_id, carry)

    async def set_session_status(self, session_id: str, status: Status) -> None:
        """See `SessionStore.set_session_status`."""
        await self._writer.do(sessions.set_status, session_id, status)

    async def save_state(self, session_id: str, driver_state: bytes) -> None:
        """See `SessionStore.save_state`."""
        await self._writer.do(sessions.save_state, session_id, bytes(driver_state))

    async def load_state(self, session_id: str) -> bytes | None:
        """See `SessionStore.load_state`."""
        return await self._writer.do(sessions.load_state, session_id)

    # The catalog

    async def list_sessions(self, limit: int = 0) -> tuple[SessionSummary, ...]:
        """See `SessionCatalog.list_sessions`."""
        return await self._writer.do(catalog.summaries, limit)

    async def most_recent_session(self) -> str | None:
        """See `SessionCatalog.most_recent_session`."""
        return await self._writer.do(catalog.most_recent)

    async def find_session(self, prefix: str) -> str:
        """See `SessionCatalog.find_session`."""
        return await self._writer.do(catalog.find, prefix)

    async def delete_session(self, session_id: str) -> None:
        """See `SessionCatalog.delete_session`. The bytes of what was deleted are overwritten."""
        await self._writer.do(catalog.delete, session_id)

    # Steps and events

    async def append_step(self, step: Step, *, events: Sequence[RunEvent] = (), epoch: int | None = None) -> Step:
        """See `StepStore.append_step`. Raises `StoreError` too, and keeps nothing, when an event does not fit."""
        row = step_row(replace(step, created_at=step.created_at or utc_now()))
        names = {step.run_id, *(event.run_id for event in events)}
        rows = [event_row(event) for event in events]
        return await self._writer.do(history.append_step, row, rows, runs=names, epoch=epoch)

    async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_steps`."""
        return await self._writer.do(history.last_steps, session_id, n)

    async def last_summaries(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_summaries`."""
        return await self._writer.do(history.last_summaries, session_id, n)

    async def append_events(self, events: Sequence[RunEvent], *, epoch: int | None = None) -> None:
        """See `EventStore.append_events`; all of them are kept or none."""
        names = {event.run_id for event in events}
        rows = [event_row(event) for event in events]
        await self._writer.do(history.append_events, rows, runs=names, epoch=epoch)

    async def events(self, run_id: str, *, after: int = 0, limit: int = 0) -> tuple[RunEvent, ...]:
        """See `EventStore.events`."""
        return await self._writer.do(history.events_after, run_id, after, limit)

    async def last_seq(self, run_id: str) -> int:
        """See `EventStore.last_seq`."""
        return await self._writer.do(history.last_seq, run_id)

    # Runs

    async def create_run(self, run: RunRecord) -> RunRecord:
        """See `RunStore.create_run`."""
        stamped = created(run)
        await self._writer.do(runs.create, stamped)
        return stamped

    async def get_run(self, run_id: str) -> RunRecord | None:
        """See `RunStore.get_run`."""
        return await self._writer.do(runs.get, run_id)

    async def save_run(self, run: RunRecord) -> None:
        """See `RunStore.save_run`. What names the run and its owner stays. Raises `UnknownSession`."""
        await self._writer.do(runs.save, run)

    async def claim_run(self, run_id: str, owner: str, *, now: float | None = None) -> RunRecord:
        """See `RunStore.claim_run`."""
        return await self._writer.do(runs.claim, run_id, owner, now=now)

    async def heartbeat(self, run_id: str, epoch: int) -> None:
        """See `RunStore.heartbeat`."""
        await self._writer.do(runs.heartbeat, run_id, epoch)

    async def last_run(self, session_id: str) -> RunRecord | None:
        """See `RunStore.last_run`."""
        return await self._writer.do(runs.last, session_id)

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """See `RunStore.runs`."""
        return await self._writer.do(runs.of_session, session_id)

    # Grants and questions

    async def add_grant(self, session_id: str, grant: Grant) -> None:
        """See `GrantStore.add_grant`."""
        stamped = replace(grant, granted_at=grant.granted_at or utc_now())
        await self._writer.do(permissions.add_grant, session_id, stamped)

    async def grants(self, session_id: str) -> tuple[Grant, ...]:
        """See `GrantStore.grants`."""
        return await self._writer.do(permissions.grants, session_id)

    async def revoke_grants(self, session_id: str) -> int:
        """See `GrantStore.revoke_grants`."""
        return await self._writer.do(permissions.revoke, session_id)

    async def add_question(self, question: Question) -> None:
        """See `QuestionStore.add_question`. Raises `InvalidInput` when the id exists: an answer may stand there."""
        stamped = replace(question, asked_at=question.asked_at or utc_now())
        await self._writer.do(permissions.add_question, question_row(stamped))

    async def answer_question(self, question_id: str, answer: Answer) -> bool:
        """See `QuestionStore.answer_question`."""
        return await self._writer.do(permissions.answer, question_id, answer)

    async def get_question(self, question_id: str) -> Question | None:
        """See `QuestionStore.get_question`."""
        return await self._writer.do(permissions.get_question, question_id)

    async def open_questions(self, run_id: str) -> tuple[Question, ...]:
        """See `QuestionStore.open_questions`."""
        return await self._writer.do(permissions.open_questions, run_id)
