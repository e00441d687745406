"""What a host stands behind a pack: asked within a time, and told of in words when it is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from agentloop.errors import InvalidInput, WorldError
from agentloop.packs.resources import say

__all__ = ["BACKEND_S", "bounded", "required_backend"]

T = TypeVar("T")

BACKEND_S: Final = 30.0
"""Seconds that a backend may take for one call."""


def required_backend(backend: T | None, what: str) -> T:
    """The backend. Raises `InvalidInput` when the host gave none."""
    if backend is None:
        raise InvalidInput(say("backends.md", "none", what=what))
    return backend


async def bounded(work: Awaitable[T], *, seconds: float, late: str) -> T:
    """What the backend gives. Raises what it raises, and `WorldError` with the text `late` when that takes too long."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise WorldError(late) from None
