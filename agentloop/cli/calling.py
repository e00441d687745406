"""Calls a command and turns what it raises into an exit code and one line of text."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from agentloop.cli.ndjson import fatal_line
from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError
from agentloop.report.verdict import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_SETUP

__all__ = ["call", "fatal"]

_HELP: Mapping[str, Any] = MappingProxyType({"help_option_names": ["-h", "--help"]})


def call(name: str, words: Sequence[str]) -> int:
    """The exit code of the command `name` with these words."""
    as_json = "--json" in words
    try:
        command: click.Command = import_module(f"agentloop.cli.{name.replace('-', '_')}").command
        code = command.main(list(words), prog_name=f"agentloop {name}", standalone_mode=False, **_HELP)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return fatal(error.format_message(), json=as_json, usage=usage)
    except AgentLoopError as error:
        return fatal(str(error), json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_ERROR
    except Exception as error:  # the last border: a defect gets its trace, a program its line and its code
        traceback.print_exc()
        return fatal(f"internal error: {type(error).__name__}: {error}", json=as_json, code=EXIT_ERROR)


def fatal(message: str, *, json: bool, usage: str = "", code: int = EXIT_SETUP) -> int:
    """Says on both streams that there was no run; returns the exit code."""
    if json:
        print(fatal_line(message), flush=True)
    if usage:
        print(usage, file=sys.stderr)
    shown = visible(message, keep="\n")
    print(f"agentloop: {shown}", file=sys.stderr)
    return code
