"""What `agentloop doctor` tells of the workspace: whether it opens, what it says, and what of that cannot be used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence, Set
from pathlib import Path

from agentloop.cli.adding import standing_capabilities, standing_names
from agentloop.cli.doctor import Finding
from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.packs.workspace.root import Root
from agentloop.project.instructions import Instructions, load_instructions
from agentloop.project.skills import Skills, load_skills
from agentloop.records import Json
from agentloop.settings import Settings

__all__ = ["workspace_findings"]


async def workspace_findings(settings: Settings, folder: Path) -> AsyncIterator[Finding]:
    """A line for the folder, the network, each file of instructions, each skill, and each that is left out."""
    try:
        Root(folder).close()
        instructions, skills = load_instructions(folder), load_skills(folder)
    except InvalidInput as error:
        yield Finding(verdict="FAIL", topic="workspace", text=str(error))
        return
    yield Finding(verdict="ok", topic="workspace", text=f"{folder}, for {', '.join(standing_names(settings))}")
    yield _network(settings)
    if settings.no_project:
        yield Finding(
            verdict="ok", topic="instructions", text="neither these nor skills are read, as --no-project says"
        )
        return
    usable, warnings = await _built(settings, folder)
    for finding in (*_instructions(instructions), *_skills(skills, usable, warnings)):
        yield finding


def _network(settings: Settings) -> Finding:
    if settings.no_network:
        return Finding(verdict="ok", topic="network", text="off: neither fetch nor http")
    where = "any public address" if settings.allow is None else ", ".join(settings.allow) or "nothing"
    private = ", and private addresses" if settings.allow_private else ""
    return Finding(
        verdict="ok", topic="network", text=f"fetch and http reach {where}{private}; other hosts are asked about"
    )


def _instructions(found: Instructions) -> Iterator[Finding]:
    for document in found.documents:
        cut = "" if document.complete else ", of which only the beginning is read"
        yield Finding(verdict="ok", topic="instructions", text=f"{document.path}, {document.size:,} bytes{cut}")
    if not found.documents:
        yield Finding(verdict="ok", topic="instructions", text="none")


def _skills(found: Skills, usable: Set[str], warnings: Sequence[str]) -> Iterator[Finding]:
    for skill in found.skills:
        if skill.name in usable:
            yield Finding(verdict="ok", topic="skill", text=f"{skill.name}, {skill.size:,} bytes: {skill.description}")
    for why in warnings:
        yield Finding(verdict="warn", topic="workspace", text=why)


async def _built(settings: Settings, folder: Path) -> tuple[Set[str], Sequence[str]]:
    """The skills and warnings of a run in this folder: everything is built as for one, a browser excepted."""
    from agentloop.capabilities import BuildContext
    from agentloop.guard.network.client import GuardedClient
    from agentloop.guard.network.guard import Boundary
    from agentloop.llm.scripted import Scripted
    from agentloop.sandbox.builder import CapabilityBuilder

    told: list[str] = []

    async def emit(type: str, **fields: Json) -> None:
        if type == "warning":
            told.append(str(fields.get("content", "")))

    capabilities = [one for one in standing_capabilities(settings, folder) if one.name != "browser"]
    try:
        async with (
            GuardedClient(Boundary()) as client,
            CapabilityBuilder(capabilities).build(BuildContext(http=client, llm=Scripted([]), emit=emit)) as built,
        ):
            return {pack.name for pack in built.packs if pack.gives_way}, [*told, *built.warnings]
    except AgentLoopError as error:
        return set(), [*told, str(error)]
