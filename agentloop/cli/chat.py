"""`agentloop chat`: one message a line, one session for them all."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from agentloop.cli.calling import fatal
from agentloop.cli.options import PROJECT, SESSION, TaskOptions, options
from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError
from agentloop.report.verdict import EXIT_INTERRUPTED, EXIT_SETUP

if TYPE_CHECKING:
    from agentloop.cli.command_context import CommandContext

__all__ = ["command"]

_HELP = """\
One message a line. Ctrl-C ends the turn at hand, Ctrl-D leaves.
  /new      begin a new session
  /session  print the id of this one
  /help     this
  /exit     leave; also /quit"""


@click.command("chat")
@options(PROJECT, SESSION)
def command(**given: Any) -> int:
    """Talk: one message a line, from the terminal or a pipe.

    Lines that begin with a slash are commands; /help lists them. The exit code is that of the last message.
    """
    choices = TaskOptions.read(given, has_exec=True)
    from agentloop.cli.adding import check_names, warn_beside_browser

    check_names(choices.settings, skills_of=choices.cwd)
    warn_beside_browser(choices.settings)
    try:
        return asyncio.run(_talk(choices))
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED


async def _talk(choices: TaskOptions) -> int:
    from agentloop.cli.command_context import open_command

    async with open_command(choices) as command:
        return await _Chat(command, await command.chosen_session()).run()


class _Chat:
    """The conversation: which session it is in, and the exit code so far."""

    def __init__(self, command: CommandContext, session_id: str) -> None:
        self._command = command
        self._session_id = session_id
        self._code = 0
        self._at_terminal = sys.stdin is not None and sys.stdin.isatty()

    async def run(self) -> int:
        """Reads and answers until the end; the last turn's exit code."""
        while not self._command.terminated and (line := await self._next_line()) is not None:
            text = line.strip()
            if text in ("/exit", "/quit"):
                break
            if text.startswith("/"):
                self._obey(text)
            elif text:
                self._code = await self._answer(text)
                self._command.options = replace(self._command.options, fresh=False)
        return self._code

    async def _next_line(self) -> str | None:
        with _interruptible():
            if self._at_terminal:
                _say("> ", end="")
            line = await self._command.lines.next()
        if line is None and self._at_terminal:
            _say("")
        return line

    def _obey(self, text: str) -> None:
        from agentloop.run.opening import new_id

        match text:
            case "/new":
                self._session_id = new_id()
                _say(f"new session {self._session_id}")
            case "/session":
                _say(visible(self._session_id))
            case "/help":
                _say(_HELP)
            case _:
                _say(f"{visible(text.split()[0])} is no command; /help lists them")

    async def _answer(self, message: str) -> int:
        from agentloop.cli.perform import run_in
        from agentloop.cli.run import open_run

        task = asyncio.current_task()
        assert task is not None
        try:
            return await run_in(
                self._command,
                self._session_id,
                lambda command, session, on_event: open_run(command, session, on_event, message=message),
            )
        except (AgentLoopError, click.UsageError) as error:
            return fatal(str(error), json=self._command.options.json, code=EXIT_SETUP)
        except asyncio.CancelledError:
            # A signal before the run was open: it was for this turn, not for the conversation.
            task.uncancel()
            return EXIT_INTERRUPTED


@contextmanager
def _interruptible() -> Iterator[None]:
    """Between turns: the first Ctrl-C tells how to leave, the second in a row and SIGTERM leave."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asked = False

    def interrupted() -> None:
        nonlocal asked
        if asked:
            task.cancel()
            return
        asked = True
        _say("\n(Ctrl-D or /exit leaves, Ctrl-C again too)")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


def _say(text: str, *, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)
