"""What one run stands on: its records, clock, journal, metered model, sandbox and packs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.context import feedback
from agentloop.context.digest import shape
from agentloop.errors import EndRun
from agentloop.guard.fence import fence, one_line
from agentloop.journal import Journal
from agentloop.llm.base import LLM
from agentloop.packs.base import Observation, Pack
from agentloop.records import RunRecord, RunRequest, Session, Status, Step
from agentloop.run.egress import EgressKeeper
from agentloop.run.heartbeat import beating
from agentloop.run.spending import Spending
from agentloop.sandbox.base import Sandbox
from agentloop.sandbox.builder import BuiltSandbox, SandboxBuilder
from agentloop.stores.base import Store
from agentloop.tracing import RunTrace

__all__ = ["OBSERVE_S", "STOP_S", "RunContext"]

OBSERVE_S = 5.0
STOP_S = 5.0
_ERROR_CHARS = 200


@dataclass(kw_only=True)
class RunContext:
    """One run's surroundings. Made by `open_run`; `start` builds sandbox and packs, `stop` closes them.

    `tainted`: the carry may hold text written by strangers. One that an earlier run left always may.
    """

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
    egress: EgressKeeper
    trace: RunTrace = field(default_factory=RunTrace)
    built: BuiltSandbox | None = None
    resumed: bool = False
    shape: str = ""
    tainted: bool = False
    in_script: bool = False
    observed: tuple[str, ...] = ()
    _exit: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self.shape = shape(self.carry)
        self.tainted = self.carry is not None

    @property
    def answered(self) -> str | None:
        """What the run answered before its process died without writing the end; None when it did not."""
        last = self.steps[-1] if self.steps else None
        own = last is not None and last.run_id == self.run.run_id and last.type == "execute_js_result"
        return str(last.tool_args["answer"]) if last and own and "answer" in last.tool_args else None

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
        await self._exit.enter_async_context(beating(self.store, self.run))
        if self.build.http is not None:
            self._exit.push_async_callback(self.build.http.aclose)
        with self.trace.sandbox_build():
            self.built = await self._exit.enter_async_context(builder.build(self.build))
        return self.built

    async def stop(self) -> None:
        """Closes packs and sandbox, bounded; what cannot be closed is left to the operating system's care."""
        try:
            async with asyncio.timeout(STOP_S * (2 + len(self.packs))):
                await self._exit.aclose()
        except Exception as error:  # the border: what packs hold open is foreign, and the run must get its end
            await self.journal.emit("warning", content=f"closing took too long or failed: {error}")
        finally:
            await self.egress.save(self.journal)

    async def observe(self) -> tuple[str, ...]:
        """What the packs show the model now, in order; an error becomes one line."""
        seen = [found for pack in self.packs if (found := await self._observe(pack)) and found.text]
        self.observed = tuple(found.text for found in seen)
        if self.observed:
            self.journal.live("observation", "\n\n".join(self.observed))
        return tuple(fence(found.text) if found.untrusted else found.text for found in seen)

    async def _observe(self, pack: Pack) -> Observation | None:
        if pack.observe is None:
            return None
        try:
            async with asyncio.timeout(OBSERVE_S):
                return await pack.observe()
        except EndRun:
            raise
        except Exception as error:  # the border: a pack is foreign code, and costs one line, never the turn
            return Observation(text=_unseen(pack, error), untrusted=False)

    def receipts(self) -> tuple[str, ...]:
        """What the last script's calls did, from the packs that keep receipts."""
        return tuple(line for pack in self.packs for line in _receipts(pack))

    async def bounded(self, work: Coroutine[None, None, None], cancelled: asyncio.Future[str]) -> None:
        """Runs one turn until it ends, the run's deadline passes (`EndRun(timeout)`) or `cancelled` is set."""
        task = asyncio.create_task(work)
        deadline = asyncio.create_task(self.clock.until(self.spending.limits.wall_s))
        try:
            waited: set[asyncio.Future[Any]] = {task, deadline, cancelled}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
                return
            await _stopped(task)
            if cancelled.done():
                raise EndRun(Status.CANCELLED, cancelled.result())
            raise EndRun(Status.TIMEOUT, "wall", f"the run's {self.spending.limits.wall_s:g} s are over")
        finally:
            deadline.cancel()
            await _stopped(task)


def _receipts(pack: Pack) -> Sequence[str]:
    try:
        return pack.receipts() if pack.receipts else ()
    except Exception as error:  # the border: a pack is foreign code, and costs one line, never the turn
        return (_unseen(pack, error),)


def _unseen(pack: Pack, error: Exception) -> str:
    why = str(error) or (feedback.say("took_too_long") if isinstance(error, TimeoutError) else type(error).__name__)
    return feedback.say("observe_failed", pack=pack.name, error=one_line(why, _ERROR_CHARS))


async def _stopped(task: asyncio.Task[None]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=STOP_S)
