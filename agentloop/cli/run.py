"""`agentloop run TASK`: the engine without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.options import TaskOptions, task_options

if TYPE_CHECKING:
    from agentloop.journal import OnEvent
    from agentloop.llm.base import LLM
    from agentloop.loop import RunHandle

__all__ = ["command"]


@click.command("run")
@task_options
def command(task: tuple[str, ...], **given: Any) -> int:
    """Do TASK without a browser.

    Without words the task is read from standard input. Options may stand before and after it.
    """
    options = TaskOptions.read(task, given)
    from agentloop.build import default_capabilities, named_capabilities
    from agentloop.cli.perform import perform
    from agentloop.loop import Loop
    from agentloop.records import RunRequest
    from agentloop.stores.memory import MemoryStore

    capabilities = [*default_capabilities(), *named_capabilities(options.packs)]

    @asynccontextmanager
    async def open_run(llm: LLM, on_event: OnEvent) -> AsyncIterator[RunHandle]:
        loop = Loop(llm=llm, store=MemoryStore(), capabilities=capabilities, model=options.model, limits=options.limits)
        async with loop, await loop.open(RunRequest(options.message), on_event=on_event) as handle:
            yield handle

    return perform(options, open_run)
