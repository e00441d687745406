from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.events import RunEvent
from agentloop.guard.redact import Redactor
from agentloop.llm import Scripted
from agentloop.loop import Loop
from agentloop.packs.base import Pack
from agentloop.project import project_capabilities
from agentloop.records import RunRequest, RunResult
from agentloop.stores.memory import MemoryStore

SECRET = "correct-horse-battery"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "AGENTS.md").write_text("Answer in rhymes.\n\n" * 400 + f"The key is {SECRET}.")
    for name, text in (("deploy", f"---\ndescription: With {SECRET}\n---\nPush {SECRET}."), ("empty", "")):
        (tmp_path / ".agentloop" / "skills" / name).mkdir(parents=True)
        (tmp_path / ".agentloop" / "skills" / name / "SKILL.md").write_text(text)
    return tmp_path


async def run(
    capabilities: Sequence[Capability], script: str, *, redactor: Redactor | None = None
) -> tuple[RunResult, list[RunEvent]]:
    events: list[RunEvent] = []
    loop = Loop(
        llm=Scripted([f"```javascript\nfunction run() {{ {script} }}\n```"]),
        store=MemoryStore(),
        capabilities=capabilities,
        redactor=redactor,
    )
    async with loop:
        return await loop.run(RunRequest("go"), on_event=events.append), events


async def test_both_are_read_and_each_error_is_one_warning(project: Path) -> None:
    result, events = await run(project_capabilities(project), "answer(skillList().map((one) => one.name))")
    assert result.final_text == '["project_instructions","deploy"]'
    assert SECRET in result.system_prompt
    warnings = [event.content for event in events if event.type == "warning"]
    assert len(warnings) == 1 and "skills/empty is left out" in warnings[0]


async def test_secrets_in_them_are_taken_out_as_anywhere(project: Path) -> None:
    script = "log(skillGet('deploy')); answer(projectGet('AGENTS.md').slice(-40))"
    capabilities = project_capabilities(project, inline_bytes=1024)
    result, events = await run(capabilities, script, redactor=Redactor([(SECRET, "[key]")]))
    assert result.final_text.endswith("The key is [key].")
    assert "// Skill deploy: With [key]." in result.system_prompt
    assert SECRET not in result.system_prompt + str([event.to_dict() for event in events])


async def test_instructions_give_way_to_a_pack_of_the_same_help(project: Path) -> None:
    async def build(context: BuildContext) -> Sequence[Pack]:
        return [Pack(name="other", description="", help={"AGENTS.md": "Mine."})]

    other = Capability(name="other", description="", build=build)
    result, events = await run([*project_capabilities(project), other], "answer(help('AGENTS.md'))")
    assert (result.final_text, "rhymes" in result.system_prompt) == ("Mine.", False)
    assert any("'AGENTS.md' is taken by a help entry of pack 'other'" in event.content for event in events)


async def test_one_set_of_capabilities_serves_many_runs_at_once(project: Path) -> None:
    capabilities = project_capabilities(project, inline_bytes=1024)
    built = [[pack for one in capabilities for pack in await one.build(BuildContext())] for _ in range(2)]
    assert [pack.name for pack in built[0]] == [pack.name for pack in built[1]] == ["project_instructions", "deploy"]
    assert [one.always_on for one in capabilities] == [True, False]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_repository_that_cannot_be_listed_ends_no_run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        (Path(folder) / ".git").mkdir()
        work.mkdir(mode=0o755)
        os.chmod(folder, 0o711)
        try:
            os.seteuid(65534)
            capabilities = project_capabilities(work)
        finally:
            os.seteuid(0)
    result, events = await run(capabilities, "answer('done')")
    assert result.final_text == "done"
    assert [folder in event.content and "left out" in event.content for event in events if event.type == "warning"] == [
        True
    ]


def test_what_is_no_folder(project: Path) -> None:
    with pytest.raises(InvalidInput):
        project_capabilities(project / "AGENTS.md")
