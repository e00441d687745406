"""Waiting for a page: asked again until it is so, never a fixed time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["eventually"]

T = TypeVar("T")


async def eventually(ask: Callable[[], Awaitable[T]], wanted: Callable[[T], bool], *, seconds: float = 8.0) -> T:
    """The first answer that `wanted` accepts; after `seconds` the last one, for the caller's assert to show."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        answer = await ask()
        if wanted(answer) or asyncio.get_running_loop().time() > deadline:
            return answer
        await asyncio.sleep(0.02)
