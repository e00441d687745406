"""`agentloop browse TASK`: a task in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.options import BROWSER, EXPECT, SESSION, URL, TaskOptions, options, read_message
from agentloop.cli.remembered import setup_of
from agentloop.settings import data_directory

if TYPE_CHECKING:
    from agentloop.artifacts.base import Artifacts
    from agentloop.browsing import BrowseOptions
    from agentloop.cli.command_context import CommandContext
    from agentloop.journal import OnEvent
    from agentloop.loop import RunHandle
    from agentloop.records import Session

__all__ = ["command", "open_run"]


@click.command("browse")
@click.argument("task", nargs=-1)
@options(URL, BROWSER, EXPECT, SESSION)
def command(task: tuple[str, ...], **given: Any) -> int:
    """Do TASK in a real browser.

    Without words the task is read from standard input. Options may stand before and after it.
    """
    choices = TaskOptions.read(given)
    choices = _with_browser(choices)
    message = read_message(task, example='agentloop browse "Find the price" --url https://shop.example')
    from agentloop.cli.adding import check_names
    from agentloop.cli.perform import perform

    check_names(choices.settings)
    return perform(choices, lambda command, session, on_event: open_run(command, session, on_event, message=message))


def _with_browser(choices: TaskOptions) -> TaskOptions:
    """The options, with the browser among what is enabled."""
    enable = choices.settings.enable
    if enable is None or "browser" in enable:
        return choices
    return replace(choices, settings=replace(choices.settings, enable=("browser", *enable)))


def open_run(
    command: CommandContext, session: Session, on_event: OnEvent, *, message: str | None, run_id: str | None = None
) -> AbstractAsyncContextManager[RunHandle]:
    """A browser and a run of `message` in the session, or its last run (`run_id`) where it was left."""
    from agentloop.cli.adding import warn_of_packs_beside_pages
    from agentloop.run.opening import new_id

    warn_of_packs_beside_pages(command.options.settings, command.options.settings.packs)
    return _open(command, session, on_event, message, run_id or new_id())


@asynccontextmanager
async def _open(
    command: CommandContext, session: Session, on_event: OnEvent, message: str | None, run_id: str
) -> AsyncIterator[RunHandle]:
    from agentloop.artifacts.folder import FolderArtifacts
    from agentloop.browsing import open_browse

    settings = command.options.settings
    kept = None if settings.ephemeral else data_directory() / "runs" / run_id
    folder = settings.artifacts or kept
    artifacts = FolderArtifacts(folder) if folder else None
    if artifacts is not None:
        await artifacts.check()
    how = _browse_options(command, session, run_id, artifacts)
    async with open_browse(message, how, llm=command.llm, on_event=on_event, on_ask=command.approvals) as handle:
        yield handle


def _browse_options(
    command: CommandContext, session: Session, run_id: str, artifacts: Artifacts | None
) -> BrowseOptions:
    from agentloop.browsing import BrowseOptions
    from agentloop.cli.adding import added_capabilities

    chosen, settings = command.options, command.options.settings
    return BrowseOptions(
        url=chosen.url,
        allow=settings.allow,
        allow_private=settings.allow_private,
        headless=not settings.headed,
        slow_mo_ms=settings.slow_mo,
        browser_sandbox=settings.browser_sandbox,
        cdp_url=settings.cdp,
        dangerously_unguarded=settings.dangerously_unguarded,
        egress=command.egress,
        model=settings.model or session.model or None,
        vision=settings.vision,
        confirm=settings.confirm,
        limits=settings.limits,
        artifacts=artifacts,
        run_id=run_id,
        expect=chosen.expect,
        capabilities=added_capabilities(chosen, besides={"browser"}),
        store=command.store,
        session=session.session_id,
        fresh=chosen.fresh,
        enabled=settings.enable,
        context_window=settings.context_window,
        history_window=settings.history_window,
        workspace=str(chosen.cwd),
        setup=setup_of("browse", chosen),
        secrets=chosen.secrets,
    )
