"""Moving bytes between a client and a server: one HTTP exchange, or a tunnel.

HTTP is read and written by h11 on both sides, so that framing, limits on heads and protocol
switches are decided by one strict reading and nothing is passed on that was read differently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

import h11

from agentloop.guard.network.base import BLOCKED_HEADER, UNREACHABLE_HEADER, Checked, ProxyLimits
from agentloop.guard.network.egress import Tally

__all__ = ["Headers", "Pace", "Peer", "dial", "end_to_end", "exchange", "tunnel"]

Headers: TypeAlias = list[tuple[bytes, bytes]]

_CHUNK = 65536
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"}
    | {b"te", b"trailer", b"upgrade"}
)
_OURS = frozenset({BLOCKED_HEADER.lower().encode(), UNREACHABLE_HEADER.lower().encode()})


class Peer:
    """One side of an exchange: a socket and how far its HTTP has come. A `tally` counts what passes."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        role: type[h11.CLIENT] | type[h11.SERVER],
        head_bytes: int,
        tally: Tally | None = None,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.http = h11.Connection(role, max_incomplete_event_size=head_bytes)
        self._queued: list[bytes] = []
        self._tally = tally

    @property
    def over(self) -> bool:
        """True when the exchange is over on both sides and another may follow."""
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    @property
    def alive(self) -> bool:
        """True when another exchange may follow and the other end is not seen to have left."""
        return self.over and not self.reader.at_eof() and not self.writer.is_closing()

    def put(self, event: h11.Event) -> None:
        """Queues an event; `flush` sends it."""
        data = self.http.send(event)
        if data:
            self._queued.append(data)

    async def flush(self) -> None:
        """Sends what is queued, in one piece; waits while the other side reads too slowly."""
        if self._queued:
            data = b"".join(self._queued)
            self._queued.clear()
            self.write(data)
        await self.writer.drain()

    async def fill(self) -> None:
        """Reads what there is; an empty read is the end, which h11 is told too."""
        self.http.receive_data(await self.read())

    async def read(self) -> bytes:
        """What there is, 64 KiB at most; nothing at the end. Raises `CapReached`, as `flush` does."""
        data = await self.reader.read(_CHUNK)
        if self._tally is not None:
            self._tally.received(len(data))
        return data

    def write(self, data: bytes) -> None:
        """Sends bytes as they are. Raises `CapReached`."""
        if self._tally is not None:
            self._tally.sent(len(data))
        self.writer.write(data)

    async def close(self, *, within: float) -> None:
        """Sends what is queued, closes its half, waits for the other; gives up after `within` seconds."""
        try:
            async with asyncio.timeout(within):
                await self.flush()
                if self.writer.can_write_eof() and not self.writer.is_closing():
                    self.writer.write_eof()
                # To close with bytes unread is a reset, which may cost the other end our last words.
                while await self.reader.read(_CHUNK):
                    pass
                self.writer.close()
                await self.writer.wait_closed()
        except OSError:
            self.abort()

    def abort(self) -> None:
        """Closes at once."""
        self.writer.transport.abort()


class Pace:
    """A time-out that starts anew whenever something moves."""

    def __init__(self, bound: asyncio.Timeout, *, limits: ProxyLimits) -> None:
        self._bound = bound
        self._idle = limits.stream_idle_s
        self._linger = limits.linger_s
        self._now = asyncio.get_running_loop().time
        self._set = self._now()

    def moved(self) -> None:
        """Something moved."""
        now = self._now()
        # To move a timer costs more than to pass a chunk: a bound that is an eighth too short does as well.
        if now - self._set > self._idle / 8:
            self._bound.reschedule(now + self._idle)
            self._set = now

    def half_closed(self) -> None:
        """One side is done; the other has the shorter time from now on."""
        self._idle = min(self._idle, self._linger)
        self._set = self._now()
        self._bound.reschedule(self._set + self._idle)


