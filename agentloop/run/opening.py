"""Begins a run, or takes one up again: its rows in the store, and everything it stands on."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentloop.artifacts.base import Artifacts
from agentloop.artifacts.redacted import RedactedArtifacts
from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.context import feedback
from agentloop.context.prompt import Prompt, system_prompt
from agentloop.context.settings import LoopSettings
from agentloop.errors import RunOwned, UnknownSession
from agentloop.guard.grants import OnAsk
from agentloop.guard.network.client import GuardedClient
from agentloop.guard.network.egress import Egress, EgressLimits
from agentloop.guard.network.guard import run_boundary
from agentloop.guard.policy import Policy
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secrets
from agentloop.journal import Journal, OnEvent
from agentloop.llm.base import LLM
from agentloop.records import RunRecord, RunRequest, Session, Status
from agentloop.run.asked import asked_again, kept_request
from agentloop.run.context import RunContext
from agentloop.run.conversation import Conversation
from agentloop.run.egress import EgressKeeper, model_place
from agentloop.run.model_call import RedactedLLM
from agentloop.run.past import past_steps
from agentloop.run.questions import DeclinedQuestions, Questions
from agentloop.run.spending import Spending, metered
from agentloop.run.window import ContextWindow
from agentloop.sandbox.builder import SandboxBuilder
from agentloop.sandbox.toolbox import core_declarations
from agentloop.stores.base import Store
from agentloop.stores.lease import Lease, owner_gone
from agentloop.tracing import Tracing

__all__ = ["FIRST_EPOCH", "Collaborators", "begin", "new_id", "open_run", "resume_run", "start"]

FIRST_EPOCH = 1


@dataclass(frozen=True, kw_only=True)
class Collaborators:
    """What a loop gives each of its runs."""

    store: Store
    llm: LLM
    settings: LoopSettings
    policy: Policy
    on_ask: OnAsk | None
    artifacts: Artifacts | None
    redactor: Redactor
    tracing: Tracing
    secrets: Secrets = field(default_factory=Secrets)
    declined: DeclinedQuestions = field(default_factory=DeclinedQuestions)


async def open_run(request: RunRequest, given: Collaborators, *, on_event: OnEvent | None) -> RunContext:
    """Keeps a new run of a new or known session. What was asked is redacted too.

    A run of the session that a dead process left behind is closed as cancelled; raises `RunOwned` while a
    living one has a run in it, and `InvalidInput` for a pattern of `allow` that is none.
    """
    store, redactor = given.store, given.redactor
    run_boundary(start_url=None, narrow=request.allow)
    request = replace(request, message=redactor.text(request.message))
    session = await store.create_session(Session(session_id=request.session or new_id()))
    await _abandon_last(store, session.session_id)
    run = await store.create_run(
        RunRecord(
            run_id=request.run_id or new_id(),
            session_id=session.session_id,
            message=request.message,
            url=request.url and redactor.text(request.url),
            setup=redactor.json(kept_request(request)),
            owner=Lease.of_this_process().to_text(),
            epoch=FIRST_EPOCH,
        )
    )
    return await _context(request, session, run, given, on_event=on_event)


async def resume_run(session_id: str, given: Collaborators, *, on_event: OnEvent | None) -> RunContext:
    """The session's last run, taken over at a new epoch unless it is over.

    A script that was started and has no result gets the result "interrupted"; it is never run again.
    Raises `UnknownSession`, and `RunOwned` while the run's owner lives.
    """
    store = given.store
    session = await store.get_session(session_id)
    run = await store.last_run(session_id)
    if session is None or run is None:
        raise UnknownSession(f"no session {session_id!r} has a run to resume")
    request = asked_again(run)
    if run.status.terminal:
        return await _context(request, session, run, given, on_event=on_event)
    run = await store.claim_run(run.run_id, Lease.of_this_process().to_text())
    context = await _context(request, session, run, given, on_event=on_event, resumed=True)
    await context.journal.emit("resumed", content=run.message, args={"iterations": run.iterations})
    return context


async def begin(context: RunContext, said: Conversation, window: ContextWindow) -> None:
    """The run's first steps: what was asked, after what earlier runs said was summed up where that is due."""
    journal, request = context.journal, context.request
    await journal.emit("run_started", content=request.message, args={"url": request.url} if request.url else {})
    await journal.step("user", request.message)
    await window.compact(said)
    said.add("user", request.message)


