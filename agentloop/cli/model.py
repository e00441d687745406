"""Which model the flags and the environment name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentloop.cli.options import TaskOptions
from agentloop.errors import InvalidInput
from agentloop.llm.base import LLM

__all__ = ["open_model"]

_SCRIPTED = "scripted:"


@asynccontextmanager
async def open_model(options: TaskOptions) -> AsyncIterator[LLM]:
    """The model for the block. Raises `InvalidInput` when none is configured or the file cannot be read."""
    if options.llm is not None:
        yield _scripted(options.llm)
        return
    from agentloop.llm.openai import OpenAI

    async with OpenAI.from_env(base_url=options.llm_base_url, model=options.model) as client:
        yield client


def _scripted(llm: str) -> LLM:
    from agentloop.llm.scripted import Scripted

    file = llm.removeprefix(_SCRIPTED)
    if file == llm or not file:
        raise InvalidInput(f"--llm {llm!r} is not understood: give scripted:FILE, or leave it out for a real model")
    return Scripted.from_file(file)
