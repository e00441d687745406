"""Which command is meant, and what becomes of errors: one line of text and an exit code."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

import click

from agentloop.cli.ndjson import fatal_line
from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError
from agentloop.report.verdict import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_SETUP

__all__ = ["COMMANDS", "main", "route"]

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "browse": "Do a task in a real browser.",
        "run": "Do a task without a browser; the default command.",
        "doctor": "Tell what works here and what does not.",
        "install-browser": "Get a Chromium, by whichever way works.",
        "version": "Print the version.",
    }
)
"""Each command with its line in the help; its module is loaded only when it is called."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code, never raises for what a user or the world did."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _commands.main(route(words), prog_name="agentloop", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return _fatal(error.format_message(), words, usage=usage)
    except AgentLoopError as error:
        return _fatal(str(error), words)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_ERROR
    except Exception as error:  # the last border: a defect gets its trace, a program its line and its code
        traceback.print_exc()
        return _fatal(f"internal error: {type(error).__name__}: {error}", words, code=EXIT_ERROR)


def route(words: Sequence[str]) -> list[str]:
    """The words with the command in front: what names no command is a task for `run`."""
    if not words:
        return ["run"]
    first, rest = words[0], list(words[1:])
    if first == "help" and (not rest or (len(rest) == 1 and rest[0] in COMMANDS)):
        return [*rest, "--help"]
    if first in COMMANDS or first in ("-h", "--help"):
        return [first, *rest]
    return ["version"] if first == "--version" and not rest else ["run", *words]


class _Commands(click.Group):
    """Loads a command's module when the command is called, and not for the list of all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"agentloop.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def _commands() -> None:
    """A model thinks in JavaScript, a sandbox runs it, a real browser does it.

    agentloop "TASK" is short for agentloop run "TASK". The answer goes to standard output,
    everything else to standard error.

    Exit codes: 0 completed, 1 error, 2 out of steps, 3 usage or set-up, 4 a check failed,
    5 out of budget or time, 6 refused, 7 browser lost, 8 model error, 9 diverged, 130 interrupted.
    """


def _fatal(message: str, words: Sequence[str], *, usage: str = "", code: int = EXIT_SETUP) -> int:
    if "--json" in words:
        print(fatal_line(message), flush=True)
    if usage:
        print(usage, file=sys.stderr)
    print(f"agentloop: {visible(message)}", file=sys.stderr)
    return code
