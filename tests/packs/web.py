"""A loopback site that counts who came, a sandbox with packs, and people who answer questions."""

from __future__ import annotations

import json
import ssl
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from agentloop.capabilities import BuildContext
from agentloop.clock import Clock
from agentloop.guard import Answer, Boundary, Grant, GuardedClient, OwnPorts, Policy, Question
from agentloop.journal import Journal
from agentloop.packs.base import Pack
from agentloop.packs.permission import Permission
from agentloop.records import RunRecord, Session
from agentloop.run.questions import Questions
from agentloop.sandbox import Outcome, open_sandbox
from agentloop.stores.memory import MemoryStore

__all__ = ["Names", "Person", "Site", "guarded", "outcome", "served", "value"]


class Site:
    """What arrived at one address: `hits` by path, `requests` as they came, `sockets` that they came by."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.port = 0
        self.hits: Counter[str] = Counter()
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.sockets: set[object] = set()
        self.routes: dict[str, Callable[[], web.StreamResponse]] = {}

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.hits[request.path] += 1
        self.requests.append(request)
        self.bodies.append(await request.read())
        self.sockets.add(request.transport)
        if request.path in self.routes:
            return self.routes[request.path]()
        if request.path == "/redirect":
            status = int(request.query.get("status", "302"))
            return web.Response(status=status, headers={"Location": request.query["to"]})
        return web.Response(text=f"{request.method} {request.path}", headers={"X-Test": "yes"})


@asynccontextmanager
async def served(
    host: str = "127.0.0.1", port: int = 0, *, ssl_context: ssl.SSLContext | None = None
) -> AsyncIterator[Site]:
    """A site until the block ends."""
    site = Site(host)
    runner = web.ServerRunner(web.Server(site.answer), shutdown_timeout=0.1)
    await runner.setup()
    try:
        listener = web.TCPSite(runner, host, port, ssl_context=ssl_context)
        await listener.start()
        site.port = runner.addresses[0][1]
        yield site
    finally:
        await runner.cleanup()


class Names:
    """A resolver with a table; a name's answers are given one after another, the last one for ever."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        found = self.answers.get(host, [])
        if not found:
            raise OSError("no such name")
        return [found.pop(0) if len(found) > 1 else found[0]]


class Person:
    """Answers questions as told, through the real seam with its real store; `messages` are what was asked."""

    def __init__(self, *answers: bool) -> None:
        self.messages: list[str] = []
        self.store = MemoryStore()
        self._answers = list(answers)

    async def on_ask(self, question: Question) -> Answer | None:
        self.messages.append(question.message)
        return self._answers.pop(0) if self._answers else False

    async def questions(self) -> Questions:
        """Those of a new run of the one session."""
        await self.store.create_session(Session(session_id="s"))
        run = await self.store.create_run(RunRecord(run_id=uuid.uuid4().hex, session_id="s", epoch=1))
        journal = Journal(self.store, run)
        return Questions(self.store, journal, Clock(), session_id="s", run_id=run.run_id, on_ask=self.on_ask)

    async def permission(self, policy: Policy | None = None) -> Permission:
        """Leave in a new run."""
        return Permission(BuildContext(policy=policy, ask=(await self.questions()).ask))

    async def grants(self) -> list[Grant]:
        return list(await self.store.grants("s"))


@asynccontextmanager
async def guarded(
    *allow: str | Site, names: Names | None = None, own_ports: OwnPorts | None = None, **options: Any
) -> AsyncIterator[GuardedClient]:
    """A client behind a boundary that opens these places; none of them: nothing but what is public."""
    patterns = [f"http://{place.place}" if isinstance(place, Site) else place for place in allow]
    boundary = Boundary(allow=patterns or None, resolver=names or Names(), own_ports=own_ports)
    async with GuardedClient(boundary, **options) as client:
        yield client


async def outcome(script: str, *packs: Pack, args: Any = None) -> Outcome:
    """What a script does in a sandbox of its own."""
    async with open_sandbox(packs=packs) as sandbox:
        return await sandbox.run(script, json.dumps(args or {}))


async def value(expression: str, *packs: Pack, args: Any = None) -> Any:
    """What an expression is in a sandbox with these packs; `args` are its data."""
    done = await outcome(f"function run(args) {{ return {expression} }}", *packs, args=args)
    assert done.error is None, done.error
    return json.loads(done.value_json or "null")
