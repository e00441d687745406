from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from smtplib import SMTPException

import pytest

from agentloop.errors import InvalidInput
from agentloop.guard import AllowAll
from agentloop.packs.email import Email, email_capability
from agentloop.packs.smtp import SMTPBackend
from tests.packs.scripts import scripts_with


@dataclass
class MailServer:
    """As much of SMTP as a client needs; `refuse` is what it says to every recipient."""

    refuse: str = ""
    port: int = 0
    recipients: list[str] = field(default_factory=list)
    mails: list[EmailMessage] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(b"220 ready\r\n")
            while line := (await reader.readline()).decode().strip():
                await self._answer(line, reader, writer)
        finally:
            self.left.set()
            writer.close()

    async def _answer(self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        verb = line.split()[0].upper()
        reply = b"250 ok"
        if verb == "RCPT":
            self.recipients.append(line)
            reply = self.refuse.encode() or reply
        elif verb == "DATA":
            writer.write(b"354 go on\r\n")
            data = await reader.readuntil(b"\r\n.\r\n")
            mail = message_from_bytes(data[:-3].replace(b"\n..", b"\n."), policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
        elif verb == "QUIT":
            reply = b"221 bye"
        writer.write(reply + b"\r\n")


@asynccontextmanager
async def mail_server(refuse: str = "") -> AsyncIterator[MailServer]:
    served = MailServer(refuse=refuse)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()


def backend(server: MailServer, **more: str) -> SMTPBackend:
    return SMTPBackend(host="127.0.0.1", port=server.port, sender="me@example.com", security="none", **more)  # type: ignore[arg-type]


async def test_a_script_sends_a_mail() -> None:
    async with mail_server() as server:
        async with scripts_with(email_capability(backend(server)), policy=AllowAll()) as scripts:
            await scripts.value(
                "sendEmail({to: 'Ann <ann@example.com>, bob@example.com', subject: 'Grüße', body: 'Hällo\\n.\\n'})"
            )
        [mail] = server.mails
    assert (mail["From"], mail["Subject"]) == ("me@example.com", "Grüße")
    assert mail["Date"] and mail["Message-ID"]
    assert mail.get_content().replace("\r\n", "\n") == "Hällo\n.\n"
    assert [line.split("<")[1].split(">")[0] for line in server.recipients] == ["ann@example.com", "bob@example.com"]


@pytest.mark.parametrize("to", ["nobody", "@", "a b c", "x@", "x@y.z\nBcc: eve@example.com"])
async def test_what_is_no_address_goes_nowhere(to: str) -> None:
    async with mail_server() as server:
        with pytest.raises(InvalidInput):
            await backend(server).send(Email(to=to))
    assert not server.mails and not server.recipients


async def test_what_the_server_refuses_is_told_and_nothing_stays_open() -> None:
    async with mail_server(refuse="550 no such user here") as server:
        with pytest.raises(SMTPException, match="no such user"):
            await backend(server).send(Email(to="ann@example.com"))
        async with asyncio.timeout(10):
            await server.left.wait()


async def test_nobody_is_written_to_in_the_clear_unless_that_is_said() -> None:
    async with mail_server() as server:
        secure = SMTPBackend(host="127.0.0.1", port=server.port, sender="me@example.com")
        with pytest.raises(SMTPException, match="STARTTLS"):
            await secure.send(Email(to="ann@example.com"))
        assert not server.mails


def test_a_password_is_not_shown() -> None:
    assert "hunter2" not in repr(SMTPBackend(host="x", sender="y", password="hunter2"))
