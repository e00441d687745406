"""Mail by SMTP: a backend for the pack `email`."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from dataclasses import dataclass, field
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Literal

from agentloop.errors import InvalidInput
from agentloop.packs.email import Email

__all__ = ["SMTPBackend"]


@dataclass(frozen=True, kw_only=True)
class SMTPBackend:
    """Sends each message over a connection of its own.

    `sender` is the address that messages come from. `security`: "starttls" and "tls" verify the server's certificate,
    "none" sends in the clear. `timeout` holds for each step with the server, in seconds; a call that was given up may
    still send its message.
    """

    host: str
    sender: str
    port: int = 587
    user: str = ""
    password: str = field(default="", repr=False)
    security: Literal["starttls", "tls", "none"] = "starttls"
    timeout: float = 20.0

    async def send(self, message: Email) -> None:
        """Raises `InvalidInput` for addresses that are none, `smtplib.SMTPException` and `OSError`."""
        await asyncio.to_thread(self._send, self._written(message))

    def _written(self, message: Email) -> EmailMessage:
        mail = EmailMessage()
        try:
            mail["From"], mail["To"], mail["Subject"] = self.sender, message.to, message.subject
        except (ValueError, IndexError, MessageError) as error:  # IndexError: the parser's own, for a cut address
            raise InvalidInput(f"the message cannot be written: {error}") from None
        addresses = getattr(mail["To"], "addresses", ())
        if not addresses or not all(address.username and address.domain for address in addresses):
            raise InvalidInput(f"{message.to!r} is no e-mail address, or list of them with commas")
        mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="agentloop.invalid")
        mail.set_content(message.body.encode("utf-8", "replace").decode())
        return mail

    def _send(self, mail: EmailMessage) -> None:
        with self._connected() as server:
            if self.user:
                server.login(self.user, self.password)
            server.send_message(mail)

    def _connected(self) -> smtplib.SMTP:
        if self.security == "tls":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout, context=context)
        server = smtplib.SMTP(self.host, self.port, timeout=self.timeout)
        if self.security == "starttls":
            try:
                server.starttls(context=ssl.create_default_context())
            except BaseException:
                server.close()
                raise
        return server
