"""What a command works with for as long as it runs: model, store, and who answers questions."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import click

from agentloop.artifacts.egress import EgressManifest
from agentloop.cli.approvals import Approvals
from agentloop.cli.lines import StdinLines
from agentloop.cli.model import open_model
from agentloop.cli.options import TaskOptions
from agentloop.cli.render import View, visible
from agentloop.cli.screen import view_for
from agentloop.errors import InvalidInput
from agentloop.llm.base import LLM
from agentloop.records import Session
from agentloop.run.opening import new_id
from agentloop.settings import Settings, database_path
from agentloop.stores.base import Store

__all__ = ["CommandContext", "open_command", "open_store", "write_prompt"]

_PERSONA_BYTES = 65_536


@dataclass(kw_only=True)
class CommandContext:
    """One command's surroundings. `view` is the view of the run at hand; `terminated`: a SIGTERM came during it."""

    options: TaskOptions
    llm: LLM
    store: Store
    lines: StdinLines
    view: View
    approvals: Approvals
    egress: EgressManifest | None = None
    terminated: bool = False

    async def chosen_session(self) -> str:
        """The id of the session that the options name; a new one without them. Raises `click.UsageError`."""
        if not self.options.newest:
            return self.options.session or new_id()
        newest = await self.store.most_recent_session()
        if newest is None:
            raise click.UsageError("nothing to continue: no session has been kept yet")
        return newest

    @asynccontextmanager
    async def session(self, session_id: str) -> AsyncIterator[Session]:
        """The session, begun with these options when it is new, and gone again when it got no run.

        Raises `click.UsageError` for flags that a known session cannot follow.
        """
        known = await self.store.get_session(session_id)
        if known is not None:
            self._refuse_change(known)
            yield known
            return
        settings = self.options.settings
        begun = Session(
            session_id=session_id, model=settings.model or "", persona=_persona(settings), enabled=settings.enable
        )
        try:
            yield await self.store.create_session(begun)
        finally:
            if await self.store.last_run(session_id) is None:
                await self.store.delete_session(session_id)

    def _refuse_change(self, known: Session) -> None:
        settings = self.options.settings
        if settings.by_flag("persona") and _persona(settings) != known.persona:
            raise click.UsageError("--persona: a session keeps the persona it began with; begin a new session")
        if settings.by_flag("enable") and known.enabled is not None and settings.enable != known.enabled:
            raise click.UsageError(f"--enable: this session began with {', '.join(known.enabled) or 'nothing'}")


@asynccontextmanager
async def open_command(options: TaskOptions) -> AsyncIterator[CommandContext]:
    """The command for the block. Raises `InvalidInput` when no model is configured or no manifest can be written."""
    lines = StdinLines()
    egress = None if options.settings.egress is None else await EgressManifest.begin(options.settings.egress)
    async with open_model(options.settings) as llm, open_store(options.settings) as store:
        command = CommandContext(
            options=options,
            llm=llm,
            store=store,
            lines=lines,
            view=view_for(options),
            approvals=Approvals(options.approve, lines=lines, write=write_prompt, hold=lambda: _held(command)),
            egress=egress,
        )
        _tell_ignored(options.settings)
        yield command


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """The store of sessions for the block: the database, or memory when nothing is to be kept."""
    from agentloop.stores import MemoryStore, SQLiteStore

    store: Store = MemoryStore() if settings.ephemeral else SQLiteStore(database_path(flag=settings.db))
    try:
        yield store
    finally:
        await store.aclose()


def write_prompt(text: str) -> None:
    """A question without a line's end, on standard error: standard output is the answer's."""
    print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def _held(command: CommandContext) -> Iterator[None]:
    with command.view.hold():
        yield


def _persona(settings: Settings) -> str:
    if settings.persona is None:
        return ""
    try:
        with settings.persona.open("rb") as stream:
            data = stream.read(_PERSONA_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"the persona {settings.persona} cannot be read: {error.strerror}") from None
    if len(data) > _PERSONA_BYTES:
        raise InvalidInput(f"the persona {settings.persona} is longer than {_PERSONA_BYTES} bytes")
    return data.decode("utf-8", "replace").strip()


def _tell_ignored(settings: Settings) -> None:
    if settings.quiet:
        return
    for ignored in settings.ignored:
        write_prompt(f"[warning] {visible(str(ignored.file))}: {visible(ignored.key)} is ignored: {ignored.why}\n")
    for unknown in settings.unknown:
        write_prompt(f"[warning] {visible(unknown)}\n")
