"""Records to fill a store with, for its contract."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from agentloop.events import RunEvent
from agentloop.guard.grants import Question
from agentloop.records import Json, RunRecord, Session, Step, StepType
from agentloop.stores.base import Store

__all__ = ["UTC_TEXT", "new_event", "new_id", "new_question", "new_run", "new_step"]

UTC_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
"""Times of one width, so that they sort as text."""


def new_id() -> str:
    """A UUID, so that stores with UUID columns work."""
    return str(uuid.uuid4())


async def new_run(store: Store, session_id: str | None = None, *, epoch: int = 0) -> RunRecord:
    """A run in the store, in a new session or in `session_id`."""
    session = await store.create_session(Session(session_id=session_id or new_id()))
    return await store.create_run(
        RunRecord(run_id=new_id(), session_id=session.session_id, message="task", epoch=epoch)
    )


def new_step(run: RunRecord, content: str = "text", type: StepType = "user") -> Step:
    """A step of the run, not yet in the store."""
    return Step(session_id=run.session_id, run_id=run.run_id, type=type, content=content)


def new_event(run: RunRecord, seq: int | None, content: str = "", args: Mapping[str, Json] | None = None) -> RunEvent:
    """An event of the run, not yet in the store."""
    return RunEvent(
        type="warning",
        run_id=run.run_id,
        session_id=run.session_id,
        seq=seq,
        turn=1,
        time="2026-01-31T08:00:00.000000Z",
        content=content,
        args=args or {},
    )


def new_question(run: RunRecord, message: str = "May I?") -> Question:
    """A question of the run, not yet in the store."""
    return Question(id=new_id(), session_id=run.session_id, run_id=run.run_id, kind="confirm", message=message)
