"""What is kept, in seven small protocols; `Store` is their union."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentloop.events import RunEvent
from agentloop.guard.grants import Answer, Grant, Question
from agentloop.records import RunRecord, Session, Status, Step, Usage

__all__ = [
    "EventStore",
    "GrantStore",
    "QuestionStore",
    "RunStore",
    "SessionCatalog",
    "SessionStore",
    "SessionSummary",
    "StepStore",
    "Store",
]


@dataclass(frozen=True, kw_only=True)
class SessionSummary:
    """One line of a list of sessions. `tokens` and `cost` are those of its runs; `opening` is its first user step.

    `session.carry` is left out (None): it may be megabytes.
    """

    session: Session
    steps: int = 0
    runs: int = 0
    tokens: Usage = Usage()
    cost: float = 0.0
    opening: str = ""

    @property
    def status(self) -> Status | None:
        """How the session's last run stands, None before there was one."""
        return self.session.status


class SessionStore(Protocol):
    """Sessions by id. Every method but `create_session` leaves an unknown session uncreated."""

    @property
    def durable(self) -> bool:
        """True when what is kept outlives the process."""
        ...

    async def create_session(self, session: Session) -> Session:
        """Keeps a new session, stamped; an existing one is returned as it is."""

    async def get_session(self, session_id: str) -> Session | None:
        """The session, or None."""

    async def save_carry(self, session_id: str, carry: str | None) -> None:
        """Keeps the carry (JSON text). Raises `UnknownSession`."""

    async def set_session_status(self, session_id: str, status: Status) -> None:
        """Notes how the session's last run stands. Raises `UnknownSession`."""

    async def save_state(self, session_id: str, driver_state: bytes) -> None:
        """Keeps the browser's storage state. It is a secret: never in events or artefacts."""

    async def load_state(self, session_id: str) -> bytes | None:
        """What `save_state` kept last, or None."""


class SessionCatalog(Protocol):
    """All sessions: to list, find and delete them."""

    async def list_sessions(self, limit: int = 0) -> tuple[SessionSummary, ...]:
        """Sessions, the most recently updated first, at most `limit` (<= 0: all). A step updates its session."""

    async def most_recent_session(self) -> str | None:
        """The id of the session updated last, or None."""

    async def find_session(self, prefix: str) -> str:
        """The id that is `prefix` or, when there is only one, begins with it.

        Raises `UnknownSession` when there is none, `InvalidInput` when there are several.
        """

    async def delete_session(self, session_id: str) -> None:
        """Deletes the session with its steps, runs, events, grants, questions and browser state.

        Raises `UnknownSession` when there was no such session; whatever named it is gone even then. Raises
        `RunOwned`, and deletes nothing, while a living owner works on a run of it (`stores.lease.refuse_owned`).
        """


class StepStore(Protocol):
    """Steps in order. `index` is given here: from 0, monotonic per session, across runs and processes."""

    async def append_step(self, step: Step, *, events: Sequence[RunEvent] = (), epoch: int | None = None) -> Step:
        """Keeps a step and, in the same transaction, its events; returns it with `index` and `created_at`.

        Raises `StaleEpoch` when `epoch` is older than the run's.
        """

    async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
        """The newest `n` steps (n <= 0: all), oldest first; an unknown session has none."""

    async def last_summaries(self, session_id: str, n: int) -> tuple[Step, ...]:
        """The same of steps of type `summary`. Every run asks, so it must not read the whole session for it."""


class EventStore(Protocol):
    """Events of a run by `seq`, gapless from 1."""

    async def append_events(self, events: Sequence[RunEvent], *, epoch: int | None = None) -> None:
        """Keeps events in order. Raises `StaleEpoch`, or `StoreError` when `seq` would leave a gap."""

    async def events(self, run_id: str, *, after: int = 0, limit: int = 0) -> tuple[RunEvent, ...]:
        """Events with `seq` > `after`, at most `limit` (0: all)."""

    async def last_seq(self, run_id: str) -> int:
        """The newest `seq` of the run, 0 when there is none."""


class RunStore(Protocol):
    """Runs by id, and who may write them."""

    async def create_run(self, run: RunRecord) -> RunRecord:
        """Keeps a new run, stamped, an owner's first heartbeat too. Raises `InvalidInput` when the id exists."""

    async def get_run(self, run_id: str) -> RunRecord | None:
        """The run, or None."""

    async def save_run(self, run: RunRecord) -> None:
        """Replaces counters, status and reason; `run.epoch` must be current, else `StaleEpoch`."""

    async def claim_run(self, run_id: str, owner: str, *, now: float | None = None) -> RunRecord:
        """Makes `owner` the run's owner with a new epoch; `owner` is a `Lease` as text.

        Raises `RunOwned` while another owner lives (`stores.lease.owner_gone`, at `now` in Unix seconds)
        and `UnknownSession`. The owner itself may claim again.
        """

    async def heartbeat(self, run_id: str, epoch: int) -> None:
        """Notes that the owner lives. Raises `StaleEpoch` when `epoch` is not the run's, and `UnknownSession`."""

    async def last_run(self, session_id: str) -> RunRecord | None:
        """The session's newest run, or None."""

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """The session's runs, oldest first."""


class GrantStore(Protocol):
    """What a session has approved. Refusals are never kept."""

    async def add_grant(self, session_id: str, grant: Grant) -> None:
        """Keeps an approval; the same one again only renews its time."""

    async def grants(self, session_id: str) -> tuple[Grant, ...]:
        """The session's approvals, oldest first."""

    async def revoke_grants(self, session_id: str) -> int:
        """Forgets them all and returns how many there were."""


class QuestionStore(Protocol):
    """Questions to a person and their answers."""

    async def add_question(self, question: Question) -> None:
        """Keeps an open question."""

    async def answer_question(self, question_id: str, answer: Answer) -> bool:
        """Answers it; False when it is unknown or was answered before (the first answer stands)."""

    async def get_question(self, question_id: str) -> Question | None:
        """The question with its answer, or None."""

    async def open_questions(self, run_id: str) -> tuple[Question, ...]:
        """The run's unanswered questions, oldest first."""


class Store(SessionStore, SessionCatalog, StepStore, EventStore, RunStore, GrantStore, QuestionStore, Protocol):
    """Everything a loop keeps. Opens at first use; `aclose` may be called more than once."""

    async def aclose(self) -> None: ...
