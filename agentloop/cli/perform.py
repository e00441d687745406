"""One run from its opening to its exit code, and what a signal does to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeAlias

from agentloop.cli.calling import discard_output, fatal
from agentloop.cli.command_context import CommandContext, open_command
from agentloop.cli.options import TaskOptions
from agentloop.cli.render import View
from agentloop.cli.screen import view_for
from agentloop.events import RunEvent
from agentloop.journal import OnEvent
from agentloop.loop import RunHandle
from agentloop.records import Session
from agentloop.report.verdict import EXIT_INTERRUPTED, exit_code

__all__ = ["OpenRun", "perform", "run_in"]

OpenRun: TypeAlias = Callable[[CommandContext, Session, OnEvent], AbstractAsyncContextManager[RunHandle]]
"""Opens the run that a command is for."""


def perform(options: TaskOptions, open_run: OpenRun) -> int:
    """Runs one task, shows it, and returns the exit code. Raises what stood in the way of a run."""
    try:
        return asyncio.run(_perform(options, open_run))
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED


async def _perform(options: TaskOptions, open_run: OpenRun) -> int:
    async with open_command(options) as command:
        return await run_in(command, await command.chosen_session(), open_run)


async def run_in(command: CommandContext, session_id: str, open_run: OpenRun) -> int:
    """One run in this session, shown in a view of its own; its exit code.

    The first SIGINT or SIGTERM ends the run, or cancels this task when there is none yet.
    """
    command.view = view = view_for(command.options)
    stop = _Stop(view)
    try:
        with stop.listening():
            async with (
                command.session(session_id) as session,
                open_run(command, session, _guarded(view, stop)) as handle,
            ):
                stop.handle = handle
                result = await handle.run()
            view.result(result)
            return exit_code(result.status, result.reason)
    finally:
        command.terminated = stop.terminated
        view.close()


def _guarded(view: View, stop: _Stop) -> OnEvent:
    """The view's ear. When standard output goes nowhere any more, the run has no purpose left."""

    def on_event(event: RunEvent) -> None:
        try:
            view.event(event)
        except OSError as error:
            discard_output()
            if not isinstance(error, BrokenPipeError):
                fatal(f"standard output cannot be written: {error.strerror}", json=False)
            stop.now("api")

    return on_event


class _Stop:
    """Ends a run on the first SIGINT or SIGTERM, in order; the second ends the process."""

    def __init__(self, view: View) -> None:
        self.handle: RunHandle | None = None
        self._task = asyncio.current_task()
        self._view = view
        self.terminated = False
        self._asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Takes the signals for the block."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def now(self, reason: str) -> None:
        """Ends the run, or, before there is one, the attempt to open it."""
        if self.handle is not None:
            self.handle.cancel(reason)
        elif self._task is not None:
            self._task.cancel()

    def _on_signal(self, number: signal.Signals) -> None:
        if self._asked:
            self._view.close()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._asked = True
        self.terminated = number == signal.SIGTERM
        self.now("signal")
