"""A store in memory: for tests, for `--ephemeral`, for embedding where nothing is to outlive the process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from agentloop.clock import utc_now
from agentloop.errors import Closed, InvalidInput, StaleEpoch, StoreError, UnknownSession
from agentloop.events import LIVE_ONLY, RunEvent
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.records import Json, RunRecord, Session, Status, Step
from agentloop.stores.base import SessionSummary
from agentloop.stores.lease import beating, claimed, created, refuse_owned, saved
from agentloop.stores.listing import chosen, summarised

__all__ = ["MemoryStore"]


class MemoryStore:
    """Implements `Store`. No method suspends, so each call is whole or not at all, also under cancellation.

    Mappings are copied on the way in and out, as JSON, so that what was kept cannot be changed
    from outside. Steps, events and grants may name a session or run that this store does not know.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._states: dict[str, bytes] = {}
        self._steps: dict[str, list[Step]] = {}
        self._events: dict[str, list[RunEvent]] = {}
        self._runs: dict[str, RunRecord] = {}
        self._grants: dict[str, dict[tuple[str, str], Grant]] = {}
        self._questions: dict[str, Question] = {}
        self._closed = False

    @property
    def durable(self) -> bool:
        """False."""
        return False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Forgets nothing, but every later call raises `Closed`. May be called more than once."""
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            raise Closed("This store is closed; make a new MemoryStore.")

    # Sessions

    async def create_session(self, session: Session) -> Session:
        """See `SessionStore.create_session`."""
        self._open()
        now = utc_now()
        stamped = replace(session, created_at=session.created_at or now, updated_at=session.updated_at or now)
        return self._sessions.setdefault(session.session_id, stamped)

    async def get_session(self, session_id: str) -> Session | None:
        """See `SessionStore.get_session`."""
        self._open()
        return self._sessions.get(session_id)

    async def save_carry(self, session_id: str, carry: str | None) -> None:
        """See `SessionStore.save_carry`."""
        self._sessions[session_id] = replace(self._session(session_id), carry=carry, updated_at=utc_now())

    async def set_session_status(self, session_id: str, status: Status) -> None:
        """See `SessionStore.set_session_status`."""
        self._sessions[session_id] = replace(self._session(session_id), status=status, updated_at=utc_now())

    async def save_state(self, session_id: str, driver_state: bytes) -> None:
        """See `SessionStore.save_state`. Raises `UnknownSession`."""
        self._session(session_id)
        self._states[session_id] = bytes(driver_state)
        self._touch(session_id)

    async def load_state(self, session_id: str) -> bytes | None:
        """See `SessionStore.load_state`."""
        self._open()
        return self._states.get(session_id)

    def _touch(self, session_id: str) -> None:
        if session_id in self._sessions:
            self._sessions[session_id] = replace(self._sessions[session_id], updated_at=utc_now())

    def _session(self, session_id: str) -> Session:
        self._open()
        if session_id not in self._sessions:
            raise UnknownSession(f"No session has the id {session_id!r}; create it first.")
        return self._sessions[session_id]

    # The catalog

    async def list_sessions(self, limit: int = 0) -> tuple[SessionSummary, ...]:
        """See `SessionCatalog.list_sessions`."""
        self._open()
        listed = self._by_recency()
        return tuple(self._summary(session) for session in (listed[:limit] if limit > 0 else listed))

    async def most_recent_session(self) -> str | None:
        """See `SessionCatalog.most_recent_session`."""
        self._open()
        return next((session.session_id for session in self._by_recency()), None)

    async def find_session(self, prefix: str) -> str:
        """See `SessionCatalog.find_session`."""
        self._open()
        return chosen(prefix, sorted(name for name in self._sessions if name.startswith(prefix)))

    async def delete_session(self, session_id: str) -> None:
        """See `SessionCatalog.delete_session`."""
        self._open()
        refuse_owned(run for run in self._runs.values() if run.session_id == session_id)
        known = self._sessions.pop(session_id, None)
        self._states.pop(session_id, None)
        self._steps.pop(session_id, None)
        self._grants.pop(session_id, None)
        self._runs = {run_id: run for run_id, run in self._runs.items() if run.session_id != session_id}
        others = {run_id: _not_of(session_id, events) for run_id, events in self._events.items()}
        self._events = {run_id: events for run_id, events in others.items() if events}
        self._questions = {id: q for id, q in self._questions.items() if q.session_id != session_id}
        if known is None:
            raise UnknownSession(f"No session has the id {session_id!r}.")

    def _by_recency(self) -> list[Session]:
        newest_first = reversed(self._sessions.values())
        return sorted(newest_first, key=lambda session: session.updated_at, reverse=True)

    def _summary(self, session: Session) -> SessionSummary:
        steps = self._steps.get(session.session_id, [])
        runs = [run for run in self._runs.values() if run.session_id == session.session_id]
        return summarised(session, steps, runs)

    # Steps and events

    async def append_step(self, step: Step, *, events: Sequence[RunEvent] = (), epoch: int | None = None) -> Step:
        """See `StepStore.append_step`. Raises `StoreError` too, and keeps nothing, when an event does not fit."""
        self._may_write({step.run_id, *(event.run_id for event in events)}, epoch)
        stamped = replace(
            step,
            index=len(self._steps.get(step.session_id, ())),
            created_at=step.created_at or utc_now(),
            tool_args=_copied(step.tool_args),
        )
        self._keep_events(events)
        self._steps.setdefault(step.session_id, []).append(stamped)
        self._touch(step.session_id)
        return _step_copy(stamped)

    async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_steps`."""
        self._open()
        steps = self._steps.get(session_id, [])
        return tuple(_step_copy(step) for step in (steps[-n:] if n > 0 else steps))

    async def last_summaries(self, session_id: str, n: int) -> tuple[Step, ...]:
        """See `StepStore.last_summaries`."""
        self._open()
        steps = [step for step in self._steps.get(session_id, []) if step.type == "summary"]
        return tuple(_step_copy(step) for step in (steps[-n:] if n > 0 else steps))

    async def append_events(self, events: Sequence[RunEvent], *, epoch: int | None = None) -> None:
        """See `EventStore.append_events`; all of them are kept or none."""
        self._may_write({event.run_id for event in events}, epoch)
        self._keep_events(events)

    async def events(self, run_id: str, *, after: int = 0, limit: int = 0) -> tuple[RunEvent, ...]:
        """See `EventStore.events`."""
        self._open()
        later = self._events.get(run_id, [])[max(0, after) :]
        return tuple(_event_copy(event) for event in (later[:limit] if limit > 0 else later))

    async def last_seq(self, run_id: str) -> int:
        """See `EventStore.last_seq`."""
        self._open()
        return len(self._events.get(run_id, []))

    def _may_write(self, run_ids: Iterable[str], epoch: int | None) -> None:
        self._open()
        for run_id in run_ids:
            run = self._runs.get(run_id)
            if run is not None and epoch is not None and epoch < run.epoch:
                raise StaleEpoch(f"Run {run_id!r} is at epoch {run.epoch} now; a write of epoch {epoch} is refused.")

    def _keep_events(self, events: Sequence[RunEvent]) -> None:
        expected: dict[str, int] = {}
        for event in events:
            seq = expected.get(event.run_id, len(self._events.get(event.run_id, []))) + 1
            if event.type in LIVE_ONLY or event.seq != seq:
                raise StoreError(
                    f"Run {event.run_id!r} needs a stored event with seq {seq}, not {event.type!r} with {event.seq}."
                )
            expected[event.run_id] = seq
        for event in [_event_copy(event) for event in events]:
            self._events.setdefault(event.run_id, []).append(event)

    # Runs

    async def create_run(self, run: RunRecord) -> RunRecord:
        """See `RunStore.create_run`."""
        self._open()
        if run.run_id in self._runs:
            raise InvalidInput(f"A run with the id {run.run_id!r} exists; choose another id.")
        stamped = created(run)
        self._runs[run.run_id] = stamped
        return stamped

    async def get_run(self, run_id: str) -> RunRecord | None:
        """See `RunStore.get_run`."""
        self._open()
        return self._runs.get(run_id)

    async def save_run(self, run: RunRecord) -> None:
        """See `RunStore.save_run`. What names the run and its owner stays. Raises `UnknownSession`."""
        self._runs[run.run_id] = saved(self._run(run.run_id), run)

    async def claim_run(self, run_id: str, owner: str, *, now: float | None = None) -> RunRecord:
        """See `RunStore.claim_run`."""
        run = claimed(self._run(run_id), owner, now=now)
        self._runs[run_id] = run
        return run

    async def heartbeat(self, run_id: str, epoch: int) -> None:
        """See `RunStore.heartbeat`."""
        self._runs[run_id] = beating(self._run(run_id), epoch)

    async def last_run(self, session_id: str) -> RunRecord | None:
        """See `RunStore.last_run`."""
        runs = await self.runs(session_id)
        return runs[-1] if runs else None

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """See `RunStore.runs`."""
        self._open()
        return tuple(run for run in self._runs.values() if run.session_id == session_id)

    def _run(self, run_id: str) -> RunRecord:
        self._open()
        if run_id not in self._runs:
            raise UnknownSession(f"No run has the id {run_id!r}; create it first.")
        return self._runs[run_id]

    # Grants and questions

    async def add_grant(self, session_id: str, grant: Grant) -> None:
        """See `GrantStore.add_grant`."""
        self._open()
        kept = self._grants.setdefault(session_id, {})
        kept[grant.kind, grant.subject] = replace(grant, granted_at=grant.granted_at or utc_now())

    async def grants(self, session_id: str) -> tuple[Grant, ...]:
        """See `GrantStore.grants`."""
        self._open()
        kept = self._grants.get(session_id, {}).values()
        return tuple(sorted(kept, key=lambda grant: (grant.granted_at, grant.kind, grant.subject)))

    async def revoke_grants(self, session_id: str) -> int:
        """See `GrantStore.revoke_grants`."""
        self._open()
        return len(self._grants.pop(session_id, {}))

    async def add_question(self, question: Question) -> None:
        """See `QuestionStore.add_question`. Raises `InvalidInput` when the id exists: an answer may stand there."""
        self._open()
        if question.id in self._questions:
            raise InvalidInput(f"A question with the id {question.id!r} exists; choose another id.")
        self._questions[question.id] = replace(question, asked_at=question.asked_at or utc_now())

    async def answer_question(self, question_id: str, answer: Answer) -> bool:
        """See `QuestionStore.answer_question`."""
        self._open()
        question = self._questions.get(question_id)
        if question is None or question.answer is not None:
            return False
        self._questions[question_id] = replace(question, answer=answer)
        return True

    async def get_question(self, question_id: str) -> Question | None:
        """See `QuestionStore.get_question`."""
        self._open()
        return self._questions.get(question_id)

    async def open_questions(self, run_id: str) -> tuple[Question, ...]:
        """See `QuestionStore.open_questions`."""
        self._open()
        return tuple(q for q in self._questions.values() if q.run_id == run_id and q.answer is None)


def _not_of(session_id: str, events: Iterable[RunEvent]) -> list[RunEvent]:
    return [event for event in events if event.session_id != session_id]


def _copied(mapping: Mapping[str, Json]) -> dict[str, Json]:
    copy: dict[str, Json] = json.loads(json.dumps(dict(mapping)))
    return copy


def _step_copy(step: Step) -> Step:
    return replace(step, tool_args=_copied(step.tool_args))


def _event_copy(event: RunEvent) -> RunEvent:
    return replace(
        event,
        args=_copied(event.args),
        summary=None if event.summary is None else _copied(event.summary),
        tokens=None if event.tokens is None else _copied(event.tokens),
    )
