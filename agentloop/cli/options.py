"""The options that commands share, and what they mean together."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from agentloop.errors import InvalidInput, RequestRefused
from agentloop.guard.secrets import Secret
from agentloop.settings import Settings

__all__ = [
    "BROWSER",
    "CONVERSATION",
    "EXPECT",
    "FOLDER",
    "MODEL",
    "NETWORK",
    "OUTPUT",
    "PERMISSION",
    "PROJECT",
    "SESSION",
    "URL",
    "ApproveMode",
    "Setting",
    "TaskOptions",
    "given_settings",
    "options",
    "read_message",
]

F = TypeVar("F", bound=Callable[..., Any])
ApproveMode = Literal["prompt", "auto", "deny"]

_PACKS = "browser, markdown, http, fetch, ai, workspace, exec"
_STDIN_BYTES = 1 << 20
_ID_CHARS = 200


class Setting(click.ParamType[Any]):
    """A value of the setting with this flag name, read as `Settings` reads it."""

    name = "setting"

    def __init__(self, setting: str) -> None:
        self._setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType.convert`."""
        try:
            return Settings.read(self._setting, value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def options(*groups: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    """Adds groups of options to a command."""

    def add(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add


def _choice(flag: str, metavar: str, help: str) -> Callable[[Any], Any]:
    name = flag.removeprefix("--")
    return click.option(flag, name.replace("-", "_"), type=Setting(name), metavar=metavar, help=help)


def _switch(flag: str, help: str) -> Callable[[Any], Any]:
    return click.option(flag, is_flag=True, default=None, help=help)


def _names(flag: str, metavar: str, help: str) -> Callable[[Any], Any]:
    return click.option(flag, flag.removeprefix("--").replace("-", "_"), multiple=True, metavar=metavar, help=help)


MODEL = (
    _choice("--model", "NAME", "The model to ask.  [OPENAI_CHAT_MODEL]"),
    _choice("--llm-base-url", "URL", "Where the model is served.  [OPENAI_BASE_URL]"),
    _choice("--llm", "scripted:FILE", "Replies from a file of JSON lines instead of a model."),
    _choice("--persona", "FILE", "Words on who the model is, kept with a new session."),
    _choice("--max-steps", "N", "Turns at most: calls of the model.  [20]"),
    _choice("--timeout", "SECONDS|5m", "How long a run may take.  [5m]"),
    _choice("--max-prompt-tokens", "N", "Prompt tokens of a run at most."),
    _choice("--max-completion-tokens", "N", "Completion tokens of a run at most."),
    _choice("--max-cost", "AMOUNT", "Cost of a run at most; needs --price."),
    _choice("--price", "IN,OUT", "What a million prompt and completion tokens cost."),
    _choice("--history-window", "N", "Steps of earlier runs that the model reads.  [80]"),
    _choice("--context-window", "N", "Tokens that the model is served with: calls fit, long histories are summed up."),
)
"""Which model, and what a run of it may spend."""

PERMISSION = (
    _names("--with", "PACKS", f"More that scripts may call, by commas: {_PACKS}."),
    _names(
        "--enable",
        "NAMES",
        f"The only capabilities of a new session, by commas: {_PACKS}; in run and chat skills by name, too.",
    ),
    _names("--allow-exec", "NAMES", "Programs that exec may run without asking, by commas."),
    _switch("--dangerously-allow-shell", "exec takes a shell's line, too: it does whatever the line says."),
    _switch("--no-exec", "No exec, whatever was added."),
    _switch("--no-network", "No fetch and no http."),
    _names("--secret", "NAME=env:VAR@URL", "A variable's value as secret(NAME), for the host at URL; repeatable."),
    _choice("--approve", "prompt|auto|deny", "Who answers permission questions.  [prompt at a terminal, else deny]"),
)
"""What scripts may do."""

FOLDER = (
    click.option(
        "--cwd",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="The workspace.  [the current folder]",
    ),
    _choice("--db", "FILE", "Where sessions are kept.  [sessions.db in the data directory]"),
)
"""Where things are."""

PROJECT = (_switch("--no-project", "Read neither AGENTS.md nor the skills of the workspace."),)
"""What the workspace says."""

CONVERSATION = (
    click.option("--session", metavar="ID", help="Begin or go on with the session of this id."),
    click.option("--continue", "newest", is_flag=True, help="Go on with the session used last."),
    click.option("--fresh", is_flag=True, help="Start without the data that the session's last run left."),
    _switch("--ephemeral", "Keep nothing on disk."),
)
"""Which session a task belongs to."""

OUTPUT = (
    click.option("--json", is_flag=True, help="Events as JSON lines on standard output, the result last."),
    click.option("--json-stream", is_flag=True, help="With --json: the answer's text too, as it arrives."),
    _switch("--quiet", "Nothing on standard error but fatal errors."),
)
"""What is shown."""

NETWORK = (
    _names("--allow", "PATTERN", "What may be reached: [scheme://]host[:port], *.host; repeatable."),
    _switch("--allow-private", "Private addresses may be reached too."),
    _choice("--max-egress-bytes", "N", "Bytes that pages and scripts may send and receive in a run.  [1 GiB]"),
    _choice("--egress", "FILE", "Write the egress manifest here, too: hosts contacted and refused."),
)
"""Where pages and scripts may go."""

BROWSER = (
    _names("--confirm", "ACTIONS", "Ask before acts: submit, download, upload, new-host; by commas."),
    _switch("--headed", "Show the browser."),
    _choice("--slow-mo", "MS", "Wait so long before each act."),
    _choice("--artifacts", "DIR", "Where pictures of each turn go.  [runs/ID in the data directory]"),
    _choice("--vision", "MODEL", "An image-capable model that scripts may ask about the page."),
    _choice("--cdp", "URL", "A browser that runs already, by its DevTools address."),
    _switch("--dangerously-unguarded", "Use a browser that --allow cannot hold, too."),
    _choice("--browser-sandbox", "auto|on|off", "Chromium's own sandbox; auto is on, and off for root.  [auto]"),
)
"""The browser."""

URL = (click.option("--url", help="The page to start on; its origin may always be reached."),)
"""Where a browser begins."""

EXPECT = (
    click.option(
        "--expect",
        multiple=True,
        metavar="CHECK",
        help="""What must hold in the end, else exit 4; repeatable: url=, url~=, title=, title~=, text=, no-text=,
count:SELECTOR=N, js=, answer=, answer~=, download=.""",
    ),
)
"""Checks of the finished run."""

SESSION = (*MODEL, *PERMISSION, *NETWORK, *FOLDER, *CONVERSATION, *OUTPUT)
"""What every command that runs tasks in a session takes."""


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """What the options say, checked together."""

    settings: Settings
    cwd: Path
    approve: ApproveMode
    session: str | None = None
    newest: bool = False
    fresh: bool = False
    url: str | None = None
    expect: tuple[str, ...] = ()
    json: bool = False
    json_stream: bool = False
    secrets: tuple[Secret, ...] = ()

    @classmethod
    def read(
        cls, given: Mapping[str, Any], *, remembered: Mapping[str, object] | None = None, has_exec: bool = False
    ) -> TaskOptions:
        """From what click parsed, and the settings `remembered` of a run that is taken up again.

        `has_exec`: the command's runs have exec without `--with`.
        Raises `click.UsageError` for what does not go together, `InvalidInput` for settings that cannot be read.
        """
        cwd = Path(given.get("cwd") or Path.cwd()).absolute()
        settings = Settings.gather(given_settings(given), remembered=remembered, workspace=cwd)
        _check(given, settings, has_exec=has_exec)
        _check_patterns(settings)
        return cls(
            settings=settings,
            cwd=cwd,
            approve=_approve(settings),
            session=given.get("session"),
            newest=given.get("newest", False),
            fresh=given.get("fresh", False),
            url=given.get("url"),
            expect=given.get("expect", ()),
            json=given["json"],
            json_stream=given["json_stream"],
            secrets=settings.secrets(),
        )


def given_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among what click parsed, by flag name."""
    return {name: given[key] for name in Settings.names() if (key := name.replace("-", "_")) in given}


def read_message(task: Sequence[str], *, example: str = 'agentloop run "Add 2 and 3"') -> str:
    """The task in words, else standard input; `example` is how to give one.

    Raises `click.UsageError` when there is none.
    """
    # Bytes of an argument that are no UTF-8 arrive as half surrogate pairs, which nothing behind here can write.
    message = os.fsencode(" ".join(task)).decode("utf-8", "replace").strip()
    if not message and sys.stdin is not None and not sys.stdin.isatty():
        message = sys.stdin.buffer.read(_STDIN_BYTES).decode("utf-8", "replace").strip()
    if not message:
        raise click.UsageError(f"no task: give one in words, such as {example}, or on standard input")
    return message


def _check(given: Mapping[str, Any], settings: Settings, *, has_exec: bool) -> None:
    session, newest = given.get("session"), given.get("newest", False)
    wrong = (
        (given["json_stream"] and not given["json"], "--json-stream needs --json"),
        (
            settings.by_flag("llm") and settings.by_flag("llm-base-url"),
            "--llm and --llm-base-url name two models: give one of them",
        ),
        (session is not None and newest, "--session and --continue name two sessions: give one of them"),
        (newest and settings.ephemeral, "--continue goes on with a session on disk: leave --ephemeral out"),
        (settings.by_flag("db") and settings.ephemeral, "--db is for sessions on disk: leave --ephemeral out"),
        (
            settings.by_flag("artifacts") and settings.ephemeral,
            "--ephemeral keeps nothing on disk: leave --artifacts out, or --ephemeral",
        ),
        (
            settings.no_exec and (settings.by_flag("allow-exec") or settings.by_flag("dangerously-allow-shell")),
            "--no-exec leaves nothing to allow: leave --allow-exec and --dangerously-allow-shell out",
        ),
        (
            settings.by_flag("allow-exec") and not has_exec and "exec" not in settings.packs,
            "--allow-exec is for the commands of exec: add --with exec",
        ),
        (
            settings.max_cost is not None and settings.price is None,
            "--max-cost needs --price IN,OUT: without prices nothing costs anything",
        ),
    )
    for applies, words in wrong:
        if applies:
            raise click.UsageError(words)
    if session is not None and (not session.isprintable() or not 0 < len(session.strip()) <= _ID_CHARS):
        raise click.UsageError(f"--session: an id is 1 to {_ID_CHARS} printable characters")


def _check_patterns(settings: Settings) -> None:
    if not settings.allow:
        return
    from agentloop.guard.network.pattern import Pattern

    for text in settings.allow:
        try:
            Pattern.parse(text)
        except (InvalidInput, RequestRefused) as error:
            raise InvalidInput(f"{settings.origins['allow']}: {error}") from None


def _approve(settings: Settings) -> ApproveMode:
    here = sys.stdin is not None and sys.stdin.isatty()
    if settings.approve == "prompt" and not here:
        where = settings.origins["approve"]
        raise click.UsageError(f"{where} prompt needs a terminal on standard input: choose auto or deny")
    return settings.approve or ("prompt" if here else "deny")
