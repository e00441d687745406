"""What the workspace itself says, in one call: its instructions and its skills."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from agentloop.capabilities import Capability
from agentloop.project.instructions import instructions_capability, load_instructions
from agentloop.project.skills import load_skills

__all__ = ["project_capabilities"]


def project_capabilities(
    folder: str | os.PathLike[str] = ".", *, inline_bytes: int | None = None
) -> tuple[Capability, ...]:
    """AGENTS.md and the skills for work in `folder`, as they are now; reads files.

    `inline_bytes` as in `instructions_capability`. What cannot be used is a warning of each run. None of it widens what
    a run may do. Raises `InvalidInput` for a folder that is none.
    """
    instructions, skills = load_instructions(folder), load_skills(folder)
    both = replace(instructions, errors=_different([*instructions.errors, *skills.errors]))
    return (instructions_capability(both, inline_bytes=inline_bytes), *skills.capabilities())


def _different(errors: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(errors))
