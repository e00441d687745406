"""What one run stands on: its records, clock, journal, metered model, sandbox and packs."""

from __future__ import annotations

import asyncio
import os
import socket
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from agentloop.artifacts.base import Artifacts
from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.context import feedback
from agentloop.context.settings import LoopSettings
from agentloop.errors import (
    AgentLoopError,
    BrowserLost,
    ContextOverflow,
    EndRun,
    ModelAuthError,
    ModelError,
    Refused,
    SandboxError,
    StoreError,
)
from agentloop.guard.grants import OnAsk
from agentloop.guard.policy import Policy
from agentloop.journal import Journal, OnEvent
from agentloop.llm.base import LLM
from agentloop.llm.metered import Metered
from agentloop.packs.base import Pack
from agentloop.questions import Questions
from agentloop.records import Json, RunRecord, RunRequest, RunResult, Session, Status, Step
from agentloop.sandbox.base import Sandbox
from agentloop.sandbox.builder import BuiltSandbox, SandboxBuilder
from agentloop.spending import Spending
from agentloop.stores.base import Store

__all__ = ["RunContext", "open_run"]

OBSERVE_S = 5.0
STOP_S = 5.0
EPOCH = 1

ENDINGS: tuple[tuple[type[BaseException], Status, str], ...] = (
    (ModelAuthError, Status.MODEL_ERROR, "auth"),
    (ContextOverflow, Status.MODEL_ERROR, "context_overflow"),
    (ModelError, Status.MODEL_ERROR, "endpoint"),
    (StoreError, Status.ERROR, "store"),
    (SandboxError, Status.ERROR, "script"),
    (BrowserLost, Status.BROWSER_LOST, ""),
    (Refused, Status.REFUSED, ""),
    (asyncio.CancelledError, Status.CANCELLED, "api"),
)
"""How an error that reaches the loop ends the run; the first that matches counts."""