async def start(context: RunContext, builder: SandboxBuilder, prompt: Prompt) -> str:
    """Builds packs and sandbox and gives the run's system prompt. Raises `SandboxError`, `EndRun`."""
    built = await context.start(builder)
    for warning in built.warnings:
        await context.journal.emit("warning", content=warning)
    return system_prompt(
        prompt,
        built.packs,
        core=core_declarations(),
        persona=context.session.persona,
        context=context.request.context,
    )


async def _abandon_last(store: Store, session_id: str) -> None:
    last = await store.last_run(session_id)
    if last is None or last.status.terminal:
        return
    if not owner_gone(last):
        raise RunOwned(
            f"session {session_id} has a run in progress ({last.run_id}): wait for it, or use another session"
        )
    taken = await store.claim_run(last.run_id, Lease.of_this_process().to_text())
    await store.save_run(replace(taken, status=Status.CANCELLED, reason="abandoned"))


async def _context(
    request: RunRequest,
    session: Session,
    run: RunRecord,
    given: Collaborators,
    *,
    on_event: OnEvent | None,
    resumed: bool = False,
) -> RunContext:
    store, redactor = given.store, given.redactor
    journal = Journal(store, run, last_seq=await store.last_seq(run.run_id), on_event=on_event, redactor=redactor)
    if resumed:
        await _settle_interrupted(store, journal, run)
    spending = Spending(given.settings.limits.narrowed(request.limits), run)
    clock = Clock(spent=run.active_ms / 1000)
    trace = given.tracing.run(run_id=run.run_id, session_id=session.session_id, redactor=redactor)
    llm = metered(given.llm, spending, trace)
    egress = _egress(run, given, most=spending.limits.egress_bytes, resumed=resumed)
    return RunContext(
        request=request,
        run=run,
        session=session,
        carry=None if request.fresh else session.carry,
        steps=await past_steps(store, session.session_id, given.settings),
        store=store,
        journal=journal,
        spending=spending,
        llm=llm,
        clock=clock,
        trace=trace,
        resumed=resumed,
        egress=egress,
        build=BuildContext(
            run_id=run.run_id,
            session_id=session.session_id,
            message_id=session.message_id,
            user_id=request.user_id,
            scope=request.scope,
            enabled=_enabled(session.enabled, request.enabled),
            policy=given.policy,
            llm=RedactedLLM(llm, redactor),
            ask=_questions(run, given, journal, clock).ask,
            http=_client(request, given, egress.log),
            egress=egress.log,
            own_ports=given.settings.own_ports,
            emit=journal.emit,
            workspace=given.settings.workspace,
            artifacts=given.artifacts and RedactedArtifacts(given.artifacts, redactor),
            clock=clock,
            allow=request.allow,
            start_url=request.url,
            state=None if request.fresh else await store.load_state(session.session_id),
            resumed=resumed,
            secrets=given.secrets,
        ),
    )


def _questions(run: RunRecord, given: Collaborators, journal: Journal, clock: Clock) -> Questions:
    return Questions(
        given.store,
        journal,
        clock,
        session_id=run.session_id,
        run_id=run.run_id,
        on_ask=given.on_ask,
        declined=given.declined,
    )


def _egress(run: RunRecord, given: Collaborators, *, most: int, resumed: bool) -> EgressKeeper:
    place = model_place(given.llm)
    return EgressKeeper(
        log=Egress(limits=EgressLimits(bytes=most)),
        about={"run_id": run.run_id, "session_id": run.session_id, "resumed": resumed, "model": place},
        redactor=given.redactor,
        artifacts=given.artifacts,
        manifest=given.settings.egress,
    )


def _client(request: RunRequest, given: Collaborators, egress: Egress) -> GuardedClient:
    reach = run_boundary(start_url=request.url, narrow=request.allow, own_ports=given.settings.own_ports)
    return GuardedClient(reach, door=egress.door("fetch"))


async def _settle_interrupted(store: Store, journal: Journal, run: RunRecord) -> None:
    for question in await store.open_questions(run.run_id):
        await store.answer_question(question.id, False)
    last = await store.last_steps(run.session_id, 1)
    if last and last[0].run_id == run.run_id and last[0].type == "execute_js":
        await journal.step("execute_js_result", feedback.say("interrupted"), args={"interrupted": True})


def _enabled(session: Sequence[str] | None, request: Sequence[str] | None) -> Sequence[str] | None:
    if session is None or request is None:
        return request if session is None else session
    return [name for name in session if name in request]


def new_id() -> str:
    """An id for a run or session: 24 hex digits that sort by the time they were made."""
    return f"{int(time.time() * 1000):012x}{uuid.uuid4().hex[:12]}"
