"""`agentloop run TASK`: the engine without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.options import PROJECT, SESSION, TaskOptions, options, read_message
from agentloop.cli.remembered import setup_of

if TYPE_CHECKING:
    from agentloop.cli.command_context import CommandContext
    from agentloop.journal import OnEvent
    from agentloop.loop import RunHandle
    from agentloop.records import Session

__all__ = ["command", "open_run"]


@click.command("run")
@click.argument("task", nargs=-1)
@options(PROJECT, SESSION)
def command(task: tuple[str, ...], **given: Any) -> int:
    """Do TASK without a browser.

    Without words the task is read from standard input. Options may stand before and after it.
    """
    choices = TaskOptions.read(given, has_exec=True)
    message = read_message(task)
    from agentloop.cli.adding import check_names, warn_beside_browser
    from agentloop.cli.perform import perform

    check_names(choices.settings, skills_of=choices.cwd)
    warn_beside_browser(choices.settings)
    return perform(choices, lambda command, session, on_event: open_run(command, session, on_event, message=message))


def open_run(
    command: CommandContext, session: Session, on_event: OnEvent, *, message: str | None
) -> AbstractAsyncContextManager[RunHandle]:
    """A run of `message` in the session, or its last run where it was left."""
    return _open(command, session, on_event, message)


@asynccontextmanager
async def _open(
    command: CommandContext, session: Session, on_event: OnEvent, message: str | None
) -> AsyncIterator[RunHandle]:
    from agentloop.build import loop_settings, secret_capabilities
    from agentloop.cli.adding import standing_capabilities
    from agentloop.loop import Loop
    from agentloop.records import RunRequest

    settings = command.options.settings
    capabilities = await asyncio.to_thread(standing_capabilities, settings, command.options.cwd)
    loop = Loop(
        llm=command.llm,
        store=command.store,
        capabilities=[*capabilities, *secret_capabilities(command.options.secrets)],
        secrets=command.options.secrets,
        model=settings.model or session.model or None,
        settings=loop_settings(
            limits=settings.limits,
            context_window=settings.context_window,
            history_window=settings.history_window,
            workspace=command.options.cwd,
            egress=command.egress,
        ),
        on_ask=command.approvals,
    )
    request = (
        session.session_id
        if message is None
        else RunRequest(
            message,
            session=session.session_id,
            fresh=command.options.fresh,
            enabled=settings.enable,
            setup=setup_of("run", command.options),
        )
    )
    async with await loop.open(request, on_event=on_event) as handle:
        yield handle