@dataclass(kw_only=True)
class RunContext:
    """One run's surroundings. Made by `open_run`; `start` builds sandbox and packs, `stop` closes them."""

    request: RunRequest
    run: RunRecord
    session: Session
    carry: str | None
    steps: Sequence[Step]
    store: Store
    journal: Journal
    spending: Spending
    llm: LLM
    clock: Clock
    build: BuildContext
    built: BuiltSandbox | None = None
    _exit: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def started(self) -> bool:
        """True once sandbox and packs are there."""
        return self.built is not None

    @property
    def sandbox(self) -> Sandbox:
        """The run's sandbox; only after `start`."""
        assert self.built is not None
        return self.built.sandbox

    @property
    def packs(self) -> tuple[Pack, ...]:
        """The run's packs, () before `start`."""
        return self.built.packs if self.built else ()

    @property
    def seconds_left(self) -> float:
        """Active seconds until the run's deadline."""
        return max(0.0, self.spending.limits.wall_s - self.clock.now())

    async def start(self, builder: SandboxBuilder) -> BuiltSandbox:
        """Builds packs and sandbox. Raises `SandboxError`, `EndRun`."""
        self.built = await self._exit.enter_async_context(builder.build(self.build))
        return self.built

    async def stop(self) -> None:
        """Closes packs and sandbox, bounded; what cannot be closed is left to the operating system's care."""
        try:
            async with asyncio.timeout(STOP_S * (2 + len(self.packs))):
                await self._exit.aclose()
        except (TimeoutError, AgentLoopError) as error:
            await self.journal.emit("warning", content=f"closing took too long or failed: {error}")

    async def observe(self) -> list[str]:
        """What the packs show the model now, in order; an error becomes one line."""
        texts = [await self._observe(pack) for pack in self.packs]
        shown = [text for text in texts if text]
        if shown:
            self.journal.live("observation", "\n\n".join(shown))
        return shown

    async def _observe(self, pack: Pack) -> str:
        if pack.observe is None:
            return ""
        try:
            async with asyncio.timeout(OBSERVE_S):
                seen = await pack.observe()
        except (AgentLoopError, TimeoutError) as error:
            return feedback.text("observe_failed", pack=pack.name, error=str(error) or "it took too long")
        return seen.text if seen else ""

    def receipts(self) -> tuple[str, ...]:
        """What the last script's calls did, from the packs that keep receipts."""
        return tuple(line for pack in self.packs if pack.receipts for line in pack.receipts())

    async def bounded(self, work: Coroutine[None, None, None], cancelled: asyncio.Future[str]) -> None:
        """Runs one turn until it ends, the run's deadline passes (`EndRun(timeout)`) or `cancelled` is set."""
        task = asyncio.ensure_future(work)
        deadline = asyncio.ensure_future(self.clock.until(self.spending.limits.wall_s))
        try:
            await asyncio.wait({task, deadline, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            await _stopped(task)
            if cancelled.done():
                raise EndRun(Status.CANCELLED, cancelled.result())
            raise EndRun(Status.TIMEOUT, "wall", f"the run's {self.spending.limits.wall_s:g} s are over")
        finally:
            deadline.cancel()
            await _stopped(task)

    def ending(self, error: BaseException) -> EndRun:
        """The end that an error means."""
        for kind, status, reason in ENDINGS:
            if isinstance(error, kind):
                return EndRun(status, reason, str(error))
        return EndRun(Status.ERROR, "internal", f"{type(error).__name__}: {error}")

    def expected(self, error: BaseException) -> bool:
        """True for what the world does; the run's status tells it, so it is not raised."""
        return isinstance(error, AgentLoopError)

    async def settle(
        self,
        status: Status,
        reason: str,
        *,
        final_text: str,
        system_prompt: str,
        checks: tuple[Mapping[str, Json], ...],
    ) -> RunResult:
        """Writes how the run ended and its one `done` event."""
        spent = self.spending
        result = RunResult(
            run_id=self.run.run_id,
            session_id=self.run.session_id,
            status=status,
            reason=reason,
            final_text=final_text,
            steps=self.journal.steps,
            tokens=spent.tokens,
            cost=spent.cost,
            duration_ms=round(self.clock.now() * 1000),
            data_bytes_carried=spent.data_bytes_carried,
            system_prompt=system_prompt,
            artifacts=self.build.artifacts.location if self.build.artifacts else None,
            checks=checks,
        )
        await self._save(result)
        await self.journal.emit("done", content=str(status), args={"reason": reason}, summary=_summary(result))
        return result

    async def _save(self, result: RunResult) -> None:
        self.run = replace(
            self.run,
            status=result.status,
            reason=result.reason,
            final_text=result.final_text,
            iterations=self.spending.iterations,
            steps=result.steps,
            tokens=result.tokens,
            cost=result.cost,
            primitive_calls=self.spending.calls,
            active_ms=result.duration_ms,
            data_bytes_carried=result.data_bytes_carried,
        )
        await self.store.save_run(self.run)
        await self.store.set_session_status(self.run.session_id, result.status)


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
) -> RunContext:
    """Keeps a new run of a new or known session and gathers what it stands on."""
    session = await store.create_session(Session(session_id=request.session or _new_id()))
    run = await store.create_run(
        RunRecord(
            run_id=request.run_id or _new_id(),
            session_id=session.session_id,
            message=request.message,
            url=request.url,
            owner=f"{socket.gethostname()}:{os.getpid()}",
            epoch=EPOCH,
        )
    )
    steps = await store.last_steps(session.session_id, settings.history_window)
    spending = Spending(settings.limits.narrowed(request.limits))
    journal = Journal(store, run, on_event=on_event)
    clock = Clock()
    questions = Questions(store, journal, clock, session_id=session.session_id, run_id=run.run_id, on_ask=on_ask)
    metered = Metered(llm, on_usage=spending.add, before=spending.check)
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


def _enabled(session: Sequence[str] | None, request: Sequence[str] | None) -> Sequence[str] | None:
    if session is None or request is None:
        return request if session is None else session
    return [name for name in session if name in request]


def _summary(result: RunResult) -> dict[str, Json]:
    return {
        "status": str(result.status),
        "reason": result.reason,
        "session_id": result.session_id,
        "steps": result.steps,
        "tokens": {"prompt": result.tokens.prompt, "completion": result.tokens.completion},
        "cost": result.cost,
        "data_bytes_carried": result.data_bytes_carried,
        "duration_ms": result.duration_ms,
    }


async def _stopped(task: asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=STOP_S)


def _new_id() -> str:
    return f"{int(time.time() * 1000):012x}{uuid.uuid4().hex[:12]}"
