"""The one choke point of a run: whatever is kept or shown passes here, stamped, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, TypeVar

from agentloop.clock import utc_now
from agentloop.events import LIVE_ONLY, EventType, RunEvent
from agentloop.guard.redact import Redactor
from agentloop.records import Json, RunRecord, Step, StepType, Usage
from agentloop.stores.base import Store

__all__ = ["Journal", "OnEvent"]

OnEvent: TypeAlias = Callable[[RunEvent], None]
"""Called with each event once it is kept; must not block."""

T = TypeVar("T")


class Journal:
    """Writes one run's steps and events, secrets taken out by `redactor`.

    An event is delivered only after the store has it. A write that has begun is finished even when
    its caller is cancelled, so that no half-told story is left behind.
    """

    def __init__(
        self,
        store: Store,
        run: RunRecord,
        *,
        last_seq: int = 0,
        on_event: OnEvent | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._store = store
        self._run_id = run.run_id
        self._session_id = run.session_id
        self._epoch = run.epoch
        self._seq = last_seq
        self._on_event = on_event
        self.redactor = redactor or Redactor()
        self._order = asyncio.Lock()
        self.turn = run.iterations
        self.steps = run.steps

    async def step(
        self,
        type: StepType,
        content: str,
        *,
        args: Mapping[str, Json] | None = None,
        tokens: Usage | None = None,
        duration_ms: int = 0,
    ) -> Step:
        """Appends a step and, in the same write, the event of the same content."""
        step = Step(
            session_id=self._session_id,
            run_id=self._run_id,
            type=type,
            content=self.redactor.text(content),
            tool_args=self.redactor.json(args or {}),
            duration_ms=duration_ms,
            tokens=tokens or Usage(),
            created_at=utc_now(),
        )
        return await self._finish(self._keep_step(step, _event_of(type), tokens))

    async def emit(
        self,
        type: EventType,
        *,
        content: str = "",
        tool: str = "",
        args: Mapping[str, Json] | None = None,
        summary: Mapping[str, Json] | None = None,
        tokens: Usage | None = None,
    ) -> None:
        """Appends an event and delivers it; live-only types are only delivered."""
        if type in LIVE_ONLY:
            self.live(type, content)
            return
        await self._finish(
            self._keep_event(
                type,
                content=self.redactor.text(content),
                tool=self.redactor.text(tool),
                args=self.redactor.json(args or {}),
                summary=self.redactor.json(summary),
                tokens=tokens,
            )
        )

    def live(self, type: EventType, content: str) -> None:
        """Delivers a live-only event at once."""
        self._deliver(self._event(type, seq=None, content=self.redactor.text(content)))

    async def _keep_step(self, step: Step, kind: EventType, tokens: Usage | None) -> Step:
        async with self._order:
            event = self._event(kind, seq=self._seq + 1, content=step.content, args=step.tool_args, tokens=tokens)
            kept = await self._store.append_step(step, events=[event], epoch=self._epoch)
            self._seq += 1
            self.steps += 1
            self._deliver(event)
            return kept

    async def _keep_event(self, type: EventType, **fields: Json) -> None:
        async with self._order:
            event = self._event(type, seq=self._seq + 1, **fields)
            await self._store.append_events([event], epoch=self._epoch)
            self._seq += 1
            self._deliver(event)

    def _event(self, type: EventType, *, seq: int | None, tokens: Usage | None = None, **fields: Json) -> RunEvent:
        return RunEvent(
            type=type,
            run_id=self._run_id,
            session_id=self._session_id,
            seq=seq,
            turn=self.turn,
            time=utc_now(),
            tokens={"prompt": tokens.prompt, "completion": tokens.completion} if tokens else None,
            **fields,
        )

    def _deliver(self, event: RunEvent) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except BaseException:
            # It ends the run, and is told no more: the end must be written all the same.
            self._on_event = None
            raise

    async def _finish(self, write: Awaitable[T]) -> T:
        task = asyncio.ensure_future(write)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task], timeout=5)
            raise


def _event_of(type: StepType) -> EventType:
    return "compacted" if type == "summary" else type
