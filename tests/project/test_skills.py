from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.project import Skill, Skills, load_skills
from agentloop.project.skills import MOST_SKILLS
from agentloop.sandbox import CapabilityBuilder, open_sandbox
from agentloop.sandbox.toolbox import resolve_clashes


def write(project: Path, folder: str, text: str, level: str = "") -> Path:
    place = project / level / ".agentloop" / "skills" / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_bytes(text.encode())
    return place


RELEASE = "---\nname: release\ndescription: Cut a release\n---\n# Release\n\nTag it, then push.\n"


def names(skills: Skills) -> list[str]:
    return [skill.name for skill in skills.skills]


# Finding ---------------------------------------------------------------------------------------------


def test_sorted_by_name_which_the_head_has_before_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "zz", RELEASE)
    write(tmp_path, "Audit", "# Audit\n\nLook at every line.\nTwice.")
    found = load_skills(tmp_path)
    assert found.errors == ()
    assert found.skills == (
        Skill(
            name="audit",
            description="Look at every line.",
            text="# Audit\n\nLook at every line.\nTwice.",
            path=str(tmp_path / ".agentloop/skills/Audit/SKILL.md"),
            size=35,
        ),
        Skill(
            name="release",
            description="Cut a release",
            text="# Release\n\nTag it, then push.",
            path=str(tmp_path / ".agentloop/skills/zz/SKILL.md"),
            size=len(RELEASE),
        ),
    )


def test_crlf_a_mark_and_a_description_of_several_lines(tmp_path: Path) -> None:
    text = "\ufeff---\nname: ship\ndescription: >\n  Ships it\n  on Fridays\n---\nDo.\nThen rest.\n"
    write(tmp_path, "x", text.replace("\n", "\r\n"))
    [skill] = load_skills(tmp_path).skills
    assert (skill.name, skill.description, skill.text) == ("ship", "Ships it on Fridays", "Do.\nThen rest.")


def test_no_folder_an_empty_one_and_folders_without_the_file(tmp_path: Path) -> None:
    assert load_skills(tmp_path) == Skills()
    (tmp_path / ".agentloop" / "skills" / "empty").mkdir(parents=True)
    (tmp_path / ".agentloop" / "skills" / "README.md").write_text("x")
    (tmp_path / ".agentloop" / "skills" / "deeper" / "inner").mkdir(parents=True)
    (tmp_path / ".agentloop" / "skills" / "deeper" / "inner" / "SKILL.md").write_text("x")
    found = load_skills(tmp_path)
    assert found.skills == ()
    assert all("README.md" in error for error in found.errors)


def test_the_nearer_one_counts_and_the_users_own_least(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("a", "b"):
        (home / name).mkdir()
        (home / name / "SKILL.md").write_text(f"{name} of the user")
    (tmp_path / ".git").mkdir()
    write(tmp_path, "b", "b of the root")
    write(tmp_path, "c", "c of the root")
    write(tmp_path, "c", "c of the service", level="svc")
    found = load_skills(tmp_path / "svc", global_dir=home)
    assert [skill.text for skill in found.skills] == ["a of the user", "b of the root", "c of the service"]
    assert names(load_skills(tmp_path / "svc")) == ["b", "c"]
    assert load_skills(tmp_path / "svc", global_dir=home / "missing") == load_skills(tmp_path / "svc")


def test_another_folder(tmp_path: Path) -> None:
    (tmp_path / "mine" / "a").mkdir(parents=True)
    (tmp_path / "mine" / "a" / "SKILL.md").write_text("A.")
    assert names(load_skills(tmp_path, skills_dir="mine")) == ["a"]
    assert names(load_skills(tmp_path, skills_dir=tmp_path / "mine")) == ["a"]


# What is wrong with others ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("---\nname: has space\n---\nDo.", "'has space' can be no skill's name"),
        ("---\nname: ../up\n---\nDo.", "can be no skill's name"),
        ("---\nname: -dash\n---\nDo.", "can be no skill's name"),
        (f"---\nname: {'x' * 65}\n---\nDo.", "at most 64"),
        ("---\nname: café\n---\nDo.", "can be no skill's name"),
        ("---\nname: fine\n---\n \n", "has no text"),
        ("", "has no text"),
    ],
)
def test_one_that_cannot_be_used_is_an_error_and_the_others_stay(tmp_path: Path, text: str, part: str) -> None:
    write(tmp_path, "bad", text)
    write(tmp_path, "good", "Do.")
    found = load_skills(tmp_path)
    assert names(found) == ["good"]
    [error] = found.errors
    assert ".agentloop/skills/bad" in error and part in error


def test_two_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, "a", "---\nname: same\n---\nFirst.")
    write(tmp_path, "b", "---\nname: SAME\n---\nSecond.")
    found = load_skills(tmp_path)
    assert [skill.text for skill in found.skills] == ["First."]
    assert "skills/b" in found.errors[0] and "skills/a/SKILL.md is called 'same'" in found.errors[0]


@pytest.mark.parametrize(("most", "complete"), [(100, False), (-1, True)])
def test_a_long_one_is_cut_and_says_so(tmp_path: Path, most: int, complete: bool) -> None:
    write(tmp_path, "long", "é" * 2500)
    [skill] = load_skills(tmp_path, max_bytes=most).skills
    assert ("truncated: 5,000 bytes" in skill.text) is not complete
    assert skill.text.count("é") == (2500 if complete else 50)
    assert "\ufffd" not in skill.text


