"""Which capabilities `--with` adds, and which the switches take away."""

from __future__ import annotations

from collections.abc import Set

from agentloop.build import named_capabilities
from agentloop.capabilities import Capability
from agentloop.cli.options import TaskOptions
from agentloop.settings import Settings

__all__ = ["added_capabilities", "withheld"]


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
