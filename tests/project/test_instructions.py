from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack
from agentloop.packs.resources import help_texts
from agentloop.project import Instructions, instructions_capability, load_instructions
from agentloop.project.instructions import INLINE_BYTES, excerpt_of, project_words
from agentloop.sandbox import open_sandbox

DENSE_BYTES_A_TOKEN = 3.6
"""Of Markdown full of code and tables; the lowest that was measured with the public vocabulary cl100k."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with three levels of instructions; the work is done in svc/api."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "svc" / "api").mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("Root rules.\n")
    (tmp_path / "svc" / "AGENTS.md").write_text(" \n\n")
    (tmp_path / "svc" / "api" / "AGENTS.md").write_text("# API\r\n\r\nUse tabs.\r\n")
    return tmp_path


def named(instructions: Instructions) -> list[tuple[str, str]]:
    return [(document.name, document.content) for document in instructions.documents]


# Finding ---------------------------------------------------------------------------------------------


def test_they_are_read_from_the_root_down(project: Path) -> None:
    found = load_instructions(project / "svc" / "api")
    assert named(found) == [("AGENTS.md", "Root rules."), ("svc/api/AGENTS.md", "# API\n\nUse tabs.")]
    assert [document.path for document in found.documents] == [
        str(project / "AGENTS.md"),
        str(project / "svc" / "api" / "AGENTS.md"),
    ]
    assert [document.size for document in found.documents] == [12, 20]
    assert found.errors == ()


def test_of_the_user_only_when_asked_for_and_first(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "AGENTS.md").write_text("Mine.")
    assert named(load_instructions(project)) == [("AGENTS.md", "Root rules.")]
    found = load_instructions(project, global_dir=home)
    assert named(found) == [("user:AGENTS.md", "Mine."), ("AGENTS.md", "Root rules.")]
    assert load_instructions(project, global_dir=home / "missing") == load_instructions(project)


def test_another_file_name(project: Path) -> None:
    (project / "RULES.txt").write_text("Others.")
    assert named(load_instructions(project, file_name="RULES.txt")) == [("RULES.txt", "Others.")]


def test_nothing_at_all(tmp_path: Path) -> None:
    found = load_instructions(tmp_path)
    assert found == Instructions()
    assert (found.render(), found.catalogue()) == ("", "")


@pytest.mark.parametrize(("most", "complete"), [(100, False), (-1, True), (5000, True), (4999, False)])
def test_a_long_file_is_cut_and_says_so(tmp_path: Path, most: int, complete: bool) -> None:
    (tmp_path / "AGENTS.md").write_text("x" * 5000)
    [document] = load_instructions(tmp_path, max_bytes=most).documents
    assert (document.complete, document.size) == (complete, 5000)
    assert document.content.count("x") == (most if 0 < most < 5000 else 5000)
    assert ("truncated: 5,000 bytes" in document.content) is not complete
    assert len(document.content) - document.content.count("x") < 100


@pytest.mark.parametrize("most", range(90, 100))
def test_no_character_is_cut_in_two(tmp_path: Path, most: int) -> None:
    (tmp_path / "AGENTS.md").write_text("aé文😀" * 20, encoding="utf-8")
    [document] = load_instructions(tmp_path, max_bytes=most).documents
    assert "\ufffd" not in document.content
    text = document.content.split("\n")[0]
    assert most - 4 < len(text.encode()) <= most


def test_a_mark_lone_carriage_returns_and_bad_bytes(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes("\ufeffone\rtwo\r\nthr\xff".encode("utf-8", "surrogateescape")[:-2] + b"\xff")
    [document] = load_instructions(tmp_path).documents
    assert document.content == "one\ntwo\nthr\ufffd"


# Confinement -----------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "AGENTS.md").write_text("SECRET")
    return folder


@pytest.mark.parametrize("how", ["file", "absolute", "chain", "loop", "folder", "pipe"])
def test_what_leads_outside_is_an_error_and_the_rest_is_there(project: Path, outside: Path, how: str) -> None:
    place = project / "svc" / "AGENTS.md"
    place.unlink()
    match how:
        case "file":
            place.symlink_to(os.path.relpath(outside / "AGENTS.md", place.parent))
        case "absolute":
            place.symlink_to(project / "AGENTS.md")
        case "chain":
            (project / "hop").symlink_to(os.path.relpath(outside, project))
            place.symlink_to("../hop/AGENTS.md")
        case "loop":
            place.symlink_to("AGENTS.md")
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
    found = load_instructions(project / "svc" / "api")
    assert [name for name, _ in named(found)] == ["AGENTS.md", "svc/api/AGENTS.md"]
    [error] = found.errors
    assert "svc/AGENTS.md is left out" in error
    assert "SECRET" not in found.render() + error


def test_a_link_that_stays_inside_is_followed(project: Path) -> None:
    (project / "svc" / "AGENTS.md").unlink()
    (project / "docs").mkdir()
    (project / "docs" / "rules.md").write_text("Linked.")
    (project / "svc" / "AGENTS.md").symlink_to("../docs/rules.md")
    found = load_instructions(project / "svc")
    assert named(found)[1] == ("svc/AGENTS.md", "Linked.")
    assert found.errors == ()


def test_a_file_nobody_may_read_is_an_error(project: Path) -> None:
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(".git")
    found = load_instructions(project / "svc" / "api")
    assert len(found.documents) == 1 and len(found.errors) == 1


def test_a_change_between_two_runs_is_seen(project: Path) -> None:
    before = load_instructions(project)
    (project / "AGENTS.md").write_text("New rules.")
    assert named(load_instructions(project)) == [("AGENTS.md", "New rules.")] != named(before)


# What the model reads --------------------------------------------------------------------------------


def test_whole_they_follow_a_heading_and_name_no_absolute_path(project: Path) -> None:
    told = load_instructions(project / "svc" / "api").render()
    assert told.startswith("## Project instructions\n")
    assert told.index("### AGENTS.md\nRoot rules.") < told.index("### svc/api/AGENTS.md\n# API\n\nUse tabs.")
    assert str(project) not in told and "{" not in told
    assert told == load_instructions(project / "svc" / "api").catalogue()


def test_a_name_is_one_harmless_line(tmp_path: Path) -> None:
    odd = tmp_path / "a\n## Persona\u202e"
    odd.mkdir()
    (tmp_path / ".git").mkdir()
    (odd / "AGENTS.md").write_text("x")
    [document] = load_instructions(odd).documents
    assert document.name == "a ## Persona/AGENTS.md"


PARAGRAPH = "Build with `make`, test with `make test`, and never push to `main` by hand; see docs/flow.md.\n\n"


def big(tmp_path: Path, size: int, name: str = "AGENTS.md") -> Instructions:
    (tmp_path / name).write_text((PARAGRAPH * (size // len(PARAGRAPH) + 1))[:size])
    return load_instructions(tmp_path)


async def test_what_is_too_long_is_shown_by_its_beginning(tmp_path: Path) -> None:
    instructions = big(tmp_path, 36 * 1024)
    told = instructions.catalogue()
    [pack] = await instructions_capability(instructions, inline_bytes=INLINE_BYTES).build(BuildContext())
    assert told.startswith("## Project instructions\n")
    assert 'all 36,864 bytes: projectGet("AGENTS.md")' in told
    assert "read it with `log(projectGet(name))`" in told
    assert (len(told) + len(pack.declarations)) / DENSE_BYTES_A_TOKEN <= 1_200
    assert pack.prose == told
    assert told.count("see docs/flow.md.") > 30 and "docs/flow.md.\n[the beginning" in told


@pytest.mark.parametrize("inline", [1024, 1792, 4096])
def test_the_room_is_shared_and_what_one_leaves_the_others_get(tmp_path: Path, inline: int) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text(PARAGRAPH * 100)
    (tmp_path / "a" / "AGENTS.md").write_text("Short.")
    (tmp_path / "a" / "b" / "AGENTS.md").write_text(PARAGRAPH * 100)
    instructions = load_instructions(tmp_path / "a" / "b")
    excerpts = instructions.excerpts(inline)
    assert excerpts["a/AGENTS.md"] == "Short."
    assert sum(len(text) for text in excerpts.values()) <= inline
    assert all(len(text) > inline // 2 - 110 for name, text in excerpts.items() if name != "a/AGENTS.md")
    assert instructions.catalogue(inline_bytes=inline).count("[the beginning; all") == 2


@pytest.mark.parametrize(
    ("text", "most", "start"),
    [
        ("one\n\ntwo\nthree\n\nfour", 16, "one\n\ntwo\nthree"),
        ("one\n\n" + "two\n" * 100, 100, "one\n\n" + "\n".join(["two"] * 23)),
        ("words without any end " * 9, 41, "words without any end words without any e"),
        ("text\n\n# Head\n\n## Sub\n\nmore and more and more", 30, "text"),
        ("# Head\n\n## Sub\n\n" + "more " * 40, 20, "# Head\n\n## Sub"),
        ("é" * 100, 33, "é" * 16),
        ("```sh\nmake\nmake test\nmake lint\n```\nafter", 24, "```sh\nmake\nmake test\n```"),
        ("````md\n```\nmake\n````\n\nafter", 24, "````md\n```\nmake\n````"),
        ("~~~~\n```\nmake\nmake test\nmake", 24, "~~~~\n```\nmake\nmake test\n~~~~"),
        ("``` is `code`\nmore and\n\nmore and more", 24, "``` is `code`\nmore and"),
    ],
)
def test_where_a_beginning_ends(text: str, most: int, start: str) -> None:
    assert excerpt_of(text + "\n\nlast " * 300, most) == start


@pytest.mark.parametrize("inline", [None, 400])
@pytest.mark.parametrize("text", ["```sh\nmake", "~~~\n```\nmake\n```", "````\nmake\n```\nmake"])
def test_no_code_block_of_one_file_holds_what_follows(tmp_path: Path, text: str, inline: int | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub {content}").mkdir()
    (tmp_path / "AGENTS.md").write_text(text)
    (tmp_path / "sub {content}" / "AGENTS.md").write_text("Last." if inline is None else PARAGRAPH * 100)
    instructions = load_instructions(tmp_path / "sub {content}")
    told = instructions.render() if inline is None else instructions.catalogue(inline_bytes=inline)
    marks = text[: len(text) - len(text.lstrip("`~"))]
    assert f"{text}\n{marks}\n\n### sub {{content}}/AGENTS.md\n" in told
    assert instructions.documents[0].content == text


def test_a_file_that_is_cut_in_a_code_block_says_so_behind_it(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("```sh\n" + "make\n" * 100)
    [document] = load_instructions(tmp_path, max_bytes=20).documents
    assert document.content.split("make")[-1].splitlines()[1:] == ["```", "… [truncated: 506 bytes in all]"]


# Scripts ---------------------------------------------------------------------------------------------


async def values(pack: Pack, *expressions: str) -> list[Any]:
    async with open_sandbox(packs=[pack]) as sandbox:
        outcome = await sandbox.run(f"function run() {{ return [{', '.join(expressions)}] }}")
    assert outcome.error is None, outcome.error
    found: list[Any] = json.loads(outcome.value_json or "")
    assert not outcome.untrusted
    return found


async def test_scripts_get_at_the_rest(project: Path) -> None:
    (project / "AGENTS.md").write_text(PARAGRAPH * 100)
    instructions = load_instructions(project / "svc" / "api")
    [pack] = await instructions_capability(instructions, inline_bytes=1024).build(BuildContext())
    listed, root, inner, unknown, helped = await values(
        pack,
        "projectList()",
        'projectGet("AGENTS.md")',
        'projectGet("svc/api/AGENTS.md")',
        'projectGet("x")',
        'help("AGENTS.md")',
    )
    assert listed == [
        {"name": "AGENTS.md", "bytes": len(PARAGRAPH) * 100, "complete": False},
        {"name": "svc/api/AGENTS.md", "bytes": 20, "complete": True},
    ]
    assert root == helped == (PARAGRAPH * 100).strip()
    assert inner == "# API\n\nUse tabs."
    assert '"x"' in unknown and "projectList()" in unknown
    assert help_texts(pack.declarations).keys() == pack.primitives.keys()


async def test_a_bare_file_name_will_do_where_one_document_has_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "AGENTS.md").write_text(PARAGRAPH * 100)
    instructions = load_instructions(tmp_path / "sub")
    assert instructions.text("AGENTS.md") == instructions.text("sub/AGENTS.md")
    (tmp_path / "AGENTS.md").write_text("x")
    assert load_instructions(tmp_path / "sub").text("AGENTS.md") == "x"
    for name in ("", " "):
        with pytest.raises(InvalidInput, match="needs a name"):
            instructions.text(name)


async def test_whole_there_is_nothing_to_get(project: Path) -> None:
    instructions = load_instructions(project)
    for inline in (None, 4096):
        [pack] = await instructions_capability(instructions, inline_bytes=inline).build(BuildContext())
        assert (pack.primitives, pack.declarations) == ({}, "")
        assert pack.prose == instructions.render()
        [helped] = await values(pack, 'help("AGENTS.md")')
        assert helped == "Root rules."


async def test_errors_are_warnings_and_without_documents_there_is_no_pack(tmp_path: Path) -> None:
    told: list[tuple[str, Any]] = []

    async def emit(type: str, **fields: Any) -> None:
        told.append((type, fields["content"]))

    capability = instructions_capability(Instructions(errors=("left out",)))
    assert await capability.build(BuildContext(emit=emit)) == []
    assert told == [("warning", "left out")]
    assert capability.always_on and not capability.required


def test_the_words_are_filled_in() -> None:
    assert {"whole", "excerpts", "document", "rest", "truncated", "missing", "skill_line"} <= project_words().keys()