def test_there_is_a_bound_on_how_many_and_how_much(tmp_path: Path) -> None:
    for number in range(MOST_SKILLS + 3):
        write(tmp_path, f"s{number:03}", "x" * 50_000)
    found = load_skills(tmp_path)
    assert len(found.skills) == 4 * 1024 * 1024 // 50_000
    assert any("103 entries" in error for error in found.errors)
    assert any("together" in error for error in found.errors)


# Confinement -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["file", "folder", "all", "agentloop", "pipe", "git"])
def test_nothing_is_read_that_leads_outside(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, how: str) -> None:
    outside = tmp_path_factory.mktemp("outside")
    write(outside, "evil", "SECRET")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "SKILL.md").write_text("SECRET")
    skills = tmp_path / ".agentloop" / "skills"
    source = os.path.relpath(outside / ".agentloop" / "skills", skills)
    if how in ("file", "pipe"):
        (skills / "evil").mkdir(parents=True)
    elif how != "agentloop":
        skills.mkdir(parents=True)
    match how:
        case "file":
            (skills / "evil" / "SKILL.md").symlink_to(outside / ".agentloop/skills/evil/SKILL.md")
        case "pipe":
            os.mkfifo(skills / "evil" / "SKILL.md")
        case "folder":
            (skills / "evil").symlink_to(f"{source}/evil")
        case "all":
            skills.rmdir()
            skills.symlink_to(f"../{source.removeprefix('../')}")
        case "agentloop":
            (tmp_path / ".agentloop").symlink_to(outside / ".agentloop")
        case "git":
            (skills / "evil").symlink_to("../../.git")
    found = load_skills(tmp_path)
    assert found.skills == ()
    assert len(found.errors) == 1 and "SECRET" not in found.errors[0]


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "shared" / "deploy").mkdir(parents=True)
    (tmp_path / "shared" / "deploy" / "SKILL.md").write_text("Do.")
    (tmp_path / ".agentloop" / "skills").mkdir(parents=True)
    (tmp_path / ".agentloop" / "skills" / "deploy").symlink_to("../../shared/deploy")
    assert names(load_skills(tmp_path)) == ["deploy"]


# What the model reads --------------------------------------------------------------------------------


async def packs_of(skills: Skills) -> list[Pack]:
    return [pack for capability in skills.capabilities() for pack in await capability.build(BuildContext())]


async def test_a_line_in_the_prompt_and_the_text_when_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "r", RELEASE)
    skills = load_skills(tmp_path)
    assert [capability.name for capability in skills.capabilities()] == ["release"]
    [pack] = await packs_of(skills)
    assert pack.declarations == '// Skill release: Cut a release. It is read with skillGet("release").'
    assert (pack.primitives, pack.modules, pack.functions, pack.prose) == ({}, {}, {}, "")
    async with open_sandbox(packs=[pack]) as sandbox:
        outcome = await sandbox.run("function run() { return [skillGet('release'), help('release'), skillList()] }")
    got, helped, listed = json.loads(outcome.value_json or "")
    assert got == helped == "# Release\n\nTag it, then push."
    assert listed == [{"name": "release", "description": "Cut a release", "type": "prompt"}]


async def test_a_description_stays_in_its_line(tmp_path: Path) -> None:
    write(tmp_path, "a", "---\ndescription: |\n  One\n  ```\n  Two \u202e\x1b[31m\n---\nDo.")
    write(tmp_path, "b", f"# Title\n\n{'wörter ' * 60}\n")
    write(tmp_path, "c", "# Only a title")
    a, b, c = [pack.declarations for pack in await packs_of(load_skills(tmp_path))]
    assert a == "// Skill a: One ''' Two [31m. It is read with skillGet(\"a\")."
    assert len(b.encode()) < 240 and "…" in b and "\ufffd" not in b
    assert c == '// Skill c: It is read with skillGet("c").'


async def _nothing() -> None:
    pass


STANDING = [
    Pack(name="files", description="", primitives={"readFile": Primitive(_nothing), "page.click": Primitive(_nothing)}),
    Pack(name="web", description="", modules={"http": ""}, help={"http": "Sends."}, functions={"double": "return 1"}),
]


@pytest.mark.parametrize(
    "name", ["readfile", "page", "http", "double", "web", "files", "log", "skillget", "run", "help"]
)
async def test_a_name_that_is_taken_is_refused_and_the_others_stay(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "Mine.")
    write(tmp_path, "fine", "Do.")
    packs = await packs_of(load_skills(tmp_path))

    kept, why = resolve_clashes([*packs, *STANDING])

    assert [pack.name for pack in kept] == ["fine", "files", "web"]
    assert len(why) == 1 and why[0].startswith(f"'{name}' is left out: its name is taken by")


async def test_a_name_is_free_where_nothing_has_it(tmp_path: Path) -> None:
    write(tmp_path, "readfile", "Mine.")
    kept, why = resolve_clashes([*await packs_of(load_skills(tmp_path)), STANDING[1]])
    assert [pack.name for pack in kept] == ["readfile", "web"] and not why


async def test_a_run_is_told_of_what_was_left_out(tmp_path: Path) -> None:
    write(tmp_path, "answer", "Mine.")
    write(tmp_path, "fine", "Do.")
    async with CapabilityBuilder(load_skills(tmp_path).capabilities()).build(BuildContext()) as built:
        assert [pack.name for pack in built.packs] == ["fine"]
        assert built.warnings == ("'answer' is left out: its name is taken by what every script has; rename it",)
        outcome = await built.sandbox.run("function run() { return help('answer') }")
    assert "Mine." not in (outcome.value_json or "Mine.")


def test_what_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        load_skills(tmp_path / "missing")
