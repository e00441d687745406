from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from agentloop.guard import DefaultPolicy
from agentloop.packs.email import Email, EmailBackend, email_capability
from tests.packs.scripts import Person, scripts_with

ALLOWED = DefaultPolicy(allow_tools=frozenset({"sendEmail"}))
HELLO = '{to: "ann@example.com", subject: "Hello", body: "How are you?"}'


@dataclass
class Outbox:
    """A backend that keeps what it was to send."""

    error: str = ""
    sent: list[Email] = field(default_factory=list)

    async def send(self, message: Email) -> None:
        if self.error:
            raise ConnectionError(self.error)
        self.sent.append(message)


async def error(backend: EmailBackend | None, message: str) -> str:
    async with scripts_with(email_capability(backend), policy=ALLOWED) as scripts:
        return await scripts.error(f"sendEmail({message})")


async def test_the_message_reaches_the_backend_as_it_is() -> None:
    outbox = Outbox()
    async with scripts_with(email_capability(outbox), policy=ALLOWED) as scripts:
        assert await scripts.value(f"sendEmail({HELLO})") is True
    assert outbox.sent == [Email(to="ann@example.com", subject="Hello", body="How are you?")]
    [event] = scripts.events
    assert event["args"] == {"kind": "email", "to": "ann@example.com", "subject": "Hello"}
    assert "How are you" not in json.dumps(event)


@pytest.mark.parametrize("message", ["", "null", "'ann@example.com'", "{}", "{to: ''}", "{to: '  '}", "{subject: 'x'}"])
async def test_without_a_recipient_nobody_is_asked_and_nothing_sent(message: str) -> None:
    outbox, person = Outbox(), Person(answer=True)
    async with scripts_with(email_capability(outbox), policy=DefaultPolicy(), person=person) as scripts:
        assert "sendEmail needs" in await scripts.error(f"sendEmail({message})")
    assert not outbox.sent and not person.asked


async def test_what_is_no_text_becomes_text_and_what_is_missing_is_empty() -> None:
    outbox = Outbox()
    async with scripts_with(email_capability(outbox), policy=ALLOWED) as scripts:
        await scripts.value("sendEmail({to: 'a@b.c', subject: 12})")
        await scripts.value("sendEmail({to: ' a@b.c ', subject: null, body: {n: [1]}})")
    assert outbox.sent == [Email(to="a@b.c", subject="12"), Email(to="a@b.c", body='{"n": [1]}')]


async def test_what_the_backend_says_can_be_caught() -> None:
    assert await error(Outbox(error="550 no such user"), HELLO) == "ConnectionError: 550 no such user"


async def test_without_a_backend_the_call_says_so() -> None:
    assert "no email backend" in await error(None, HELLO)


async def test_a_backend_that_takes_too_long_is_given_up() -> None:
    class Slow:
        async def send(self, message: Email) -> None:
            await asyncio.Event().wait()

    async with scripts_with(email_capability(Slow(), seconds=0.05), policy=ALLOWED) as scripts:
        assert "may have been sent" in await scripts.error(f"sendEmail({HELLO})")


@pytest.mark.parametrize("name", ["to", "subject"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\0"])
async def test_no_line_can_bring_in_another_header(name: str, end: str) -> None:
    outbox = Outbox()
    fields = {"to": "a@b.c", "subject": "x", name: f"x@y.z{end}Bcc: eve@example.com"}
    async with scripts_with(email_capability(outbox), policy=ALLOWED) as scripts:
        assert f"{name} must be one line" in await scripts.error(f"sendEmail({json.dumps(fields)})")
    assert not outbox.sent


@pytest.mark.parametrize("name", ["to", "subject"])
@pytest.mark.parametrize("word", ["=?utf-8?q?=0aBcc:_eve=40example.com?=", "=?UTF-8?B?ZXZlQGV4YW1wbGUuY29t?= <a@b.c>"])
async def test_nobody_is_asked_about_what_is_read_otherwise(name: str, word: str) -> None:
    outbox, person = Outbox(), Person(answer=True)
    fields = {"to": "a@b.c", "subject": "x", name: word}
    async with scripts_with(email_capability(outbox), policy=DefaultPolicy(), person=person) as scripts:
        assert f"{name} has an encoded word" in await scripts.error(f"sendEmail({json.dumps(fields)})")
    assert not outbox.sent and not person.asked


@pytest.mark.parametrize("field", ["to", "subject", "body"])
async def test_what_is_too_long_is_refused(field: str) -> None:
    message = f"{{to: 'a@b.c', {field}: 'x'.repeat(1100000)}}"
    assert "at most" in await error(Outbox(), message)


async def test_what_there_is_not_is_named() -> None:
    assert "bcc" in await error(Outbox(), "{to: 'a@b.c', bcc: 'eve@example.com'}")


# Approval --------------------------------------------------------------------------------------------


async def test_by_default_it_is_denied_and_nothing_sent() -> None:
    outbox = Outbox()
    async with scripts_with(email_capability(outbox), policy=DefaultPolicy()) as scripts:
        assert "denied by the default sandbox policy" in await scripts.error(f"sendEmail({HELLO})")
    assert not outbox.sent


@pytest.mark.parametrize("answer", [True, False])
async def test_a_person_is_asked_about_exactly_this_message(answer: bool) -> None:
    outbox, person = Outbox(), Person(answer=answer)
    async with scripts_with(email_capability(outbox), policy=DefaultPolicy(), person=person) as scripts:
        if answer:
            assert await scripts.value(f"sendEmail({HELLO})") is True
        else:
            assert "declined" in await scripts.error(f"sendEmail({HELLO})")
    assert len(outbox.sent) == answer
    [(question, grant)] = person.asked
    assert "To: ann@example.com\nSubject: Hello\nText (12 characters): How are you?" in question
    assert grant.kind == "action" and "ann@example.com" in grant.subject


async def test_a_yes_covers_no_other_text_subject_or_recipient() -> None:
    person = Person(answer=True)
    async with scripts_with(email_capability(Outbox()), policy=DefaultPolicy(), person=person) as scripts:
        for fields in ("to: 'a@b.c'", "to: 'a@b.d'", "to: 'a@b.c', subject: 'x'", "to: 'a@b.c', body: 'x'"):
            await scripts.value(f"sendEmail({{{fields}}})")
    assert len({grant.subject for _, grant in person.asked}) == 4


async def test_the_question_cannot_be_dressed_up() -> None:
    person = Person(answer=False)
    evil = {"to": "a@b.c\u202ecba", "subject": "{body} $'x'", "body": "hi\nTo: boss@example.com\n\x1b[2J" + "x" * 900}
    async with scripts_with(email_capability(Outbox()), policy=DefaultPolicy(), person=person) as scripts:
        await scripts.error(f"sendEmail({json.dumps(evil)})")
    [(question, _)] = person.asked
    assert question.isprintable() is False and question.replace("\n", "").isprintable()
    assert [line.partition(":")[0] for line in question.splitlines()[1:]] == ["To", "Subject", "Text (928 characters)"]
    assert "{body}" in question and question.endswith(" …") and len(question) < 800
