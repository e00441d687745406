"""The host's end of one child: its socket, its frames, its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentloop.errors import SandboxError
from agentloop.sandbox.base import Isolation
from agentloop.sandbox.inside import wire as w
from agentloop.sandbox.zygote import Launcher

__all__ = ["ChildProcess", "OnFrame", "OnLost", "Violation", "start_child"]

OnFrame = Callable[[int, int, bytes], None]
"""Gets a frame's kind, id and body; raises `Violation` when no honest child would send it."""

OnLost = Callable[[str], None]
"""Gets the reason when the child is gone."""

_READY_S: Final = 15.0
_UNREAD_REPLIES: Final = 256 * 1024 * 1024
_ISOLATIONS: Final[Mapping[str, Isolation]] = {"seccomp": "seccomp", "rlimits": "rlimits", "process": "process"}


class Violation(Exception):
    """The child broke the protocol, so it is not the program that was started."""


class _Stillborn(Exception):
    """The child ended before it had said a word: its zygote was killed, say."""


class ChildProcess(asyncio.Protocol):
    """Made by `start_child`. Frames go to whoever listens; a frame that nobody waits for ends the child."""

    def __init__(self, pidfd: int | None, max_frame: int) -> None:
        self._pidfd = pidfd
        self._max_frame = max_frame
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._on_frame: OnFrame | None = None
        self._on_lost: OnLost | None = None
        self._closed = asyncio.Event()
        self.alive = True
        self.turns = 0
        self.pid = 0
        self.engine = ""
        self.isolation: Isolation = "none"
        self.soft = False

    def listen(self, on_frame: OnFrame, on_lost: OnLost) -> None:
        """Hands what comes from now on to these two."""
        self._on_frame, self._on_lost = on_frame, on_lost

    def deafen(self) -> None:
        """From now on the child must be silent."""
        self._on_frame = self._on_lost = None

    def send(self, kind: int, body: bytes, id: int = 0) -> None:
        """Queues a frame; nothing happens when the child is gone."""
        if self._transport is None or not self.alive:
            return
        self._transport.writelines([w.HEADER.pack(len(body), kind, id), body])
        if self._transport.get_write_buffer_size() > _UNREAD_REPLIES:
            self.end("it does not read the replies to its calls")

    def interrupt(self) -> None:
        """Asks the child to stop its script; only where `soft`."""
        if self.soft and self._pidfd is not None:
            self._signal(signal.SIGUSR1)

    def kill(self) -> None:
        """Ends the child at once and for good."""
        if not self.alive:
            return
        self.alive = False
        self.deafen()
        if self._transport is not None:
            self._transport.abort()
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _signal(self, number: int) -> None:
        try:
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            elif self.pid:
                os.kill(self.pid, number)
        except OSError:  # it is gone already
            pass

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        self._buffer += data
        try:
            while self.alive and (found := self._next_frame()) is not None:
                if self._on_frame is None:
                    raise Violation("it spoke without being asked")
                self._on_frame(*found)
        except Violation as violation:
            self.end(str(violation))

    async def wait_closed(self) -> None:
        """Returns when the socket is closed; after `kill` that is in the loop's next round."""
        await self._closed.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        self._closed.set()
        if self.alive:
            self.end("its process ended")

    def _next_frame(self) -> tuple[int, int, bytes] | None:
        size = w.HEADER.size
        if len(self._buffer) < size:
            return None
        length, kind, id = w.HEADER.unpack_from(self._buffer)
        if length > self._max_frame:
            raise Violation(f"it sent a frame of {length} bytes")
        if len(self._buffer) < size + length:
            return None
        with memoryview(self._buffer) as view:
            body = bytes(view[size : size + length])
        del self._buffer[: size + length]
        return kind, id, body

    def end(self, reason: str) -> None:
        """Kills the child and tells whoever listens why."""
        on_lost = self._on_lost
        self.kill()
        if on_lost is not None:
            on_lost(reason)


async def start_child(launcher: Launcher, config: Mapping[str, Any], max_frame: int) -> ChildProcess:
    """A child that has said that it is ready. Raises `SandboxError` when none can be had."""
    for _ in range(2):
        try:
            async with asyncio.timeout(_READY_S):
                return await _start(launcher, config, max_frame)
        except _Stillborn:
            continue
        except TimeoutError:
            raise SandboxError(f"the sandbox's process was not ready within {_READY_S:g} s") from None
    raise SandboxError("the sandbox's process ended before it was ready")


async def _start(launcher: Launcher, config: Mapping[str, Any], max_frame: int) -> ChildProcess:
    sock = launcher.launch()
    try:
        sock.setblocking(False)
        child = ChildProcess(await _introduction(sock), max_frame)
        await asyncio.get_running_loop().create_connection(lambda: child, sock=sock)
    except BaseException:
        sock.close()
        raise
    try:
        await _greet(child, config)
    except BaseException:
        child.kill()
        await child.wait_closed()
        raise
    return child


async def _introduction(sock: socket.socket) -> int | None:
    loop = asyncio.get_running_loop()
    if not hasattr(socket, "recv_fds"):
        if not await loop.sock_recv(sock, 1):
            raise _Stillborn
        return None
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(sock, _settle, readable)
    try:
        await readable
    finally:
        loop.remove_reader(sock)
    byte, descriptors, _, _ = socket.recv_fds(sock, 1, 1)
    if not byte:
        raise _Stillborn
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return descriptors[0] if descriptors else None


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _greet(child: ChildProcess, config: Mapping[str, Any]) -> None:
    ready: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_frame(kind: int, _id: int, body: bytes) -> None:
        if kind != w.READY or ready.done():
            raise Violation("it did not begin by being ready")
        ready.set_result(body)

    def on_lost(reason: str) -> None:
        if not ready.done():
            ready.set_exception(SandboxError(f"the sandbox's process was not ready: {reason}"))

    child.listen(on_frame, on_lost)
    child.send(w.INIT, json.dumps(config).encode())
    said = json.loads(await ready)
    child.deafen()
    if "error" in said:
        raise SandboxError(str(said["error"]))
    child.pid, child.engine, child.soft = int(said["pid"]), str(said["engine"]), bool(said["soft"])
    child.isolation = _ISOLATIONS.get(said["isolation"], "none")
