"""How a run was set up, as it is kept with the run, so that it is resumed as it was begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentloop.cli.options import TaskOptions
from agentloop.records import Json, RunRecord

__all__ = ["CommandName", "Remembered", "setup_of"]

CommandName = Literal["run", "browse"]


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What `setup_of` kept: which command began the run, where, with which settings and checks."""

    command: CommandName
    cwd: Path | None
    settings: Mapping[str, object]
    expect: tuple[str, ...]
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: RunRecord) -> Remembered:
        """From the run; one that was begun by a program resumes as `run`."""
        setup = run.setup
        return cls(
            command="browse" if setup.get("command") == "browse" else "run",
            cwd=Path(setup["cwd"]) if setup.get("cwd") else None,
            settings=setup.get("settings", {}),
            expect=tuple(setup.get("expect", ())),
            secrets=tuple(setup.get("secrets", ())),
        )


def setup_of(command: CommandName, options: TaskOptions) -> dict[str, Json]:
    """What is kept with a run of these options."""
    return {
        "command": command,
        "cwd": str(options.cwd),
        "settings": options.settings.to_dict(),
        "expect": list(options.expect),
        # Which variables, never what is in them: whoever takes the run up gives them anew.
        "secrets": [str(binding) for binding in options.settings.secret],
    }
