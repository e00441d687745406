"""One command, from its start to the end of everything it has started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from agentloop.errors import WorldError
from agentloop.packs.exec.output import Kept

__all__ = ["Command", "Finished", "run_command"]

_START_S: Final = 10.0
_END_S: Final = 4.0
_DRAIN_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Command:
    """`program` is what runs, `argv` what it is told; `folder` a descriptor of where, None for here."""

    program: str
    argv: Sequence[str]
    env: Mapping[str, str]
    folder: int | None = None
    input: bytes = b""
    timeout_s: float = 30.0
    output_bytes: int = 64 * 1024
    memory_mb: int | None = None
    network: bool = True


@dataclass(kw_only=True)
class Finished:
    """`code` is -1 when a signal ended it, whose name is then in `signal`. `left` processes could not be killed."""

    stdout: Kept
    stderr: Kept
    code: int = -1
    signal: str = ""
    timed_out: bool = False
    left: int = 0


async def run_command(command: Command) -> Finished:
    """Runs it until its own process ends or its time is over; then nothing of it runs any more.

    Cancelled, it ends everything too. Raises `FileNotFoundError`, `OSError` when it cannot be started,
    `WorldError` when what watches over it is lost.
    """
    finished = Finished(stdout=Kept(command.output_bytes), stderr=Kept(command.output_bytes))
    async with _supervised(command, finished) as supervisor:
        await supervisor.start(command)
        try:
            async with asyncio.timeout(command.timeout_s):
                ending = await supervisor.ending()
        except TimeoutError:
            finished.timed_out = True
            ending = await supervisor.end()
        await supervisor.drained()
    finished.left = ending["left"]
    if not finished.timed_out:
        finished.code, finished.signal = ending["code"], ending["signal"]
    return finished


@asynccontextmanager
async def _supervised(command: Command, finished: Finished) -> AsyncIterator[_Supervisor]:
    async with AsyncExitStack() as stack:
        here, there = socket.socketpair()
        stack.callback(here.close)
        with there:
            streams = _Streams(stack)
            stdout = await streams.reading(finished.stdout)
            stderr = await streams.reading(finished.stderr)
            stdin = await streams.writing(command.input)
            process = await _launch(there, command.folder, stdin, stdout, stderr)
            streams.started()
        supervisor = _Supervisor(process, streams)
        stack.push_async_callback(supervisor.aclose)
        await supervisor.connect(here)
        yield supervisor


async def _launch(
    control: socket.socket, folder: int | None, stdin: int, stdout: int, stderr: int
) -> asyncio.subprocess.Process:
    program = resources.files("agentloop.packs.exec") / "supervisor.py"
    fds = (control.fileno(),) if folder is None else (control.fileno(), folder)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", str(program), str(fds[0]), str(-1 if folder is None else folder)),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=fds,
        start_new_session=True,
        env={},
    )


class _Sink(asyncio.Protocol):
    """Gives what it reads to `kept`; `ended` is set at the end of the stream."""

    def __init__(self, kept: Kept) -> None:
        self.ended = asyncio.Event()
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept.add(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()


class _Feed(asyncio.BaseProtocol):
    """Knows whether there is still a pipe to write to."""

    open = True

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False


def _abort(transport: asyncio.WriteTransport, feed: _Feed) -> None:
    if feed.open:
        transport.abort()


class _Streams:
    """This side of the three pipes; all are closed with the stack, whoever still holds the other side."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._loop = asyncio.get_running_loop()
        self._sinks: list[_Sink] = []
        self._theirs: list[int] = []
        stack.callback(self.started)

    async def reading(self, kept: Kept) -> int:
        ours, theirs = os.pipe()
        self._theirs.append(theirs)
        transport, sink = await self._loop.connect_read_pipe(lambda: _Sink(kept), os.fdopen(ours, "rb", buffering=0))
        self._stack.callback(transport.close)
        self._sinks.append(sink)
        return theirs

    async def writing(self, data: bytes) -> int:
        if not data:
            return asyncio.subprocess.DEVNULL
        theirs, ours = os.pipe()
        self._theirs.append(theirs)
        transport, feed = await self._loop.connect_write_pipe(_Feed, os.fdopen(ours, "wb", buffering=0))
        self._stack.callback(_abort, transport, feed)
        transport.write(data)
        transport.write_eof()
        return theirs

    def started(self) -> None:
        while self._theirs:
            os.close(self._theirs.pop())

    async def drained(self) -> None:
        """When both streams have ended; what holds one open although all were killed is not waited for."""
        try:
            async with asyncio.timeout(_DRAIN_S):
                for sink in self._sinks:
                    await sink.ended.wait()
        except TimeoutError:
            pass


@dataclass
class _Supervisor:
    """This side of the process that watches over the command."""

    process: asyncio.subprocess.Process
    streams: _Streams
    command: int | None = None
    _control: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None, repr=False)

    async def connect(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = await asyncio.open_connection(sock=control)

    async def start(self, command: Command) -> None:
        order = {
            "program": command.program,
            "argv": list(command.argv),
            "env": dict(command.env),
            "memory_mb": command.memory_mb,
            "network": command.network,
        }
        assert self._control is not None
        self._control[1].write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(_START_S):
            said = await self._heard()
        self.command = said.get("pid")
        if "failed" in said:
            raise _failure(said)

    async def ending(self) -> dict[str, Any]:
        return await self._heard()

    async def end(self) -> dict[str, Any]:
        """Has everything killed; what the supervisor says of it."""
        assert self._control is not None
        self._control[1].write_eof()
        try:
            async with asyncio.timeout(_END_S):
                return await self._heard()
        except TimeoutError:
            return {"code": None, "signal": "", "left": 1}

    async def drained(self) -> None:
        await self.streams.drained()

    async def aclose(self) -> None:
        """Hanging up is what makes the supervisor kill all; only if it does not, it is killed itself."""
        if self._control is not None:
            self._control[1].close()
        try:
            async with asyncio.timeout(_END_S):
                await self.process.wait()
        except TimeoutError:
            self._kill()
            # A process that is stuck in the kernel outlives even this.
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self.process.wait()

    def _kill(self) -> None:
        for pid, kill in ((self.command, os.killpg), (self.process.pid, os.kill)):
            try:
                if pid is not None:
                    kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # gone already, or of another user

    async def _heard(self) -> dict[str, Any]:
        assert self._control is not None
        line = await self._control[0].readline()
        if not line:
            self._kill()
            raise WorldError("the process that watches over the command was killed, and the command with it")
        said: dict[str, Any] = json.loads(line)
        return said


def _failure(said: Mapping[str, Any]) -> OSError:
    if said["failed"] == "network":
        return PermissionError(said["errno"], "this system cannot keep it off the network, so it was not started")
    return OSError(said["errno"], os.strerror(said["errno"]))
