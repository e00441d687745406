"""Keeps what a run sends within its model's window: long histories summed up, each call fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from agentloop.context.checkpoint import marker
from agentloop.context.compaction import Compaction, Compactor
from agentloop.context.draft import Draft
from agentloop.context.history import Entry
from agentloop.context.settings import LoopSettings
from agentloop.errors import EndRun, EndTurn
from agentloop.llm.base import Message
from agentloop.records import Json, Usage
from agentloop.run.context import RunContext
from agentloop.run.conversation import Conversation
from agentloop.run.spending import metered

__all__ = ["ContextWindow"]

_TEXTS = 1_000
"""Texts whose estimates a run remembers: most of a prompt was in the one before it."""


class ContextWindow:
    """One run's use of the window, as its settings have it. `model` names the run's own model, "" the client's."""

    def __init__(self, context: RunContext, settings: LoopSettings, *, model: str) -> None:
        self._context = context
        self._journal = context.journal
        self._compactor = settings.compactor
        self._model = context.session.model or model
        budget = settings.context_budget
        self._budget = budget and replace(budget, estimate=lru_cache(_TEXTS)(budget.estimate))

    @property
    def max_tokens(self) -> int | None:
        """The cap of each reply, None without a budget."""
        return self._budget.reserved if self._budget else None

    async def compact(self, said: Conversation) -> None:
        """Sums up what earlier runs said, and keeps the summary in the session. A failure is a warning."""
        before, spent = said.earlier, self._context.spending.tokens
        if self._compactor is None or not before:
            return
        with self._context.trace.compact(messages_before=len(before)) as span:
            done = await self._compaction(self._compactor, before)
            if done is None or done.entries == before:
                return
            said.replace_earlier(done.entries)
            used = _difference(self._context.spending.tokens, spent)
            retained = await self._tell_compaction(before, done, used)
            span.set({"agentloop.compact.messages_after": len(done.entries)})
            if retained is not None:
                span.set({"agentloop.compact.retain_from_step": retained})

    async def fit(self, draft: Draft) -> list[Message]:
        """The messages to send. Tells what was left out, and when even the rest is too large."""
        if self._budget is None:
            return draft.messages()
        fitted = self._budget.fit(draft)
        figures = {"estimated_tokens": fitted.estimated_tokens, "allowance": fitted.allowance}
        self._context.trace.describe({f"agentloop.budget.{name}": figure for name, figure in figures.items()})
        size = f"about {fitted.estimated_tokens} tokens of the {fitted.allowance} allowed"
        if fitted.dropped:
            await self._journal.emit(
                "budget_trimmed",
                content=f"messages left out: {fitted.dropped}; {size}",
                args={"messages_dropped": fitted.dropped, **figures},
            )
        if fitted.over:
            await self._journal.emit(
                "warning",
                content=f"over the context budget: {size}, and nothing more can be left out",
                args={"reason": "context_budget", **figures},
            )
        return fitted.messages

    async def _compaction(self, compactor: Compactor, entries: Sequence[Entry]) -> Compaction | None:
        own = compactor.llm
        context = self._context
        llm = context.llm if own is None else metered(own, context.spending, context.trace)
        try:
            done = await compactor.compact(entries, llm=llm, model=self._model if own is None else "")
        except (EndRun, EndTurn):
            raise
        except Exception as error:  # anyone's code: a history that stays long must not cost the run
            await self._warn(f"{type(error).__name__}: {error}")
            return None
        if not done.entries:
            await self._warn("the compactor returned nothing")
            return None
        return done

    async def _warn(self, why: str) -> None:
        text = f"the history was not summed up and is used in full: {why}"
        await self._journal.emit("warning", content=text, args={"reason": "compaction"})

    async def _tell_compaction(self, before: Sequence[Entry], done: Compaction, used: Usage) -> int | None:
        """Keeps a checkpoint where there is a summary; gives the step at which it lets the history go on."""
        args: dict[str, Json] = {"messages_before": len(before), "messages_after": len(done.entries)}
        if done.summary and 0 < done.retained_from <= len(before):
            retained = _retained_step(before, done.retained_from)
            kept = {**args, **marker(retained), "persisted": True}
            await self._journal.step("summary", done.summary, args=kept, tokens=used)
            return retained
        if len(done.entries) < len(before):
            await self._journal.emit("compacted", args={**args, "persisted": False}, tokens=used)
        return None


def _retained_step(entries: Sequence[Entry], retained_from: int) -> int:
    """The index of the first step that the summary does not stand for."""
    if retained_from < len(entries):
        return entries[retained_from].step
    return entries[-1].step + 1


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(prompt=after.prompt - before.prompt, completion=after.completion - before.completion)
