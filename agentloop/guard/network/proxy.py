"""The filtering forward proxy that every browser context is born behind.

It speaks HTTP (kept connections), CONNECT and websocket upgrades, asks its gate about every
destination, connects to the address that was checked, and answers 403 to the rest. One proxy is
one listening socket and nothing else until somebody connects.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Self, TypeAlias

import h11

from agentloop.errors import Closed, RequestRefused
from agentloop.guard.logs import logger
from agentloop.guard.network.base import (
    Checked,
    DecisionCount,
    DecisionLog,
    Gate,
    NetworkDecision,
    OnDecision,
    OwnPorts,
    ProxyLimits,
)
from agentloop.guard.network.conversation import Conversation
from agentloop.guard.network.egress import CONNECTION_CAP, Egress, EgressDoor
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.relay import Peer
from agentloop.guard.network.request import Credentials

__all__ = ["BeforeConnect", "FilteringProxy", "RefusingProxy"]

BeforeConnect: TypeAlias = Callable[[str, int, str], Awaitable[None]]
"""Awaited with host, port and scheme ("" in a tunnel) of what may be reached; it may raise `RequestRefused`."""

_log = logger(__name__)
_CLOSE_S = 5.0
# So many more connections are told why they are refused; those beyond get the bare status.
_TOLD = 64
_PROBE = "probe"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class _Listener:
    """A listening socket on 127.0.0.1 whose connections end with it."""

    def __init__(
        self,
        gate: Gate,
        own_ports: OwnPorts,
        *,
        credentials: Credentials | None,
        on_decision: OnDecision | None,
        limits: ProxyLimits,
        door: EgressDoor | None,
    ) -> None:
        self._gate = gate
        self._own_ports = own_ports
        self._credentials = credentials
        self._on_decision = on_decision
        self._limits = limits
        self._door = door or Egress().door("page")
        self._counts = DecisionLog()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port on 127.0.0.1. Raises `Closed` before it was opened."""
        if not self._port:
            raise Closed("the proxy is not open: use it as an async context manager")
        return self._port

    @property
    def url(self) -> str:
        """What a browser is given as its proxy's address, without credentials."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def decisions(self) -> tuple[DecisionCount, ...]:
        """How often each host was allowed or refused, in the order of first sight; bounded."""
        return self._counts.counts()

    @property
    def connections(self) -> int:
        """Client connections open now."""
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=128)
        self._port = self._server.sockets[0].getsockname()[1]
        self._own_ports.add(self._port)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the socket and every connection, within 5 s each. A second call does nothing."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        self._own_ports.discard(self._port)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
        try:
            async with asyncio.timeout(_CLOSE_S):
                await server.wait_closed()
        except TimeoutError:
            _log.warning("a connection of the proxy on port %d did not close", self._port)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        beyond = len(self._tasks) - self._limits.connections
        if self._server is None or beyond >= _TOLD:
            writer.write(_FULL)
            writer.close()
            return
        task = asyncio.create_task(self._converse(reader, writer, full=beyond >= 0))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, full: bool) -> None:
        client = Peer(reader, writer, role=h11.SERVER, head_bytes=self._limits.head_bytes)
        limits = self._limits
        conversation = Conversation(
            client,
            _Full(limits.connections) if full else self._gate,
            credentials=self._credentials,
            limits=replace(limits, idle_s=limits.head_s) if full else limits,
            decide=self._decide,
            door=self._door,
        )
        try:
            await conversation.run()
        except Exception:
            # The border of a connection: what goes wrong in one must not end the others.
            _log.exception("a proxy connection failed")

    def _decide(self, decision: NetworkDecision) -> None:
        self._counts.add(decision)
        self._door(decision)
        if self._on_decision is not None:
            self._on_decision(decision)


class FilteringProxy(_Listener):
    """`async with FilteringProxy(boundary) as proxy`: one context's way out.

    It has its own port, user name and password; without those it answers 407 to everybody else.
    A request for `probe_host`, which leads nowhere, is neither judged nor told of: it sets `probed`, which proves
    that whoever asked goes through here. `before_connect` may wait before a host is connected to, and raise
    `RequestRefused`. What passes is counted, and held to a cap, by the run's `door`; without one by a door of its
    own. Raises `InvalidInput` when the boundary holds a pattern with a path.
    """

    def __init__(
        self,
        boundary: Boundary,
        *,
        on_decision: OnDecision | None = None,
        limits: ProxyLimits | None = None,
        door: EgressDoor | None = None,
    ) -> None:
        self._own_credentials = Credentials.random()
        self.probe_host = f"{secrets.token_hex(16)}.invalid"
        self.probed = False
        self.before_connect: BeforeConnect | None = None
        super().__init__(
            _Probed(boundary.for_browser(), self.probe_host, held=self._held),
            boundary.own_ports,
            credentials=self._own_credentials,
            on_decision=on_decision,
            limits=limits or ProxyLimits(),
            door=door,
        )

    async def _held(self, checked: Checked, scheme: str) -> Checked:
        if self.before_connect is not None:
            await self.before_connect(checked.host, checked.port, scheme)
        return checked

    def _decide(self, decision: NetworkDecision) -> None:
        if decision.host == self.probe_host and decision.rule == _PROBE:
            self.probed = True
        else:
            super()._decide(decision)

    @property
    def username(self) -> str:
        """The user name that this proxy's context must give."""
        return self._own_credentials.username

    @property
    def password(self) -> str:
        """The password that this proxy's context must give."""
        return self._own_credentials.password


class RefusingProxy(_Listener):
    """What a browser is launched behind: whatever is no session's context reaches nothing."""

    def __init__(
        self,
        *,
        own_ports: OwnPorts | None = None,
        on_decision: OnDecision | None = None,
        limits: ProxyLimits | None = None,
    ) -> None:
        super().__init__(
            _Nowhere(),
            OwnPorts() if own_ports is None else own_ports,
            credentials=None,
            on_decision=on_decision,
            limits=limits or ProxyLimits(),
            door=None,
        )


class _Probed:
    """A gate and one host more, which is nobody's."""

    def __init__(self, gate: Gate, probe_host: str, *, held: Callable[[Checked, str], Awaitable[Checked]]) -> None:
        self._gate = gate
        self._probe_host = probe_host
        self._held = held

    async def resolve(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> Checked:
        if host == self._probe_host:
            raise RequestRefused("this proves that requests come by here", host=host, rule=_PROBE)
        return await self._held(await self._gate.resolve(host, port, scheme, path=path), scheme)


class _Full:
    """The gate of a connection beyond those that a context may have open."""

    def __init__(self, connections: int) -> None:
        self._connections = connections

    async def resolve(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> Checked:
        raise RequestRefused(
            f"{host}:{port} is not reachable now (rule {CONNECTION_CAP}): {self._connections} connections of this "
            "session are open already",
            host=host,
            rule=CONNECTION_CAP,
        )


class _Nowhere:
    async def resolve(self, host: str, port: int, scheme: str = "", *, path: str | None = None) -> Checked:
        raise RequestRefused(
            f"{host}:{port} is not reachable (rule outside-session): only a session's own context reaches anything",
            host=host,
            rule="outside-session",
        )
