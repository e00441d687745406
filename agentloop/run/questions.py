"""The one seam through which anything asks a person."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace

from agentloop.clock import Clock, utc_now, utc_text
from agentloop.guard.grants import ONCE, Answer, Grant, OnAsk, Question, QuestionKind, covers
from agentloop.journal import Journal
from agentloop.records import Status
from agentloop.stores.base import Store

__all__ = ["EXPIRY_S", "DeclinedQuestions", "Questions"]

EXPIRY_S = 600.0
"""An open question is refused after this many seconds."""

_CLEANUP_S = 5.0


class DeclinedQuestions:
    """What was refused in this process, by session; one belongs to a loop. Approvals are the store's."""

    def __init__(self) -> None:
        self._kept: set[tuple[str, str, str]] = set()

    def add(self, session_id: str, grant: Grant) -> None:
        """Keeps a refusal."""
        self._kept.add((session_id, grant.kind, grant.subject))

    def __contains__(self, key: tuple[str, Grant]) -> bool:
        session_id, grant = key
        return (session_id, grant.kind, grant.subject) in self._kept


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A question as it will be shown, and what is kept of each yes."""

    question: Question
    need: Grant | None
    other: Mapping[str, Grant] = field(default_factory=dict)


class Questions:
    """Asks on behalf of one run: a row in the store first, then `on_ask`, with the run's clock stopped.

    What is asked and kept is redacted; the answer reaches its asker as it was given. An approval with a `grant`
    is kept for the session and not asked again; a refusal holds for the session in this process. Of questions
    about the same grant one is open at a time, and the others have its answer. While one is open the run is
    `waiting` in the store. Without `on_ask` nobody is there, and the answer is no.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        clock: Clock,
        *,
        session_id: str,
        run_id: str,
        on_ask: OnAsk | None,
        declined: DeclinedQuestions | None = None,
        expiry_s: float = EXPIRY_S,
    ) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._session_id = session_id
        self._run_id = run_id
        self._on_ask = on_ask
        self._declined = DeclinedQuestions() if declined is None else declined
        self._expiry_s = expiry_s
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._open = 0

    async def ask(
        self,
        message: str,
        *,
        kind: QuestionKind = "confirm",
        options: Sequence[str] = (),
        grant: Grant | None = None,
        need: Grant | None = None,
        other: Mapping[str, Grant] | None = None,
    ) -> Answer:
        """The answer; False when refused, expired or unanswerable. See `agentloop.guard.grants.Ask`."""
        offers = dict(other or {})
        options = [*options, *offers]
        asked = self._asked(message, kind, options, grant, need=need, other=offers)
        async with self._one_of_a_kind(asked.question.grant):
            given = await self._known(asked)
            if given is None:
                given = await self._put(asked, message, options)
        return self._returned(asked, given, dict(zip(asked.question.options, options, strict=True)))

    def _returned(self, asked: _Asked, given: Answer, options: Mapping[str, str]) -> Answer:
        """What the asker gets: an option in its own words, a yes of any scope as True."""
        if isinstance(given, bool):
            return given
        if asked.question.kind != "confirm":
            return options.get(given, given)
        return True if given == ONCE or given in asked.other else options.get(given, False)

    def _asked(
        self,
        message: str,
        kind: QuestionKind,
        options: Sequence[str],
        grant: Grant | None,
        *,
        need: Grant | None,
        other: Mapping[str, Grant],
    ) -> _Asked:
        shown = self._journal.redactor
        words = tuple(shown.text(option) for option in options)
        question = Question(
            id=uuid.uuid4().hex,
            session_id=self._session_id,
            run_id=self._run_id,
            kind=kind,
            message=shown.text(message),
            options=words,
            grant=self._shown(grant),
            asked_at=utc_now(),
            expires_at=utc_text(time.time() + self._expiry_s),
        )
        offered = {shown.text(option): replace(g, subject=shown.text(g.subject)) for option, g in other.items()}
        return _Asked(question=question, need=self._shown(need or grant), other=offered)

    def _shown(self, grant: Grant | None) -> Grant | None:
        return None if grant is None else replace(grant, subject=self._journal.redactor.text(grant.subject))

    def _one_of_a_kind(self, grant: Grant | None) -> AbstractAsyncContextManager[None]:
        if grant is None:
            return nullcontext()
        return self._locks.setdefault((grant.kind, grant.subject), asyncio.Lock())

    async def _known(self, asked: _Asked) -> Answer | None:
        """What was answered before, None when nothing was."""
        need, grant = asked.need, asked.question.grant
        if need is None or grant is None:
            return None
        if any(covers(known, need) for known in await self._store.grants(self._session_id)):
            return True
        return False if (self._session_id, grant) in self._declined else None

    async def _put(self, asked: _Asked, message: str, options: Sequence[str]) -> Answer:
        question = asked.question
        await self._store.add_question(question)
        args = {"id": question.id, "kind": question.kind, "options": list(options)}
        await self._journal.emit("ask", content=message, args=args)
        try:
            async with self._waiting():
                given = await self._answer(question)
        except BaseException:
            # Whoever answers failed, or the asker is cancelled: no question stays open behind its run.
            await asyncio.shield(self._close(question, message, False))
            raise
        given = await self._close(question, message, given)
        await self._remember(asked, given)
        return given

    async def _close(self, question: Question, message: str, given: Answer) -> Answer:
        """Keeps the answer; one that was given to the row meanwhile stands before it."""
        if not await self._store.answer_question(question.id, self._journal.redactor.json(given)):
            kept = await self._store.get_question(question.id)
            given = given if kept is None or kept.answer is None else kept.answer
        await self._journal.emit("ask_result", content=message, args={"id": question.id, "answer": given})
        return given

    async def _remember(self, asked: _Asked, given: Answer) -> None:
        grant = asked.question.grant
        if isinstance(given, str) and given in asked.other:
            await self._store.add_grant(self._session_id, asked.other[given])
        elif given is True and grant is not None:
            await self._store.add_grant(self._session_id, grant)
        elif given is False and grant is not None:
            self._declined.add(self._session_id, grant)

    async def _answer(self, question: Question) -> Answer:
        if self._on_ask is None:
            return False
        with self._clock.pause():
            try:
                async with asyncio.timeout(self._expiry_s):
                    given = await self._on_ask(question)
            except TimeoutError:
                return False
        return False if given is None else given

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        self._open += 1
        try:
            if self._open == 1:
                await self._set_status(Status.RUNNING, Status.WAITING)
            yield
        finally:
            self._open -= 1
            if not self._open:
                async with asyncio.timeout(_CLEANUP_S):
                    await asyncio.shield(self._set_status(Status.WAITING, Status.RUNNING))

    async def _set_status(self, old: Status, new: Status) -> None:
        run = await self._store.get_run(self._run_id)
        if run is not None and run.status is old:
            await self._store.save_run(replace(run, status=new))
