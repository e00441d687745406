"""`agentloop sessions resume ID`: goes on with a run that was cut short, as it was begun."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.options import (
    BROWSER,
    EXPECT,
    FOLDER,
    MODEL,
    NETWORK,
    OUTPUT,
    PERMISSION,
    PROJECT,
    TaskOptions,
    given_settings,
    options,
)
from agentloop.errors import UnknownSession
from agentloop.settings import Settings, database_path

if TYPE_CHECKING:
    from agentloop.cli.command_context import CommandContext
    from agentloop.cli.remembered import Remembered
    from agentloop.journal import OnEvent
    from agentloop.loop import RunHandle
    from agentloop.records import RunRecord, Session

__all__ = ["command"]


@click.command("resume")
@click.argument("id")
@options(MODEL, PERMISSION, NETWORK, FOLDER, PROJECT, OUTPUT, BROWSER, EXPECT)
def command(id: str, **given: Any) -> int:
    """Go on with the last run of session ID where it was left.

    It is set up as it was begun, with or without a browser; options given here win. A script that was cut short
    is not run again: the model is told. Of a run that is over the answer is printed, and its exit code returned.
    """
    run = asyncio.run(_last_run(id, Settings.gather(given_settings(given))))
    choices = _options(run, given)
    if run.status.terminal:
        return _tell(run, choices)
    from agentloop.cli.perform import perform
    from agentloop.cli.remembered import Remembered

    begun_by = Remembered.of(run).command

    def open_again(
        command: CommandContext, session: Session, on_event: OnEvent
    ) -> AbstractAsyncContextManager[RunHandle]:
        from agentloop.cli import browse
        from agentloop.cli import run as plain

        if begun_by == "browse":
            return browse.open_run(command, session, on_event, message=None, run_id=run.run_id)
        return plain.open_run(command, session, on_event, message=None)

    return perform(choices, open_again)


async def _last_run(id: str, settings: Settings) -> RunRecord:
    from agentloop.stores import SQLiteStore

    file = database_path(flag=settings.db)
    if not file.exists():
        raise UnknownSession(f"No session has an id that begins with {id!r}.")
    async with SQLiteStore(file) as store:
        session_id = await store.find_session(id)
        run = await store.last_run(session_id)
    if run is None:
        raise UnknownSession(f"Session {session_id!r} has no run to go on with.")
    return run


def _options(run: RunRecord, given: dict[str, Any]) -> TaskOptions:
    from agentloop.cli.remembered import Remembered

    begun = Remembered.of(run)
    cwd = given["cwd"] or (begun.cwd if begun.cwd and begun.cwd.is_dir() else None)
    options = TaskOptions.read(
        {**given, "cwd": cwd, "expect": given["expect"] or begun.expect},
        # It is on disk, whatever else is to be ephemeral.
        remembered={**begun.settings, "ephemeral": False},
        has_exec=begun.command == "run",
    )
    if not run.status.terminal:
        _need_secrets(begun, options)
    return replace(options, session=run.session_id)


def _need_secrets(begun: Remembered, options: TaskOptions) -> None:
    """A run is not gone on with while what it must keep out of its record is not known. Raises `click.UsageError`."""
    given = {binding.name for binding in options.settings.secret}
    missing = [text for text in begun.secrets if text.partition("=")[0] not in given]
    if missing:
        flags = " ".join(f"--secret {text}" for text in missing)
        raise click.UsageError(f"this run was begun with secrets, which are kept nowhere: give {flags} again")


def _tell(run: RunRecord, options: TaskOptions) -> int:
    """Shows the result of a run that is over."""
    from agentloop.cli.screen import view_for
    from agentloop.report.verdict import exit_code
    from agentloop.run.ending import result_of

    view = view_for(options)
    view.result(result_of(run))
    view.close()
    return exit_code(run.status, run.reason)
