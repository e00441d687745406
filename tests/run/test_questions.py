"""The seam through which everything asks, with its real store and journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from agentloop.clock import Clock
from agentloop.errors import NobodyThere
from agentloop.events import RunEvent
from agentloop.guard.grants import ONCE, Answer, Grant, OnAsk, Question
from agentloop.guard.redact import Redactor
from agentloop.journal import Journal
from agentloop.records import RunRecord, Session, Status
from agentloop.run.questions import DeclinedQuestions, Questions
from agentloop.stores.memory import MemoryStore

FILE = Grant(kind="path", subject="modify src/a.py")
FOLDER = {"always under src/": Grant(kind="path", subject="modify src/")}


class Hand:
    """A time source moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Desk:
    """One run's questions, and all that can be seen of them."""

    questions: Questions
    store: MemoryStore
    clock: Clock
    hand: Hand
    events: list[RunEvent] = field(default_factory=list)

    @property
    def told(self) -> list[tuple[str, object]]:
        return [(event.type, event.args.get("answer") if event.args else None) for event in self.events]


@asynccontextmanager
async def desk(
    on_ask: OnAsk | None,
    *,
    store: MemoryStore | None = None,
    session: str = "s",
    declined: DeclinedQuestions | None = None,
    expiry_s: float = 600.0,
    redactor: Redactor | None = None,
) -> AsyncIterator[Desk]:
    store = store or MemoryStore()
    await store.create_session(Session(session_id=session))
    run = await store.create_run(RunRecord(run_id=uuid4().hex, session_id=session, epoch=1, status=Status.RUNNING))
    events: list[RunEvent] = []
    hand = Hand()
    clock = Clock(hand)
    journal = Journal(store, run, on_event=events.append, redactor=redactor)
    questions = Questions(
        store,
        journal,
        clock,
        session_id=session,
        run_id=run.run_id,
        on_ask=on_ask,
        declined=declined,
        expiry_s=expiry_s,
    )
    yield Desk(questions, store, clock, hand, events)


