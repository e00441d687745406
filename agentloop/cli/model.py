"""Which model the settings and the environment name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentloop.errors import InvalidInput
from agentloop.llm.base import LLM
from agentloop.settings import Settings

__all__ = ["open_model"]

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


def _scripted(llm: str) -> LLM:
    from agentloop.llm.scripted import Scripted

    file = llm.removeprefix(_SCRIPTED)
    if file == llm or not file:
        raise InvalidInput(f"--llm {llm!r} is not understood: give scripted:FILE, or leave it out for a real model")
    return Scripted.from_file(file)
