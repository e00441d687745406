"""One probe pack and one open sandbox for the tests of this room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox import Limits, open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from benchmarks.hostile import ENGINE


class Probe:
    """Host code for scripts to call, with what it has seen."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.running = 0
        self.most_running = 0
        self.cancelled = 0
        self.started = asyncio.Event()
        self.barrier = asyncio.Barrier(2)

    async def note(self, value: Any = None) -> Any:
        self.seen.append(value)
        return value

    async def boom(self, message: str = "boom", code: Any = None) -> None:
        error = LookupError(message)
        error.code = code  # type: ignore[attr-defined]
        raise error

    async def slow(self, value: Any = None, seconds: float = 0.05) -> Any:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.started.set()
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        self.seen.append(value)
        return value

    async def meet(self, value: Any = None) -> Any:
        """Returns only when two calls of it are under way at the same time."""
        await self.barrier.wait()
        return value

    def packs(self) -> tuple[Pack, ...]:
        primitives = {
            "h": Primitive(self.note),
            "boom": Primitive(self.boom),
            "slow": Primitive(self.slow),
            "meet": Primitive(self.meet),
            "stranger": Primitive(self.note, untrusted=True),
        }
        return (
            Pack(name="probe", description="echoes", primitives=primitives),
            Pack(
                name="page", description="one at a time", primitives={"page.act": Primitive(self.slow, exclusive=True)}
            ),
        )


class Hand:
    """Seconds that only a test moves on; it sees when somebody looks at them."""

    def __init__(self) -> None:
        self.now = 0.0
        self._looked = asyncio.Event()

    def __call__(self) -> float:
        self._looked.set()
        return self.now

    async def next_look(self) -> None:
        self._looked.clear()
        await self._looked.wait()

    async def until_done(self, task: asyncio.Task[Any]) -> None:
        """Lets time pass until the task has ended."""
        while not task.done():
            self.now += 1
            await asyncio.wait([task], timeout=0.01)


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def sandbox(probe: Probe) -> AsyncIterator[ProcessSandbox]:
    async with open_sandbox(packs=probe.packs(), limits=Limits(wall_s=30), engine=ENGINE) as opened:
        yield opened
