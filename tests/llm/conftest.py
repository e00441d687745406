from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agentloop.llm import OpenAI
from agentloop.testing.llm_server import LlmServer, llm_server

NOW = 1_800_000_000.0


class Bench:
    """A server, a client of it, and the waits between its attempts."""

    def __init__(self, server: LlmServer, llm: OpenAI, waits: list[float]) -> None:
        self.server = server
        self.llm = llm
        self.waits = waits


MakeBench = Callable[..., Any]


@pytest.fixture
async def bench() -> AsyncIterator[MakeBench]:
    """`await bench(replies, faults=…, api_key=…, **options)`; retries do not really wait."""
    async with AsyncExitStack() as stack:

        async def make(replies: list[Any], *, faults: Any = None, api_key: str | None = None, **options: Any) -> Bench:
            waits: list[float] = []

            async def sleep(seconds: float) -> None:
                waits.append(seconds)

            server = await stack.enter_async_context(llm_server(replies, faults=faults, api_key=api_key))
            given = {
                "base_url": server.base_url,
                "model": "tiny",
                "api_key": api_key,
                "sleep": sleep,
                "jitter": lambda: 0.0,
                "now": lambda: NOW,
            }
            llm = await stack.enter_async_context(OpenAI(**{**given, **options}))
            return Bench(server, llm, waits)

        yield make
