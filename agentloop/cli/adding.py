"""Which capabilities a command's runs have: what stands, what `--with` adds, what the switches take away."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from difflib import get_close_matches

from agentloop.build import NAMES, STANDING, capabilities_of_project, named_capabilities
from agentloop.capabilities import Capability
from agentloop.cli.command_context import write_prompt
from agentloop.cli.options import TaskOptions
from agentloop.errors import InvalidInput
from agentloop.settings import Settings

__all__ = [
    "added_capabilities",
    "check_names",
    "standing_capabilities",
    "standing_names",
    "warn_beside_browser",
    "warn_of_packs_beside_pages",
]

_BESIDE_A_PAGE = ("workspace", "exec")
"""What changes this machine, or reads what is on it."""


def check_names(settings: Settings, *, skills_of: str | os.PathLike[str] | None = None) -> None:
    """Raises `InvalidInput` when `with` or `enable` names what there is not, telling who chose it and what there is.

    `enable` may name the skills for work in the folder `skills_of`, too.
    """
    for setting in ("with", "enable"):
        chosen = settings.value(setting)
        unknown = [name for name in chosen if name not in NAMES] if isinstance(chosen, tuple) else []
        skills = _skills(settings, skills_of if setting == "enable" else None) if unknown else None
        for name in unknown:
            if name not in (skills or ()):
                raise InvalidInput(f"{settings.origins[setting]}: {_no_such(name, skills)}")


def _no_such(name: str, skills: Sequence[str] | None) -> str:
    near = get_close_matches(name, (*NAMES, *(skills or ())), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    kind, also = ("pack", "") if skills is None else ("pack or skill", f"; skills here: {', '.join(skills) or 'none'}")
    return f"no {kind} is called {name!r}; {hint}there are: {', '.join(NAMES)}{also}"


def _skills(settings: Settings, folder: str | os.PathLike[str] | None) -> Sequence[str] | None:
    """The skills that may be named, None where none can be."""
    from agentloop.project import load_skills

    there = folder is not None and not settings.no_project
    return [skill.name for skill in load_skills(folder or ".").skills] if there else None


def standing_names(settings: Settings) -> tuple[str, ...]:
    """The packs of a run without a browser of its own."""
    out = _withheld(settings)
    return tuple(name for name in dict.fromkeys((*STANDING, *settings.packs)) if name not in out)


def standing_capabilities(settings: Settings, folder: str | os.PathLike[str]) -> tuple[Capability, ...]:
    """What a run without a browser of its own can do in `folder`, and what that says; reads files.

    Raises `InvalidInput`.
    """
    said = () if settings.no_project else capabilities_of_project(folder, context_window=settings.context_window)
    return (*_set_up(settings, folder, standing_names(settings)), *said)


def added_capabilities(options: TaskOptions, *, besides: Set[str]) -> tuple[Capability, ...]:
    """What `--with` adds to those named `besides`, set up as the options say. Raises `InvalidInput`."""
    out = _withheld(options.settings) | besides
    return _set_up(options.settings, options.cwd, [name for name in options.settings.packs if name not in out])


def _set_up(settings: Settings, folder: str | os.PathLike[str], names: Sequence[str]) -> tuple[Capability, ...]:
    return named_capabilities(
        names,
        allow=settings.allow,
        allow_private=settings.allow_private,
        folder=folder,
        allow_commands=settings.allow_exec,
        allow_shell=settings.dangerously_allow_shell,
        confirm=settings.confirm,
    )


def warn_of_packs_beside_pages(settings: Settings, packs: Sequence[str]) -> None:
    """Tells of those among `packs` that a page should not be able to talk the model into using."""
    risky = [name for name in packs if name in _BESIDE_A_PAGE]
    if risky and not settings.quiet:
        these = "this" if len(risky) == 1 else "these"
        write_prompt(f"[warning] {' and '.join(risky)}: a page's text may talk the model into using {these}\n")


def warn_beside_browser(settings: Settings) -> None:
    """The same for a run that got its browser by `--with`."""
    if "browser" in settings.packs:
        warn_of_packs_beside_pages(settings, standing_names(settings))


def _withheld(settings: Settings) -> Set[str]:
    """The names of what is left out, whoever added it."""
    network = {"fetch", "http"} if settings.no_network else set()
    return network | ({"exec"} if settings.no_exec else set())
