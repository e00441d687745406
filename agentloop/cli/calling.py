"""Calls a command and turns what it raises into an exit code and one line of text."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from agentloop.cli.ndjson import fatal_line
from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError
from agentloop.report.verdict import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_SETUP

__all__ = ["call", "discard_output", "fatal"]

_HELP: Mapping[str, Any] = MappingProxyType({"help_option_names": ["-h", "--help"]})


def call(name: str, words: Sequence[str]) -> int:
    """The exit code of the command `name` with these words."""
    as_json = "--json" in words
    try:
        command: click.Command = import_module(f"agentloop.cli.{name.replace('-', '_')}").command
        code = command.main(list(words), prog_name=f"agentloop {name}", standalone_mode=False, **_HELP)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return fatal(error.format_message(), json=as_json, usage=usage)
    except AgentLoopError as error:
        return fatal(str(error), json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return EXIT_ERROR
    except OSError as error:  # of the streams, the working directory and the like; what is ours has errors of its own
        return fatal(f"the system refused: {error}", json=as_json, code=EXIT_ERROR)
    except Exception as error:  # the last border: a defect gets its trace, a program its line and its code
        traceback.print_exc()
        return fatal(f"internal error: {type(error).__name__}: {error}", json=as_json, code=EXIT_ERROR)


def fatal(message: str, *, json: bool, usage: str = "", code: int = EXIT_SETUP) -> int:
    """Says on both streams that there was no run; returns the exit code."""
    if json:
        try:
            print(fatal_line(message), flush=True)
        except OSError:  # said on the other stream
            discard_output()
    with suppress(OSError):
        if usage:
            print(usage, file=sys.stderr)
        shown = visible(message, keep="\n")
        print(f"agentloop: {shown}", file=sys.stderr)
    return code


def discard_output() -> None:
    """Standard output leads nowhere from now on: Python would complain once more when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
