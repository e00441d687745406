"""`sendEmail`: one message, by whatever the host sends mail with, after approval of exactly that message."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.guard.grants import Grant, unambiguous
from agentloop.packs.backend import BACKEND_S, bounded, required_backend
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.consent import require_approval
from agentloop.packs.options import Options
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.records import Json

__all__ = ["Email", "EmailBackend", "email_capability", "email_pack"]

_DESCRIPTION: Final = "Sends e-mail."
_LINE: Final = 998
"""Characters of recipient and subject: what a line of a message may hold (RFC 5322, 2.1.1)."""
_MOST_BODY: Final = 1024 * 1024
_SHOWN: Final = 500
_ENCODED: Final = re.compile(r"=\?[^?\s]+\?[bqBQ]\?")
_BREAK: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, kw_only=True)
class Email:
    """One message. Neither `to` nor `subject` holds a line break, so none of them can add a header."""

    to: str
    subject: str = ""
    body: str = ""


class EmailBackend(Protocol):
    """Sends a message or raises; the script reads what it raises."""

    async def send(self, message: Email) -> None: ...


def email_capability(backend: EmailBackend | None, *, seconds: float = BACKEND_S) -> Capability:
    """`sendEmail` by `backend`, which has `seconds` for each message; without one every call says so."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [email_pack(backend, Permission(context), seconds=seconds)]

    return Capability(name="email", description=_DESCRIPTION, build=build)


def email_pack(
    backend: EmailBackend | None, permission: Permission | None = None, *, seconds: float = BACKEND_S
) -> Pack:
    """The pack, which does not close the backend."""
    declarations = text("email.d.ts")
    sender = _Sender(backend, permission or Permission(), seconds)
    return Pack(
        name="email",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        # What a mail server says in an error may be anybody's words.
        primitives={"sendEmail": Primitive(sender.send, exclusive=True, untrusted=True)},
    )


class _Sender:
    def __init__(self, backend: EmailBackend | None, permission: Permission, seconds: float) -> None:
        self._backend = backend
        self._permission = permission
        self._seconds = seconds

    async def send(self, message: Json = None) -> bool:
        email = _read(message)
        await require_approval(
            self._permission, "sendEmail", question=_question(email), grant=_grant(email), **_headers(email)
        )
        backend = required_backend(self._backend, "email")
        late = say("backends.md", "late_email", seconds=f"{self._seconds:g}")
        await bounded(backend.send(email), seconds=self._seconds, late=late)
        content = f"sendEmail: {unambiguous(email.to)}: {unambiguous(email.subject)}"
        await self._permission.tell("sandbox_event", content=content, args={"kind": "email", **_headers(email)})
        return True


def _headers(email: Email) -> dict[str, Json]:
    return {"to": email.to, "subject": email.subject}


def _read(message: Json) -> Email:
    if not isinstance(message, Mapping):
        raise InvalidInput('sendEmail needs an object: {to: "ann@example.com", subject: "…", body: "…"}')
    given = Options(message, ("to", "subject", "body"))
    to, subject, body = (_text(given.value(name)) for name in ("to", "subject", "body"))
    if not to.strip():
        raise InvalidInput("sendEmail needs to: the address that the message goes to")
    if len(body) > _MOST_BODY:
        raise InvalidInput(f"sendEmail: body has {len(body)} characters, at most {_MOST_BODY} are sent")
    return Email(to=_line("to", to.strip()), subject=_line("subject", subject), body=body)


def _text(value: Json) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _line(name: str, value: str) -> str:
    if _BREAK.search(value):
        raise InvalidInput(f"sendEmail: {name} must be one line: a break in it would begin another header")
    if _ENCODED.search(value):
        raise InvalidInput(f"sendEmail: {name} has an encoded word (=?…?=): write the text itself, as it is to be read")
    if len(value) > _LINE:
        raise InvalidInput(f"sendEmail: {name} has {len(value)} characters, at most {_LINE} are sent")
    return value


def _question(email: Email) -> str:
    shown = unambiguous(email.body[:_SHOWN]) + (" …" if len(email.body) > _SHOWN else "")
    return say(
        "backends.md",
        "ask_email",
        to=unambiguous(email.to),
        subject=unambiguous(email.subject),
        count=len(email.body),
        body=shown,
    )


def _grant(email: Email) -> Grant:
    """Covers this message and no other: a yes to a greeting is none to whatever comes after it."""
    digest = hashlib.sha256(email.body.encode("utf-8", "surrogatepass")).hexdigest()
    subject = f"sendEmail to {unambiguous(email.to)}; subject {unambiguous(email.subject)}; text sha256 {digest}"
    return Grant(kind="action", subject=subject)
