"""What a process of its own costs a script, against the same engine inside this process, in one run.

`python -m benchmarks.sandbox` prints a line for each claim and exits 1 when a ratio is more than
three times its target, which leaves room for a busy machine.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import quickjs  # type: ignore[import-untyped]

from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox import open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from benchmarks.hostile import ENGINE

__all__: list[str] = []

SLACK: Final = 3.0
ECHO: Final = "function run(args) { return args }"
CALLS: Final = 1000
CALL: Final = f"function run() {{ for (let i = 0; i < {CALLS}; i++) h(i) }}"
POSTS: Final = 500
POST: Final = f"async function run() {{ await Promise.all(Array.from({{length: {POSTS}}}, (_, i) => h.async(i))) }}"

Measured = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Claim:
    """One row: seconds in the sandbox and in this process, and the ratio to reach.

    A target ratio is the figure to reach divided by what the engine alone took on the quiet machine
    on which the figure was set: 0.23 ms for a realm and a script, 2 us for a call in this benchmark.
    """

    name: str
    sandboxed: float
    inside: float
    target: float
    figure: str = ""

    @property
    def ratio(self) -> float:
        return self.sandboxed / self.inside

    def row(self) -> str:
        times = f"{_shown(self.sandboxed):>10} {_shown(self.inside):>10}"
        return f"{self.name:44} {times} {self.ratio:8.2f} {self.target:8.1f}  {self.figure}"


def _shown(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


async def _best(sandboxed: Measured, inside: Measured, rounds: int) -> tuple[float, float]:
    """The best of both, measured in turn: on a shared machine the rest is other people's work."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for measured, into in zip((sandboxed, inside), times, strict=True):
            # As between two turns of a run: the child has made its next realm.
            await asyncio.sleep(0.01)
            began = time.perf_counter()
            await measured()
            into.append(time.perf_counter() - began)
    return min(times[0]), min(times[1])


async def _h(value: Any = None) -> Any:
    return value


def _in_process(script: str) -> Callable[[str], str]:
    """The engine in this process, with the cheapest callable there can be: JSON text in and out."""

    def run(args: str) -> str:
        context = quickjs.Context()
        context.add_callable("host", lambda text: text)
        context.eval("globalThis.h = (...a) => JSON.parse(host(JSON.stringify(a[0])))")
        context.eval(script)
        return str(context.eval("(text) => JSON.stringify(run(JSON.parse(text)))")(args))

    return run


def _rows(megabytes: float) -> list[dict[str, Any]]:
    row = {
        "id": 0,
        "name": "item 123",
        "price": 12.5,
        "ok": True,
        "url": "https://shop.example/item/123",
        "text": "x" * 40,
    }
    count = int(megabytes * 1_000_000 / len(json.dumps(row)))
    return [{**row, "id": n} for n in range(count)]


async def _turn(sandbox: ProcessSandbox) -> Claim:
    run = _in_process(ECHO)

    async def inside() -> None:
        run("{}")

    times = await _best(lambda: sandbox.run(ECHO), inside, 60)
    return Claim("warm turn", *times, 1.0 / 0.23, "1 ms")


async def _start(sandbox: ProcessSandbox) -> Claim:
    run = _in_process(ECHO)

    async def opened() -> None:
        async with open_sandbox(engine=ENGINE):
            pass

    async def inside() -> None:
        run("{}")

    times = await _best(opened, inside, 40)
    return Claim("fork to ready, and closed again", *times, 5.0 / 0.23, "5 ms")


async def _calls(sandbox: ProcessSandbox, name: str, script: str, count: int, figure: float) -> Claim:
    run = _in_process(CALL)

    async def inside() -> None:
        run("{}")

    sandboxed, own = await _best(lambda: sandbox.run(script), inside, 15)
    return Claim(name, sandboxed / count, own / CALLS, figure / 2.0, f"{figure:.0f} us")


class _Echo(asyncio.Protocol):
    """Answers each message at once until a thousand have come."""

    def __init__(self) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self.begun = asyncio.Event()
        self._left = CALLS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.begun.set()
        self._left -= 1
        if self._left == 0:
            self.done.set_result(None)
        else:
            self._transport.write(data)


# Not this process's copy of anything: a second interpreter that does nothing but ask.
ASKER: Final = """
import socket, sys
sock = socket.socket(fileno=int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    sock.sendall(b"0123456789")
    sock.recv(64)
"""


async def _ping_pong() -> float:
    """Seconds for a bare question and answer between another process and this event loop."""
    times = []
    for _ in range(10):
        here, there = socket.socketpair()
        with there:
            number = there.fileno()
            command = [sys.executable, "-I", "-S", "-c", ASKER, str(number), str(CALLS)]
            asker = await asyncio.create_subprocess_exec(*command, pass_fds=[number])
        here.setblocking(False)
        transport, echo = await asyncio.get_running_loop().create_connection(_Echo, sock=here)
        # The interpreter's start is over when its first message is here.
        await echo.begun.wait()
        began = time.perf_counter()
        await echo.done
        times.append((time.perf_counter() - began) / CALLS)
        transport.close()
        await asker.wait()
    return min(times)


async def _round_trip(sandbox: ProcessSandbox) -> Claim:
    times = []
    for _ in range(15):
        began = time.perf_counter()
        await sandbox.run(CALL)
        times.append((time.perf_counter() - began) / CALLS)
    return Claim("  the same against a bare ping-pong", min(times), await _ping_pong(), 3.0)


async def _args(sandbox: ProcessSandbox, megabytes: float, rounds: int) -> Claim:
    rows = _rows(megabytes)
    run = _in_process(ECHO)

    async def sandboxed() -> None:
        outcome = await sandbox.run(ECHO, json.dumps(rows))
        assert outcome.value_json is not None
        json.loads(outcome.value_json)

    async def inside() -> None:
        json.loads(run(json.dumps(rows)))

    times = await _best(sandboxed, inside, rounds)
    return Claim(f"{megabytes:g} MB of args in and out, parsed by both", *times, 1.5, "1.5 x")


async def _main() -> int:
    packs = [Pack(name="probe", description="echoes", primitives={"h": Primitive(_h)})]
    async with open_sandbox(packs=packs, engine=ENGINE) as sandbox:
        print(f"{sandbox.engine}, isolation {sandbox.isolation}; best of several")
        print(f"{'':44} {'sandbox':>10} {'in process':>10} {'ratio':>8} {'target':>8}  figure to reach")
        claims = [
            await _turn(sandbox),
            await _start(sandbox),
            await _calls(sandbox, "primitive round trip", CALL, CALLS, 60),
            await _round_trip(sandbox),
            await _calls(sandbox, ".async primitive, 500 in one Promise.all", POST, POSTS, 100),
            await _args(sandbox, 0.1, 30),
            await _args(sandbox, 1, 15),
            await _args(sandbox, 10, 5),
        ]
    for claim in claims:
        print(claim.row())
    # A busy scheduler decides the first round trip's ratio, so the second one is the one to judge by.
    missed = [claim.name for claim in claims if claim.ratio > SLACK * claim.target and claim is not claims[2]]
    if missed:
        print(f"more than {SLACK:g} times the target: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
