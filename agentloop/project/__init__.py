"""What a workspace itself says: instructions in AGENTS.md and skills in SKILL.md. Words only: they allow nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.project.capabilities import project_capabilities
    from agentloop.project.instructions import Document, Instructions, instructions_capability, load_instructions
    from agentloop.project.skills import Skill, Skills, load_skills, skill_capability

__all__ = [
    "Document",
    "Instructions",
    "Skill",
    "Skills",
    "instructions_capability",
    "load_instructions",
    "load_skills",
    "project_capabilities",
    "skill_capability",
]

_LAZY = {
    "Document": "agentloop.project.instructions",
    "Instructions": "agentloop.project.instructions",
    "Skill": "agentloop.project.skills",
    "Skills": "agentloop.project.skills",
    "instructions_capability": "agentloop.project.instructions",
    "load_instructions": "agentloop.project.instructions",
    "load_skills": "agentloop.project.skills",
    "project_capabilities": "agentloop.project.capabilities",
    "skill_capability": "agentloop.project.skills",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
