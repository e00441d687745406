"""What a command may know of the environment, and what a script may add to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agentloop.errors import InvalidInput

__all__ = ["PASSED", "base_environment", "checked", "telling"]

PASSED: Final = (
    "PATH",
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
)
"""All that a command sees of this process's environment; keys and tokens are not among it."""

# Almost any name makes some program run something else (LD_PRELOAD, GIT_SSH_COMMAND, PAGER, NODE_OPTIONS …), and no
# list of those is ever complete: so these are the ones that only change words and colours.
_HARMLESS: Final = frozenset(
    {"CI", "CLICOLOR", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ"}
)


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def base_environment(environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The variables passed on, then the operator's."""
    return {name: environ[name] for name in PASSED if name in environ} | dict(own)


def checked(env: Mapping[str, str]) -> Mapping[str, str]:
    """The script's variables. Raises `InvalidInput` for a name that is none, and for a value with a NUL in it."""
    for name, value in env.items():
        # A name with a space in it would stand in the question, and in the grant, like words of the command.
        if not _NAME.fullmatch(name) or "\0" in value:
            raise InvalidInput(f"env has no place for {name!r}: a name has letters, digits and _, a value no NUL")
    return env


def telling(env: Mapping[str, str]) -> tuple[str, ...]:
    """The names that could make an approved program do something that was not approved."""
    return tuple(name for name in env if name not in _HARMLESS and not name.startswith("LC_"))
