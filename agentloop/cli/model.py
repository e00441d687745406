"""Which model the settings and the environment name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentloop.errors import InvalidInput
from agentloop.llm.base import LLM
from agentloop.settings import Settings

__all__ = ["open_model", "scripted_path"]

_SCRIPTED = "scripted:"


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncIterator[LLM]:
    """The model for the block. Raises `InvalidInput` when none is configured or the file cannot be read."""
    if settings.llm is not None and not settings.by_flag("llm-base-url"):
        yield _scripted(settings.llm)
        return
    from agentloop.llm.openai import OpenAI

    async with OpenAI.from_env(base_url=settings.llm_base_url, model=settings.model) as client:
        yield client


def scripted_path(given: str, *, flag: str = "--llm", metavar: str = "FILE") -> str:
    """The path of `scripted:PATH`. Raises `InvalidInput`, naming `flag` and what it takes, for anything else."""
    path = given.removeprefix(_SCRIPTED)
    if path == given or not path:
        raise InvalidInput(
            f"{flag} {given!r} is not understood: give scripted:{metavar}, or leave it out for a real model"
        )
    return path


def _scripted(llm: str) -> LLM:
    from agentloop.llm.scripted import Scripted

    return Scripted.from_file(scripted_path(llm))
