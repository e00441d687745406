"""Begins a run: its rows in the store, and everything it stands on."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentloop.artifacts.base import Artifacts
from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.context.settings import LoopSettings
from agentloop.guard.grants import OnAsk
from agentloop.guard.policy import Policy
from agentloop.guard.redact import Redactor
from agentloop.journal import Journal, OnEvent
from agentloop.llm.base import LLM
from agentloop.llm.metered import Metered
from agentloop.records import RunRecord, RunRequest, Session, Usage
from agentloop.run.context import RunContext
from agentloop.run.past import past_steps
from agentloop.run.questions import Questions
from agentloop.run.spending import Spending
from agentloop.stores.base import Store
from agentloop.tracing import RunTrace, Tracing

__all__ = ["new_id", "open_run"]

FIRST_EPOCH = 1


async def open_run(
    request: RunRequest,
    *,
    store: Store,
    llm: LLM,
    settings: LoopSettings,
    policy: Policy,
    on_ask: OnAsk | None,
    artifacts: Artifacts | None,
    on_event: OnEvent | None,
    redactor: Redactor,
    tracing: Tracing,
) -> RunContext:
    """Keeps a new run of a new or known session and gathers what it stands on. What was asked is redacted too."""
    request = replace(request, message=redactor.text(request.message))
    session = await store.create_session(Session(session_id=request.session or new_id()))
    run = await store.create_run(
        RunRecord(
            run_id=request.run_id or new_id(),
            session_id=session.session_id,
            message=request.message,
            url=request.url and redactor.text(request.url),
            owner=f"{socket.gethostname()}:{os.getpid()}",
            epoch=FIRST_EPOCH,
        )
    )
    steps = await past_steps(store, session.session_id, settings)
    spending = Spending(settings.limits.narrowed(request.limits))
    journal = Journal(store, run, on_event=on_event, redactor=redactor)
    clock = Clock()
    questions = Questions(store, journal, clock, session_id=session.session_id, run_id=run.run_id, on_ask=on_ask)
    trace = tracing.run(run_id=run.run_id, session_id=session.session_id, redactor=redactor)
    metered = Metered(llm, on_usage=_counted(spending, trace), before=spending.check)
    return RunContext(
        request=request,
        run=run,
        session=session,
        carry=None if request.fresh else session.carry,
        steps=steps,
        store=store,
        journal=journal,
        spending=spending,
        llm=metered,
        clock=clock,
        trace=trace,
        build=BuildContext(
            run_id=run.run_id,
            session_id=session.session_id,
            message_id=session.message_id,
            user_id=request.user_id,
            scope=request.scope,
            enabled=_enabled(session.enabled, request.enabled),
            policy=policy,
            llm=metered,
            ask=questions.ask,
            emit=journal.emit,
            artifacts=artifacts,
            clock=clock,
            allow=request.allow,
            start_url=request.url,
        ),
    )


def _counted(spending: Spending, trace: RunTrace) -> Callable[[Usage], None]:
    def count(usage: Usage) -> None:
        spending.add(usage)
        trace.used(usage)

    return count


def _enabled(session: Sequence[str] | None, request: Sequence[str] | None) -> Sequence[str] | None:
    if session is None or request is None:
        return request if session is None else session
    return [name for name in session if name in request]


def new_id() -> str:
    """An id for a run or session: 24 hex digits that sort by the time they were made."""
    return f"{int(time.time() * 1000):012x}{uuid.uuid4().hex[:12]}"
