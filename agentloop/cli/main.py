"""Which command is meant, and what becomes of errors: one line of text and an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

__all__ = ["COMMANDS", "main", "route"]

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "browse": "Do a task in a real browser.",
        "run": "Do a task without a browser; the default command.",
        "chat": "Talk: one message a line.",
        "sessions": "List, show, resume and delete what is kept.",
        "eval": "Run the cases of a suite and judge what came of them.",
        "doctor": "Tell what works here and what does not.",
        "install-browser": "Get a Chromium, by whichever way works.",
        "version": "Print the version.",
    }
)
"""Each command with its line in the help; a command's module is loaded only when it is called."""

_HELP = """\
Usage: agentloop COMMAND [OPTIONS] [TASK]...
       agentloop [OPTIONS] TASK...           short for agentloop run

A model thinks in JavaScript, a sandbox runs it, a real browser does it. The answer
goes to standard output, everything else to standard error.

Commands:
{commands}

agentloop COMMAND --help lists a command's options.

Exit codes: 0 completed, 1 error, 2 out of turns, 3 usage or set-up, 4 a check
failed, 5 out of budget or time, 6 refused, 7 browser lost, 8 model error,
9 diverged, 130 interrupted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code, never raises for what a user or the world did."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    name, rest = route(words)
    if name == "help":
        return _help()
    if meant := _mistyped(words):
        return _ask_back(words, meant)
    # Help is what people wait for: it is printed before anything is loaded.
    with _interrupts_end_at_once():
        from agentloop.cli.calling import call

    return call(name, rest)


@contextmanager
def _interrupts_end_at_once() -> Iterator[None]:
    """While nothing but modules is loaded, Ctrl-C ends the process without a word: nothing has begun."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _help() -> int:
    try:
        print(_HELP.format(commands="\n".join(f"  {name:<16} {line}" for name, line in COMMANDS.items())), flush=True)
    except OSError:  # nobody reads it, or there is no room where it goes: nothing else was to be done
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


def _open_missing_streams() -> None:
    """Streams that the caller closed lead nowhere; else the next file that is opened would be taken for them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def _mistyped(words: Sequence[str]) -> str:
    """The command that the first word nearly is; a model asked about a typing error costs money."""
    first = words[0] if words else ""
    if first in COMMANDS or first.startswith("-") or not first.isascii() or " " in first:
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(first, COMMANDS, n=1, cutoff=0.8)), "")


def _ask_back(words: Sequence[str], meant: str) -> int:
    from agentloop.cli.render import visible
    from agentloop.report.verdict import EXIT_SETUP

    word = visible(words[0])
    sys.stderr.write(
        f"agentloop: no command is called {word}; did you mean {meant}? As a task: agentloop run {word} …\n"
    )
    return EXIT_SETUP


def route(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command and its words: what names no command is a task for `run`."""
    first, rest = (words[0], list(words[1:])) if words else ("", [])
    if first in ("-h", "--help") or (first == "help" and not rest):
        return "help", []
    if first == "help" and len(rest) == 1 and rest[0] in COMMANDS:
        return rest[0], ["--help"]
    if first in COMMANDS:
        return first, rest
    return ("version", []) if first == "--version" and not rest else ("run", list(words))
