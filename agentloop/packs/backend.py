"""What a host stands behind a pack: asked within a time, and told of in words when it is not there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Final, TypeVar

from agentloop.errors import InvalidInput, WorldError
from agentloop.packs.resources import words

__all__ = ["BACKEND_S", "asked", "said", "there"]

T = TypeVar("T")

_PLACE: Final = re.compile(r"\{([a-z_]+)\}")

BACKEND_S: Final = 30.0
"""Seconds that a backend may take for one call."""


def there(backend: T | None, what: str) -> T:
    """The backend. Raises `InvalidInput` when the host gave none."""
    if backend is None:
        raise InvalidInput(said("none", what=what))
    return backend


async def asked(work: Awaitable[T], *, seconds: float, late: str) -> T:
    """What the backend gives. Raises what it raises, and `WorldError` with the text `late` when that takes too long."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise WorldError(late) from None


def said(phrase: str, **values: object) -> str:
    """One text of `backends.md` with its values."""
    return _PLACE.sub(lambda place: str(values[place[1]]), words("backends.md")[phrase])