class Person:
    """Gives answers one after the other, and keeps what was asked."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer | None:
        self.asked.append(question)
        await asyncio.sleep(0)
        return self.answers.pop(0)


async def test_a_yes_is_kept_for_the_session_and_a_no_for_this_process() -> None:
    person, store, declined = Person(True, False), MemoryStore(), DeclinedQuestions()
    other = Grant(kind="path", subject="modify b")
    async with desk(person, store=store, declined=declined) as first:
        assert [await first.questions.ask("?", grant=FILE) for _ in range(2)] == [True, True]
        assert [await first.questions.ask("?", grant=other) for _ in range(2)] == [False, False]
    async with desk(person, store=store, declined=declined) as next_run:
        assert await next_run.questions.ask("?", grant=FILE) is True
        assert await next_run.questions.ask("?", grant=other) is False
    assert len(person.asked) == 2
    later = Person(True)
    async with desk(later, store=store) as another_process:
        assert await another_process.questions.ask("?", grant=other) is True


async def test_another_session_is_asked_afresh() -> None:
    person, store, declined = Person(True, False, True), MemoryStore(), DeclinedQuestions()
    async with desk(person, store=store, declined=declined) as one:
        assert await one.questions.ask("?", grant=FILE) is True
    async with desk(person, store=store, declined=declined, session="t") as two:
        assert await two.questions.ask("?", grant=FILE) is False
    async with desk(person, store=store, declined=declined, session="u") as three:
        assert await three.questions.ask("?", grant=FILE) is True


async def test_once_is_a_yes_that_is_not_kept() -> None:
    person = Person(ONCE, ONCE)
    async with desk(person) as one:
        assert [await one.questions.ask("?", grant=FILE) for _ in range(2)] == [True, True]
        assert await one.store.grants("s") == ()


async def test_an_option_of_a_confirm_is_a_yes_of_its_own_scope() -> None:
    person = Person("always under src/", "something else")
    async with desk(person) as one:
        assert await one.questions.ask("?", grant=FILE, other=FOLDER) is True
        assert await one.questions.ask("?", grant=Grant(kind="path", subject="modify src/deep/b.py")) is True
        assert await one.questions.ask("?", grant=Grant(kind="path", subject="modify srcs/b.py"), other=FOLDER) is False
        assert [grant.subject for grant in await one.store.grants("s")] == ["modify src/"]
    assert person.asked[0].options == ("always under src/",)


async def test_what_is_needed_may_be_less_than_what_a_yes_covers() -> None:
    host = Grant(kind="host", subject="a.test:443")
    page = Grant(kind="host", subject="a.test:443/v1/x")
    person = Person("only under /v1/", True)
    async with desk(person) as one:
        scopes = {"only under /v1/": Grant(kind="host", subject="a.test:443/v1/")}
        assert await one.questions.ask("?", grant=host, need=page, other=scopes) is True
        assert await one.questions.ask("?", grant=host, need=page) is True
        elsewhere = Grant(kind="host", subject="a.test:443/v2/x")
        assert await one.questions.ask("?", grant=host, need=elsewhere) is True
    assert len(person.asked) == 2


async def test_a_refused_host_is_not_asked_about_for_its_next_page() -> None:
    host = Grant(kind="host", subject="a.test:443")
    person = Person(False)
    async with desk(person) as one:
        for path in ("/a", "/b"):
            need = Grant(kind="host", subject=f"a.test:443{path}")
            assert await one.questions.ask("?", grant=host, need=need) is False


async def test_of_the_same_question_one_is_open_and_the_others_have_its_answer() -> None:
    person = Person(True)
    async with desk(person) as one, asyncio.TaskGroup() as group:
        asked = [group.create_task(one.questions.ask("?", grant=FILE)) for _ in range(3)]
    assert [task.result() for task in asked] == [True, True, True]
    assert len(person.asked) == 1


async def test_the_clock_stands_still_while_a_person_thinks() -> None:
    async def slow(question: Question) -> bool:
        one.hand.at += 500
        return True

    async with desk(slow) as one:
        one.hand.at += 3
        await one.questions.ask("?", grant=FILE)
        assert one.clock.now() == 3


async def test_an_open_question_is_refused_when_it_expires() -> None:
    async def never(question: Question) -> bool:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async with desk(never, expiry_s=0.01) as one:
        assert await one.questions.ask("?", grant=FILE) is False
        assert one.told == [("ask", None), ("ask_result", False)]


async def test_a_run_waits_while_a_question_is_open() -> None:
    seen: list[Status] = []

    async def looking(question: Question) -> bool:
        run = await one.store.get_run(question.run_id)
        assert run is not None
        seen.append(run.status)
        assert [q.id for q in await one.store.open_questions(question.run_id)] == [question.id]
        return True

    async with desk(looking) as one:
        await one.questions.ask("?", grant=FILE)
        [run] = await one.store.runs("s")
    assert (seen, run.status) == ([Status.WAITING], Status.RUNNING)
    assert await one.store.open_questions(run.run_id) == ()


async def test_nothing_stays_open_when_the_asker_is_cancelled() -> None:
    asked = asyncio.Event()

    async def never(question: Question) -> bool:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async with desk(never) as one:
        task = asyncio.create_task(one.questions.ask("?", grant=FILE))
        await asked.wait()
        task.cancel()
        await asyncio.wait([task])
        [run] = await one.store.runs("s")
        assert (task.cancelled(), run.status) == (True, Status.RUNNING)
        assert await one.store.open_questions(run.run_id) == ()
        assert one.told == [("ask", None), ("ask_result", False)]
        one.hand.at += 1
        assert one.clock.now() == 1


async def test_whoever_cannot_answer_is_no_refusal() -> None:
    answers: list[bool | Exception] = [NobodyThere("no terminal"), True]

    async def on_ask(question: Question) -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with desk(on_ask) as one:
        with pytest.raises(NobodyThere):
            await one.questions.ask("?", grant=FILE)
        assert await one.questions.ask("?", grant=FILE) is True
        assert one.told == [("ask", None), ("ask_result", False), ("ask", None), ("ask_result", True)]


async def test_an_answer_given_to_the_row_stands() -> None:
    async def meanwhile(question: Question) -> bool:
        await one.store.answer_question(question.id, True)
        return False

    async with desk(meanwhile) as one:
        assert await one.questions.ask("?", grant=FILE) is True


async def test_with_nobody_there_the_answer_is_no_but_what_was_approved_holds() -> None:
    async with desk(None) as one:
        assert await one.questions.ask("?", grant=FILE) is False
        await one.store.add_grant("s", Grant(kind="path", subject="modify other"))
        assert await one.questions.ask("?", grant=Grant(kind="path", subject="modify other")) is True


async def test_a_choice_and_a_text_are_given_as_they_are() -> None:
    person = Person("left", "as it is")
    async with desk(person) as one:
        assert await one.questions.ask("Which?", kind="choice", options=["left", "right"]) == "left"
        assert await one.questions.ask("Name?", kind="text") == "as it is"
