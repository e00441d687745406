"""The options that every command with a task takes, and what they mean together."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from agentloop.records import RunLimits

__all__ = ["TaskOptions", "duration", "task_options"]

F = TypeVar("F", bound=Callable[..., Any])

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STDIN_BYTES = 1 << 20


def duration(text: str) -> float:
    """The seconds of "90", "1.5s", "5m", "1h" or "500ms". Raises `click.BadParameter`."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[(match[2] or "s").lower()] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(
            f"{text!r} is no length of time: give seconds, or a number with ms, s, m or h, such as 5m"
        )
    return seconds


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """What the shared options say."""

    message: str
    llm: str | None
    llm_base_url: str | None
    model: str | None
    packs: tuple[str, ...]
    limits: RunLimits
    json: bool
    json_stream: bool
    quiet: bool
    ephemeral: bool

    @classmethod
    def read(cls, task: tuple[str, ...], given: Mapping[str, Any]) -> TaskOptions:
        """From what click parsed. Raises `click.UsageError` for what does not go together."""
        if given["json_stream"] and not given["json"]:
            raise click.UsageError("--json-stream needs --json")
        if given["llm"] and given["llm_base_url"]:
            raise click.UsageError("--llm and --llm-base-url name two models: give one of them")
        defaults = RunLimits()
        return cls(
            message=_message(task),
            llm=given["llm"],
            llm_base_url=given["llm_base_url"],
            model=given["model"],
            packs=_names(given["packs"]),
            limits=RunLimits(
                iterations=given["max_steps"] or defaults.iterations, wall_s=given["timeout"] or defaults.wall_s
            ),
            json=given["json"],
            json_stream=given["json_stream"],
            quiet=given["quiet"],
            ephemeral=given["ephemeral"],
        )


def task_options(command: F) -> F:
    """Adds the task and the shared options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("task", nargs=-1),
    click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Calls of the model at most.  [20]"),
    click.option("--timeout", type=duration, metavar="SECONDS|5m", help="How long the run may take.  [5m]"),
    click.option("--model", metavar="NAME", help="The model to ask.  [OPENAI_CHAT_MODEL]"),
    click.option("--llm-base-url", metavar="URL", help="Where the model is served.  [OPENAI_BASE_URL]"),
    click.option("--llm", metavar="scripted:FILE", help="Replies from a file of JSON lines instead of a model."),
    click.option("--with", "packs", multiple=True, metavar="PACKS", help="More that scripts may call, by commas."),
    click.option("--json", is_flag=True, help="Events as JSON lines on standard output, the result last."),
    click.option("--json-stream", is_flag=True, help="With --json: the answer's text too, as it arrives."),
    click.option("--quiet", is_flag=True, help="Nothing on standard error but fatal errors."),
    click.option("--ephemeral", is_flag=True, help="Keep nothing of this run on disk."),
)


def _message(task: tuple[str, ...]) -> str:
    message = " ".join(task).strip()
    if not message and not sys.stdin.isatty():
        message = sys.stdin.buffer.read(_STDIN_BYTES).decode("utf-8", "replace").strip()
    if not message:
        raise click.UsageError('no task: give one in words, such as agentloop run "Add 2 and 3", or on standard input')
    return message


def _names(lists: tuple[str, ...]) -> tuple[str, ...]:
    names = (name.strip() for names in lists for name in names.split(","))
    return tuple(dict.fromkeys(name for name in names if name))
