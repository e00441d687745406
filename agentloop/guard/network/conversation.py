"""One client's connection to the filtering proxy, request after request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import h11

from agentloop.errors import InvalidInput, RequestRefused, WorldError
from agentloop.guard.network.base import (
    BLOCKED_HEADER,
    UNREACHABLE_HEADER,
    Checked,
    Gate,
    NetworkDecision,
    ProxyLimits,
)
from agentloop.guard.network.egress import CONNECTION_CAP, EgressDoor
from agentloop.guard.network.relay import Peer, dial, exchange, tunnel
from agentloop.guard.network.request import Credentials, Destination, header, onward, read_destination, repeatable

__all__ = ["Conversation"]

_NOWHERE = Destination(host="", port=0)


class Conversation:
    """Serves one client until it leaves, errs or stands still."""

    def __init__(
        self,
        client: Peer,
        gate: Gate,
        *,
        credentials: Credentials | None,
        limits: ProxyLimits,
        decide: Callable[[NetworkDecision], None],
        door: EgressDoor,
    ) -> None:
        self._client = client
        self._gate = gate
        self._credentials = credentials
        self._limits = limits
        self._decide = decide
        self._door = door
        self._server: Peer | None = None
        self._checked: Checked | None = None

    async def run(self) -> None:
        """Answers requests; both sockets are closed when it returns. Raises nothing that the network did."""
        try:
            await self._talk()
            await self._client.close(within=self._limits.linger_s)
        except (OSError, h11.ProtocolError):
            # The client or the server left in the middle: there is nobody to tell.
            pass
        finally:
            self._drop_server()
            self._client.abort()

    async def _talk(self) -> None:
        client = self._client
        try:
            while (request := await self._next_request()) is not None:
                await self._serve(request)
                if not client.over:
                    return
                client.http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if client.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._answer(error.error_status_hint, "Bad Request", str(error), ("Connection", "close"))

    async def _next_request(self) -> h11.Request | None:
        client = self._client
        async with asyncio.timeout(self._limits.idle_s) as bound:
            begun = False
            while True:
                event = client.http.next_event()
                if isinstance(event, h11.Request):
                    return event
                if event is not h11.NEED_DATA:
                    return None
                await client.fill()
                if not begun:
                    bound.reschedule(asyncio.get_running_loop().time() + self._limits.head_s)
                    begun = True

    async def _serve(self, request: h11.Request) -> None:
        try:
            destination = read_destination(request)
        except RequestRefused as refusal:
            await self._refuse(_NOWHERE, refusal.rule, str(refusal))
            return
        except InvalidInput as error:
            await self._refuse(_NOWHERE, "malformed", str(error))
            return
        if not await self._authorised(request, destination):
            return
        checked = await self._check(destination)
        if checked is None:
            return
        if destination.url is None:
            await self._connect(destination, checked)
        else:
            await self._forward(onward(request, destination.url), destination, checked)

    async def _authorised(self, request: h11.Request, destination: Destination) -> bool:
        given = header(request, b"proxy-authorization")
        if self._credentials is None or (given and self._credentials.match(given)):
            return True
        # Browsers ask once without: only a wrong answer is somebody who should not be here.
        if given:
            self._record(destination, rule="credentials", allowed=False)
        challenge = ("Proxy-Authenticate", 'Basic realm="agentloop"')
        await self._answer(407, "Proxy Authentication Required", "this proxy serves one session only", challenge)
        return False

    async def _check(self, destination: Destination) -> Checked | None:
        known = self._checked
        if known is not None and (known.host, known.port) == (destination.host, destination.port):
            return known
        try:
            return await self._gate.resolve(destination.host, destination.port, destination.scheme)
        except RequestRefused as refusal:
            await self._refuse(destination, refusal.rule, str(refusal))
        except InvalidInput as error:
            await self._refuse(destination, "malformed", str(error))
        except WorldError as error:
            await self._unreachable(destination, "unresolved", str(error))
        return None

    async def _connect(self, destination: Destination, checked: Checked) -> None:
        server = await self._dial(destination, checked)
        if server is None:
            return
        self._record(destination, rule=checked.rule)
        self._client.put(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        await tunnel(self._client, server, limits=self._limits)
        if self._door.spent:
            self._note_spent(destination)
        await server.close(within=self._limits.linger_s)

    async def _forward(self, request: h11.Request, destination: Destination, checked: Checked) -> None:
        reused = self._reuse(checked) if repeatable(request) else None
        server = reused or await self._dial(destination, checked)
        if server is None:
            return
        self._record(destination, rule=checked.rule)
        if await self._try(request, server, destination):
            return
        fresh = await self._dial(destination, checked) if reused is not None else None
        if fresh is not None and await self._try(request, fresh, destination):
            return
        if self._client.http.our_state is not h11.SEND_RESPONSE:
            return
        if self._door.spent:
            await self._refuse_spent(destination)
        else:
            await self._unreachable(destination, checked.rule, "the server closed the connection without an answer")

    async def _try(self, request: h11.Request, server: Peer, destination: Destination) -> bool:
        """Whether the server answered; False leaves the client as it was."""
        try:
            await exchange(self._client, server, request, limits=self._limits)
        except (OSError, h11.ProtocolError):
            self._drop_server()
            if self._client.http.our_state is not h11.SEND_RESPONSE:
                if self._door.spent:
                    self._note_spent(destination)
                raise
            return False
        if not server.alive:
            self._drop_server()
        return True

    def _reuse(self, checked: Checked) -> Peer | None:
        server = self._server
        if server is None or checked is not self._checked or not server.alive:
            return None
        server.http.start_next_cycle()
        return server

    async def _dial(self, destination: Destination, checked: Checked) -> Peer | None:
        self._drop_server()
        if self._door.spent:
            await self._refuse_spent(destination)
            return None
        try:
            tally = self._door.tally(checked.host, checked.port)
            self._server = await dial(checked, limits=self._limits, tally=tally)
        except OSError as error:
            await self._unreachable(destination, checked.rule, str(error) or type(error).__name__)
            return None
        self._checked = checked
        return self._server

    def _drop_server(self) -> None:
        if self._server is not None:
            self._server.abort()
        self._server = self._checked = None

    def _record(
        self, destination: Destination, *, rule: str, allowed: bool = True, reason: str = "", error: str = ""
    ) -> None:
        self._decide(
            NetworkDecision(
                host=destination.host,
                port=destination.port,
                scheme=destination.scheme or "tunnel",
                allowed=allowed,
                rule=rule,
                reason=reason,
                error=error,
                at=time.monotonic(),
            )
        )

    async def _refuse(self, destination: Destination, rule: str, why: str) -> None:
        self._record(destination, rule=rule, allowed=False, reason=why)
        close = [("Connection", "close")] if rule == CONNECTION_CAP else []
        await self._answer(403, "Forbidden", why, (BLOCKED_HEADER, "1"), *close)

    async def _refuse_spent(self, destination: Destination) -> None:
        refusal = self._door.refusal(destination.host)
        await self._refuse(destination, refusal.rule, str(refusal))

    def _note_spent(self, destination: Destination) -> None:
        """Records what was cut off in the middle, when no answer can be given any more."""
        refusal = self._door.refusal(destination.host)
        self._record(destination, rule=refusal.rule, allowed=False, reason=str(refusal))

    async def _unreachable(self, destination: Destination, rule: str, why: str) -> None:
        self._record(destination, rule=rule, error=why)
        await self._answer(502, "Bad Gateway", why, (UNREACHABLE_HEADER, "1"))

    async def _answer(self, status: int, reason: str, why: str, *extra: tuple[str, str]) -> None:
        body = f"{why}\n".encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        headers += [("Cache-Control", "no-store"), *extra]
        client = self._client
        client.put(h11.Response(status_code=status, reason=reason, headers=headers))
        client.put(h11.Data(data=body))
        client.put(h11.EndOfMessage())
        await client.flush()
        await self._discard_body()

    async def _discard_body(self) -> None:
        """Reads what little is left of the request: closing with unread bytes would cost the client the answer."""
        client = self._client
        async with asyncio.timeout(self._limits.linger_s):
            for _ in range(16):
                if client.http.their_state is not h11.SEND_BODY:
                    return
                if client.http.next_event() is h11.NEED_DATA:
                    await client.fill()
