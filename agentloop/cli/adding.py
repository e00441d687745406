"""Which capabilities `--with` adds, and which the switches take away."""

from __future__ import annotations

from collections.abc import Set
from difflib import get_close_matches

from agentloop.build import NAMES, named_capabilities
from agentloop.capabilities import Capability
from agentloop.cli.options import TaskOptions
from agentloop.errors import InvalidInput
from agentloop.settings import Settings

__all__ = ["added_capabilities", "check_names", "withheld"]


def check_names(settings: Settings) -> None:
    """Raises `InvalidInput` when `with` or `enable` names what there is not, telling who chose it and what there is."""
    for setting in ("with", "enable"):
        chosen = settings.value(setting)
        for name in chosen if isinstance(chosen, tuple) else ():
            if name not in NAMES:
                near = get_close_matches(name, NAMES, n=1)
                hint = f"did you mean {near[0]}? " if near else ""
                where = settings.origins[setting]
                raise InvalidInput(f"{where}: no pack is called {name!r}; {hint}there are: {', '.join(NAMES)}")


def added_capabilities(options: TaskOptions, *, besides: Set[str]) -> tuple[Capability, ...]:
    """What `--with` adds to those named `besides`, set up as the options say. Raises `InvalidInput`."""
    settings = options.settings
    out = withheld(settings) | besides
    return named_capabilities(
        [name for name in settings.packs if name not in out],
        allow=settings.allow,
        allow_private=settings.allow_private,
        folder=options.cwd,
        allow_commands=settings.allow_exec,
        allow_shell=settings.dangerously_allow_shell,
    )


def withheld(settings: Settings) -> Set[str]:
    """The names of what is left out, whoever added it."""
    network = {"fetch", "http"} if settings.no_network else set()
    return network | ({"exec"} if settings.no_exec else set())
