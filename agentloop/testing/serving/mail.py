"""A mail list: rows with bare icon buttons, a message, an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aiohttp import web

from agentloop.testing.serving.template import Html, Templates
from agentloop.testing.serving.visitors import visitor_state

__all__ = ["mail_routes"]


@dataclass(frozen=True)
class _Message:
    id: int
    sender: str
    subject: str
    when: str
    text: str


_MESSAGES = (
    _Message(
        1,
        "Edin Rowe",
        "Velvet curtains",
        "09:14",
        "The velvet curtains are back in stock. Shall I keep a pair for you until Friday?",
    ),
    _Message(
        2,
        "Mara Quill",
        "Minutes of Tuesday",
        "08:51",
        "Attached are the minutes. We meet again on the 14th, at ten, in room 3.",
    ),
    _Message(
        3,
        "Tobias Finch",
        "Train tickets",
        "Mon",
        "Two seats are booked, coach 7, seats 61 and 62. The code for the machine is QF81T.",
    ),
    _Message(
        4,
        "Ines Hartl",
        "Rooftop garden",
        "Mon",
        "The tomatoes are ripe. Bring a basket, there are more than we can eat.",
    ),
    _Message(
        5,
        "Library",
        "Two books are due",
        "Sun",
        "Please return The Salt Path and A Short History of Glass by the 22nd.",
    ),
    _Message(6, "Edin Rowe", "Re: Velvet curtains", "Sat", "Dark green or rust? I need to know by Thursday."),
    _Message(
        7,
        "Olu Adeyemi",
        "Photos from the lake",
        "Fri",
        "I put all 48 of them into the shared album. Number 31 is my favourite.",
    ),
)


@dataclass
class _Mailbox:
    gone: set[int] = field(default_factory=set)
    starred: set[int] = field(default_factory=set)
    sent: int = 0

    def messages(self) -> list[_Message]:
        return [message for message in _MESSAGES if message.id not in self.gone]


class _Mail:
    def __init__(self) -> None:
        self._templates = Templates("mail")

    def _page(self, request: web.Request, title: str, body: Html) -> web.Response:
        box = visitor_state(request, _Mailbox)
        page = self._templates.render(
            "page", title=title, body=body, query=request.query.get("q", ""), count=len(box.messages()), sent=box.sent
        )
        return web.Response(text=page, content_type="text/html")

    async def list(self, request: web.Request) -> web.Response:
        box = visitor_state(request, _Mailbox)
        words = request.query.get("q", "").lower()
        found = [m for m in box.messages() if words in f"{m.sender} {m.subject} {m.text}".lower()]
        rows = self._rows(found, box) or self._templates.render("none")
        return self._page(request, "Mail", self._templates.render("list", rows=rows, count=len(found)))

    def _rows(self, messages: Iterable[_Message], box: _Mailbox) -> Html:
        return Html(
            "".join(
                self._templates.render(
                    "row",
                    id=message.id,
                    sender=message.sender,
                    subject=message.subject,
                    when=message.when,
                    on=" on" if message.id in box.starred else "",
                )
                for message in messages
            )
        )

    def _wanted(self, request: web.Request) -> _Message:
        for message in visitor_state(request, _Mailbox).messages():
            if str(message.id) == request.match_info["id"]:
                return message
        raise web.HTTPNotFound(text="There is no such message.")

    async def message(self, request: web.Request) -> web.Response:
        message = self._wanted(request)
        body = self._templates.render(
            "message",
            id=message.id,
            sender=message.sender,
            subject=message.subject,
            when=message.when,
            text=message.text,
        )
        return self._page(request, message.subject, body)

    async def star(self, request: web.Request) -> web.Response:
        visitor_state(request, _Mailbox).starred ^= {self._wanted(request).id}
        raise web.HTTPSeeOther("/mail/")

    async def trash(self, request: web.Request) -> web.Response:
        visitor_state(request, _Mailbox).gone.add(self._wanted(request).id)
        raise web.HTTPSeeOther("/mail/")

    async def answer(self, request: web.Request) -> web.Response:
        message = self._wanted(request)
        fields = await request.post()
        if not str(fields.get("text", "")).strip():
            raise web.HTTPSeeOther(f"/mail/{message.id}")
        visitor_state(request, _Mailbox).sent += 1
        return self._page(request, "Sent", self._templates.render("sent", sender=message.sender))


def mail_routes() -> list[web.RouteDef]:
    """The routes under `/mail/`, but for its files."""
    mail = _Mail()
    return [
        web.get("/mail/", mail.list),
        web.get("/mail/{id:[0-9]+}", mail.message),
        web.post("/mail/{id:[0-9]+}/star", mail.star),
        web.post("/mail/{id:[0-9]+}/trash", mail.trash),
        web.post("/mail/{id:[0-9]+}/answer", mail.answer),
    ]
