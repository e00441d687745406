"""`agentloop sessions`: what is kept of past conversations."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.calling import fatal
from agentloop.cli.options import Setting
from agentloop.cli.render import visible
from agentloop.cli.resume import command as resume
from agentloop.errors import InvalidInput, RunOwned, UnknownSession
from agentloop.settings import Settings, database_path

if TYPE_CHECKING:
    from agentloop.guard.grants import Grant
    from agentloop.records import Json, Step
    from agentloop.stores.base import SessionSummary, Store

__all__ = ["command"]

_ALIASES = {"list": "ls", "remove": "rm", "delete": "rm"}
_OPENING_CHARS = 48
_UNFIT = 1

_DB = click.option(
    "--db", type=Setting("db"), metavar="FILE", help="Where sessions are kept.  [sessions.db in the data directory]"
)
_JSON = click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
_IDS = click.argument("ids", nargs=-1, required=True, metavar="ID...")


class _Sessions(click.Group):
    """Lists when nothing else is asked for, and knows the commands by their other names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["ls", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group.get_command`."""
        return super().get_command(ctx, _ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See `click.Group.resolve_command`."""
        if self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command is called {visible(args[0])!r}; there are: {', '.join(self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.command("sessions", cls=_Sessions)
def command() -> None:
    """List, show, resume and delete the sessions that are kept.

    An ID may be shortened to any beginning that only one session has. Without a command: ls.
    """


command.add_command(resume)


@command.command("ls")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many; 0 for all.")
@_JSON
@_DB
def _ls(limit: int, as_json: bool, db: Path | None) -> int:
    """List sessions, the one used last first; also `list`."""

    async def work(store: Store | None) -> int:
        found = await store.list_sessions(limit) if store else ()
        for summary in found:
            print(json.dumps(_summary(summary)) if as_json else _line(summary))
        if not found and not as_json:
            _tell_none("sessions", db)
        return 0

    return _with_store(db, work)


@command.command("show")
@click.argument("id")
@_JSON
@_DB
def _show(id: str, as_json: bool, db: Path | None) -> int:
    """Show every step of a session, and what it has approved."""

    async def one(store: Store, session_id: str) -> None:
        steps, grants = await store.last_steps(session_id, 0), await store.grants(session_id)
        if as_json:
            for entry in (*map(_step, steps), *map(_grant, grants)):
                print(json.dumps(entry))
        else:
            _print_session(session_id, steps, grants)

    return _with_store(db, lambda store: _for_each(store, [id], one, as_json=as_json))


@command.command("rm")
@_IDS
@_DB
def _rm(ids: tuple[str, ...], db: Path | None) -> int:
    """Delete sessions with all that is kept of them; also `remove`, `delete`.

    A session with a run in progress stays: end that first.
    """

    async def one(store: Store, session_id: str) -> None:
        await store.delete_session(session_id)
        print(f"deleted {visible(session_id)}")

    return _with_store(db, lambda store: _for_each(store, ids, one))


@command.command("revoke")
@_IDS
@_DB
def _revoke(ids: tuple[str, ...], db: Path | None) -> int:
    """Forget what sessions have approved: they will ask again."""

    async def one(store: Store, session_id: str) -> None:
        count = await store.revoke_grants(session_id)
        print(f"{visible(session_id)}: {count} approval{'' if count == 1 else 's'} forgotten")

    return _with_store(db, lambda store: _for_each(store, ids, one))


@command.command("grants")
@_JSON
@_DB
def _grants(as_json: bool, db: Path | None) -> int:
    """List what all sessions have approved."""

    async def work(store: Store | None) -> int:
        found = [(id, grant) async for id, grant in _all_grants(store)] if store else []
        for session_id, grant in found:
            line = f"{visible(session_id)}  {_granted(grant)}"
            print(json.dumps({**_grant(grant), "session_id": session_id}) if as_json else line)
        if not found and not as_json:
            _tell_none("approvals", db)
        return 0

    return _with_store(db, work)


# The store ---------------------------------------------------------------------------------------------------


async def _all_grants(store: Store) -> AsyncIterator[tuple[str, Grant]]:
    for summary in await store.list_sessions():
        for grant in await store.grants(summary.session.session_id):
            yield summary.session.session_id, grant


def _tell_none(what: str, db: Path | None) -> None:
    print(f"no {what} in {visible(str(_file(db)))}", file=sys.stderr)


def _file(db: Path | None) -> Path:
    return database_path(flag=Settings.gather({"db": db}).db)


def _with_store(db: Path | None, work: Callable[[Store | None], Awaitable[int]]) -> int:
    """Does `work` with the store of the database, with None where there is no database yet."""
    file = _file(db)
    return asyncio.run(_with_file(file, work) if file.exists() else _async(work(None)))


async def _async(work: Awaitable[int]) -> int:
    return await work


async def _with_file(file: Path, work: Callable[[Store | None], Awaitable[int]]) -> int:
    from agentloop.stores import SQLiteStore

    async with SQLiteStore(file) as store:
        return await work(store)


async def _for_each(
    store: Store | None, ids: Sequence[str], one: Callable[[Store, str], Awaitable[None]], *, as_json: bool = False
) -> int:
    """Does `one` with each session; one that there is not, or that is in use, is told and the others are done."""
    code = 0
    for id in ids:
        try:
            if store is None:
                raise UnknownSession(f"No session has an id that begins with {id!r}.")
            await one(store, await store.find_session(id))
        except (UnknownSession, InvalidInput, RunOwned) as error:
            code = fatal(str(error), json=as_json, code=_UNFIT)
    return code


# What is printed ---------------------------------------------------------------------------------------------


def _line(summary: SessionSummary) -> str:
    session = summary.session
    when = datetime.fromisoformat(session.updated_at).astimezone().strftime("%Y-%m-%d %H:%M")
    status = summary.status or "-"
    opening = _opening(summary.opening)
    return f"{visible(session.session_id):<24}  {status:<14} {summary.steps:>4} steps  {when}  {visible(opening)}"


def _opening(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _OPENING_CHARS else f"{folded[:_OPENING_CHARS]}…"


def _summary(summary: SessionSummary) -> dict[str, Json]:
    session = summary.session
    data: dict[str, Any] = {
        "type": "session",
        "id": session.session_id,
        "status": summary.status,
        "model": session.model,
        "opening": summary.opening,
    }
    return {name: value for name, value in data.items() if value} | {
        "steps": summary.steps,
        "runs": summary.runs,
        "tokens": {"prompt": summary.tokens.prompt, "completion": summary.tokens.completion},
        "cost": summary.cost,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }


def _step(step: Step) -> dict[str, Json]:
    data: dict[str, Any] = {"type": step.type, "step_index": step.index, "run_id": step.run_id}
    if step.content:
        data["content"] = step.content
    if step.tool_args:
        data["tool_args"] = dict(step.tool_args)
    return data | {"created_at": step.created_at}


def _grant(grant: Grant) -> dict[str, Json]:
    return {"type": "grant", "kind": grant.kind, "subject": grant.subject, "granted_at": grant.granted_at}


def _granted(grant: Grant) -> str:
    return f"{visible(grant.kind)} {visible(grant.subject)}  ({grant.granted_at})"


def _print_session(session_id: str, steps: Sequence[Step], grants: Sequence[Grant]) -> None:
    for step in steps:
        print(f"--- {step.index} {step.type} {step.created_at}")
        print(visible(step.content, keep="\n\t"))
        if step.tool_args:
            print(visible(json.dumps(dict(step.tool_args), ensure_ascii=False)))
    if grants:
        print("--- approved")
        for grant in grants:
            print(f"  {_granted(grant)}")
        print(f"  agentloop sessions revoke {visible(session_id)} forgets this")