async def dial(checked: Checked, *, limits: ProxyLimits, tally: Tally | None = None) -> Peer:
    """Connects to the first checked address that answers. Raises OSError with the last one's reason."""
    share = limits.connect_s / len(checked.addresses)
    failure: OSError = OSError("no address")
    for address in checked.addresses:
        try:
            async with asyncio.timeout(share):
                reader, writer = await asyncio.open_connection(address, checked.port)
            return Peer(reader, writer, role=h11.CLIENT, head_bytes=limits.head_bytes, tally=tally)
        except OSError as error:
            failure = error
    raise failure


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that concern the other end: none that a proxy consumes, and only one kind of framing."""
    pairs = list(headers)
    names = {name.lower() for name, _ in pairs}
    dropped = (
        _HOP_BY_HOP
        | _OURS
        | {token for name, value in pairs if name.lower() == b"connection" for token in _tokens(value)}
    )
    if b"transfer-encoding" in names:
        dropped |= {b"content-length"}
    return [(name, value) for name, value in pairs if name.lower() not in dropped]


def _tokens(value: bytes) -> list[bytes]:
    return [token.strip().lower() for token in value.split(b",") if token.strip().lower() != b"transfer-encoding"]


async def exchange(client: Peer, server: Peer, request: h11.Request, *, limits: ProxyLimits) -> None:
    """Sends `request` and the client's body, then the answer, as it comes; a switched protocol becomes a tunnel.

    Raises OSError and `h11.ProtocolError`; how far the answer came is `client.http.our_state`.
    """
    async with asyncio.timeout(limits.stream_idle_s) as bound:
        pace = Pace(bound, limits=limits)
        server.put(request)
        upload = asyncio.create_task(_upload(client, server, pace, limits.head_bytes))
        try:
            await _download(client, server, pace)
        finally:
            upload.cancel()
            await asyncio.wait([upload], timeout=limits.linger_s)
    if client.http.our_state is h11.SWITCHED_PROTOCOL:
        await tunnel(client, server, limits=limits)


async def _upload(client: Peer, server: Peer, pace: Pace, most_ahead: int) -> None:
    try:
        await _send_body(client, server, pace)
        await _watch(client, pace, most_ahead)
    except (OSError, h11.ProtocolError):
        # A server may answer and stop reading before it has the whole body: its answer still counts.
        pace.half_closed()


async def _send_body(client: Peer, server: Peer, pace: Pace) -> None:
    while client.http.their_state is h11.SEND_BODY:
        event = client.http.next_event()
        if event is h11.NEED_DATA:
            await server.flush()
            await client.fill()
            pace.moved()
        elif isinstance(event, h11.Data):
            server.put(h11.Data(data=event.data))
        elif not isinstance(event, h11.EndOfMessage):
            raise ConnectionResetError("the client left in the middle of its request")
    server.put(h11.EndOfMessage())
    await server.flush()


async def _watch(client: Peer, pace: Pace, most_ahead: int) -> None:
    """Notices that the client left; what it sends ahead is kept for later, up to a bound."""
    ahead = 0
    while ahead < most_ahead and (data := await client.reader.read(_CHUNK)):
        client.http.receive_data(data)
        ahead += len(data)
    if ahead < most_ahead:
        client.http.receive_data(b"")
        pace.half_closed()


async def _download(client: Peer, server: Peer, pace: Pace) -> None:
    while True:
        event = server.http.next_event()
        if event is h11.NEED_DATA:
            await client.flush()
            await server.fill()
            pace.moved()
        elif isinstance(event, h11.InformationalResponse) and event.status_code == 101:
            client.put(h11.InformationalResponse(status_code=101, headers=_upgraded(event), reason=event.reason))
            return await client.flush()
        elif isinstance(event, h11.InformationalResponse):
            client.put(h11.InformationalResponse(status_code=event.status_code, headers=[], reason=event.reason))
        elif isinstance(event, h11.Response):
            headers = end_to_end(event.headers.raw_items())
            client.put(h11.Response(status_code=event.status_code, headers=headers, reason=event.reason))
        elif isinstance(event, h11.Data):
            client.put(h11.Data(data=event.data))
        elif isinstance(event, h11.EndOfMessage):
            client.put(h11.EndOfMessage())
            return await client.flush()
        else:
            raise ConnectionResetError("the server left before it answered")


def _upgraded(event: h11.InformationalResponse) -> Headers:
    return [*end_to_end(event.headers.raw_items()), (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]


async def tunnel(client: Peer, server: Peer, *, limits: ProxyLimits) -> None:
    """Passes bytes both ways until both sides have closed their half, one is gone, or nothing moves."""
    await client.flush()
    try:
        server.write(client.http.trailing_data[0])
        client.write(server.http.trailing_data[0])
        async with asyncio.timeout(limits.stream_idle_s) as bound, asyncio.TaskGroup() as group:
            pace = Pace(bound, limits=limits)
            group.create_task(_pump(client, server, pace))
            group.create_task(_pump(server, client, pace))
    except* OSError:
        # A side that vanished or stood still ends the tunnel; whoever opened it closes both.
        pass


async def _pump(source: Peer, sink: Peer, pace: Pace) -> None:
    while data := await source.read():
        pace.moved()
        sink.write(data)
        await sink.writer.drain()
    if sink.writer.can_write_eof():
        sink.writer.write_eof()
    pace.half_closed()
