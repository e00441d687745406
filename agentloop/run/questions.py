"""The one seam through which anything asks a person."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

from agentloop.clock import Clock, utc_now, utc_text
from agentloop.guard.grants import Answer, Grant, OnAsk, Question, QuestionKind
from agentloop.journal import Journal
from agentloop.stores.base import Store

__all__ = ["EXPIRY_S", "Questions"]

EXPIRY_S = 600.0
"""An open question is refused after this many seconds."""


class Questions:
    """Asks on behalf of one run: a row in the store first, then `on_ask`, with the run's clock stopped.

    What is asked and kept is redacted; the answer reaches its asker as it was given.
    An approval with a `grant` is kept for the session and not asked again; a refusal holds for this
    run. Without `on_ask` nobody is there, and the answer is no.
    """

    def __init__(
        self, store: Store, journal: Journal, clock: Clock, *, session_id: str, run_id: str, on_ask: OnAsk | None
    ) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._session_id = session_id
        self._run_id = run_id
        self._on_ask = on_ask
        self._refused: set[tuple[str, str]] = set()

    async def ask(
        self, message: str, *, kind: QuestionKind = "confirm", options: Sequence[str] = (), grant: Grant | None = None
    ) -> Answer:
        """The answer; False when refused, expired or unanswerable."""
        shown = self._journal.redactor
        if grant is not None:
            grant = replace(grant, subject=shown.text(grant.subject))
        if grant is not None and await self._granted(grant):
            return True
        if grant is not None and (grant.kind, grant.subject) in self._refused:
            return False
        question = self._question(shown.text(message), kind, tuple(map(shown.text, options)), grant)
        await self._store.add_question(question)
        await self._journal.emit("ask", content=message, args={"id": question.id, "kind": kind, "options": [*options]})
        given = await self._answer(question)
        await self._store.answer_question(question.id, shown.json(given))
        await self._journal.emit("ask_result", content=message, args={"id": question.id, "answer": given})
        await self._remember(grant, given)
        return dict(zip(question.options, options, strict=True)).get(given, given) if isinstance(given, str) else given

    async def _granted(self, grant: Grant) -> bool:
        known = await self._store.grants(self._session_id)
        return any((g.kind, g.subject) == (grant.kind, grant.subject) for g in known)

    async def _remember(self, grant: Grant | None, given: Answer) -> None:
        if grant is None:
            return
        if given is True:
            await self._store.add_grant(self._session_id, grant)
        else:
            self._refused.add((grant.kind, grant.subject))

    async def _answer(self, question: Question) -> Answer:
        if self._on_ask is None:
            return False
        with self._clock.pause():
            try:
                async with asyncio.timeout(EXPIRY_S):
                    given = await self._on_ask(question)
            except TimeoutError:
                return False
        return False if given is None else given

    def _question(self, message: str, kind: QuestionKind, options: tuple[str, ...], grant: Grant | None) -> Question:
        return Question(
            id=uuid.uuid4().hex,
            session_id=self._session_id,
            run_id=self._run_id,
            kind=kind,
            message=message,
            options=options,
            grant=grant,
            asked_at=utc_now(),
            expires_at=utc_text(time.time() + EXPIRY_S),
        )
