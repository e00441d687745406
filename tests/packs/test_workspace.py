"""The workspace as scripts have it: a real sandbox, real files."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import InvalidInput
from agentloop.guard.policy import AllowAll, DefaultPolicy
from agentloop.packs.resources import text
from agentloop.packs.workspace import WorkspaceLimits, workspace_capability
from tests.packs.scripts import Person, Scripts, scripts_with

SECRET = "the outside"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project, with a file beside it that nothing may reach."""
    (tmp_path / "outside.txt").write_text(SECRET)
    root = tmp_path / "project"
    (root / "src/deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]\nfunc git()\n")
    (root / "README.md").write_text("# Read me\n")
    (root / "n.txt").write_text("one\ntwo\nthree\nfour\n")
    (root / "src/main.go").write_text("package main\n\nfunc main() {\n}\n")
    (root / "src/util.go").write_text("package main\n\nfunc helper() {\n}\n")
    (root / "src/deep/thing.go").write_text("package deep\n\nFUNC Thing\n")
    return root


@pytest.fixture
async def scripts(tree: Path) -> AsyncIterator[Scripts]:
    async with scripts_with(workspace_capability(tree), policy=AllowAll()) as opened:
        yield opened


async def test_lines_of_a_file(scripts: Scripts) -> None:
    assert await scripts.value('readFile("n.txt", {offset: 2, limit: 2})') == "two\nthree"
    assert await scripts.value('readFile("n.txt")') == "one\ntwo\nthree\nfour\n"
    assert await scripts.value('readFile("n.txt", {offset: 4})') == "four\n"
    assert await scripts.value('readFile("n.txt", {limit: 0})') == ""
    assert scripts.events[0]["args"] == {"kind": "file_read", "path": "n.txt"}


async def test_lines_past_the_end(scripts: Scripts) -> None:
    assert await scripts.value('readFile("n.txt", {offset: 900})') == ""
    assert scripts.notes() == "readFile: 'n.txt' ends before line 900"


async def test_a_folder_is_no_file(scripts: Scripts) -> None:
    assert "listDir" in await scripts.error('readFile("src")')
    assert "listDir" in await scripts.error('readFile("missing.txt")')
    assert "folder" in await scripts.error('writeFile("src", "x")')


async def test_a_folders_entries(scripts: Scripts, tree: Path) -> None:
    entries = await scripts.value('listDir("src")')
    assert [entry["name"] for entry in entries] == ["deep", "main.go", "util.go"]
    assert entries[1]["path"] == "src/main.go"
    assert entries[1]["size"] == (tree / "src/main.go").stat().st_size
    assert [entry["dir"] for entry in entries] == [True, False, False]
    assert ".git" not in [entry["name"] for entry in await scripts.value("listDir()")]


@pytest.mark.parametrize(
    "call",
    [
        'readFile("../outside.txt")',
        'readFile("src/../../outside.txt")',
        'readFile("src/deep/../../../outside.txt")',
        'readFile("/etc/hosts")',
        'readFile("../".repeat(40) + "etc/hosts")',
        'readFile("missing/../../outside.txt")',
        'listDir("..")',
        'glob("../*")',
        'glob("src/../../*.txt")',
        'glob("/etc/*")',
        'grep("outside", {glob: "../*.txt"})',
        'writeFile("../escaped.txt", "x")',
        'writeFile("/escaped.txt", "x")',
        'writeFile("new/../../escaped.txt", "x")',
        'editFile("../outside.txt", "the", "no")',
        'readFile("out.link")',
        'readFile("absolute.link")',
        'readFile("up.link/outside.txt")',
        'listDir("up.link")',
        'glob("up.link/*")',
        'writeFile("out.link", "x")',
        'writeFile("up.link/escaped.txt", "x")',
        'editFile("out.link", "the", "no")',
        'readFile("round.link")',
        'readFile(".git/config")',
        'writeFile(".GIT/hooks/pre-commit", "x")',
        'readFile("git.link/config")',
        'readFile("out.link\\0")',
    ],
)
async def test_nothing_leads_outside(scripts: Scripts, tree: Path, call: str) -> None:
    (tree / "out.link").symlink_to("../outside.txt")
    (tree / "absolute.link").symlink_to(tree.parent / "outside.txt")
    (tree / "up.link").symlink_to("..")
    (tree / "git.link").symlink_to(".git")
    (tree / "round.link").symlink_to("round.link")
    thrown = await scripts.error(call)
    assert thrown.startswith("InvalidInput: ")
    assert SECRET not in thrown
    assert str(tree) not in thrown
    assert (tree.parent / "outside.txt").read_text() == SECRET
    assert sorted(path.name for path in tree.parent.iterdir()) == ["outside.txt", "project"]


async def test_what_links_lead_to_is_not_told(scripts: Scripts, tree: Path) -> None:
    (tree / "out.link").symlink_to("../outside.txt")
    [entry] = [entry for entry in await scripts.value("listDir()") if entry["name"] == "out.link"]
    assert entry == {"name": "out.link", "path": "out.link", "dir": False, "size": 0}
    assert await scripts.value('glob("*.link")') == []
    assert await scripts.value('grep("outside")') == []


async def test_links_inside_work(scripts: Scripts, tree: Path) -> None:
    (tree / "code").symlink_to("src")
    (tree / "src/deep/first.txt").symlink_to("../../n.txt")
    assert await scripts.value('readFile("code/deep/first.txt", {limit: 1})') == "one"
    assert await scripts.value('glob("code/*.go")') == ["src/main.go", "src/util.go"]
    assert await scripts.value('glob("**/*.txt")') == ["n.txt", "src/deep/first.txt"]
    assert await scripts.value('writeFile("code/deep/first.txt", "new")') is True
    assert (tree / "n.txt").read_text() == "new"
    assert (tree / "src/deep/first.txt").is_symlink()


async def test_pipes_are_not_waited_for(scripts: Scripts, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert "not a regular file" in await scripts.error('readFile("pipe")')
    assert "not a regular file" in await scripts.error('writeFile("pipe", "x")')


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.md", ["README.md"]),
        ("./*.md", ["README.md"]),
        ("src/*.go", ["src/main.go", "src/util.go"]),
        ("**/*.go", ["src/deep/thing.go", "src/main.go", "src/util.go"]),
        ("**/*.md", ["README.md"]),
        ("src/**/*.go", ["src/deep/thing.go", "src/main.go", "src/util.go"]),
        ("**/thing.go", ["src/deep/thing.go"]),
        ("*.{md,txt}", ["README.md", "n.txt"]),
        ("{src/deep,nowhere}/*.go", ["src/deep/thing.go"]),
        ("src/[!m]*.go", ["src/util.go"]),
        ("src/main.go", ["src/main.go"]),
        ("*.MD", []),
        ("nowhere/**", []),
    ],
)
async def test_globs(scripts: Scripts, pattern: str, paths: list[str]) -> None:
    assert await scripts.value(f'glob("{pattern}")') == paths


async def test_everything_is_without_git(scripts: Scripts) -> None:
    paths = await scripts.value('glob("**")')
    assert len(paths) == 5
    assert not [path for path in paths if ".git" in path]


async def test_grep(scripts: Scripts, tree: Path) -> None:
    (tree / "tool.bin").write_bytes(b"func \0 binary\n")
    found = await scripts.value(r'grep("func \\w+")')
    assert [(hit["path"], hit["line"]) for hit in found] == [("src/main.go", 3), ("src/util.go", 3)]
    assert found[0]["text"] == "func main() {"
    assert len(await scripts.value('grep("func", {glob: "src/main.go"})')) == 1
    assert len(await scripts.value('grep("func", {ignoreCase: true})')) == 3
    assert len(await scripts.value('grep("func", {limit: 1})')) == 1
    assert scripts.notes() == "grep: there are more than the 1 returned; narrow it with {glob: …}"


async def test_bad_patterns(scripts: Scripts) -> None:
    assert re.match("InvalidInput: grep: bad pattern", await scripts.error('grep("(")'))
    assert "look-around" in await scripts.error('grep("(?=a)b")')
    assert "is not closed" in await scripts.error('glob("[a")')


async def test_a_glob_that_names_no_file_is_told(scripts: Scripts) -> None:
    assert await scripts.value('grep("func", {glob: "*.go"})') == []
    assert "'**/*.go'" in scripts.notes()


async def test_writing_makes_folders_and_replaces(scripts: Scripts, tree: Path) -> None:
    assert await scripts.value('writeFile("a/b/c.txt", "grüße")') is True
    assert (tree / "a/b/c.txt").read_text() == "grüße"
    assert (tree / "a/b/c.txt").stat().st_mode & 0o777 == 0o644
    assert await scripts.value('writeFile("a/b/c.txt", "")') is True
    assert (tree / "a/b/c.txt").read_text() == ""
    assert os.listdir(tree / "a/b") == ["c.txt"]
    assert scripts.events[0]["args"] == {"kind": "file_write", "path": "a/b/c.txt", "bytes": 7}


async def test_editing(scripts: Scripts, tree: Path) -> None:
    script = tree / "tool.sh"
    script.write_text("echo a\necho b\n")
    script.chmod(0o755)
    assert await scripts.value('editFile("tool.sh", "echo a", "echo c")') == 1
    assert script.read_text() == "echo c\necho b\n"
    assert script.stat().st_mode & 0o777 == 0o755
    assert "does not contain" in await scripts.error('editFile("tool.sh", "nothing", "x")')
    assert "appears 2 times" in await scripts.error('editFile("tool.sh", "echo", "x")')
    assert "empty" in await scripts.error('editFile("tool.sh", "", "x")')
    assert script.read_text() == "echo c\necho b\n"
    assert await scripts.value('editFile("tool.sh", "echo", "print", {all: true})') == 2
    assert script.read_text() == "print c\nprint b\n"


async def test_reading_never_asks(tree: Path) -> None:
    person = Person(answer=False)
    async with scripts_with(workspace_capability(tree), policy=DefaultPolicy(), person=person) as scripts:
        await scripts.value('[readFile("n.txt"), listDir(), glob("**"), grep("one")]')
    assert person.asked == []


async def test_writing_is_denied_by_default(tree: Path) -> None:
    async with scripts_with(workspace_capability(tree), policy=DefaultPolicy()) as scripts:
        assert "writeFile is denied" in await scripts.error('writeFile("n.txt", "x")')
        assert "editFile is denied" in await scripts.error('editFile("n.txt", "one", "x")')
        assert "writeFile" in await scripts.error('writeFile("new/file.txt", "x")')
    assert (tree / "n.txt").read_text() == "one\ntwo\nthree\nfour\n"
    assert not (tree / "new").exists()


async def test_a_policy_that_allows_asks_nobody(tree: Path) -> None:
    person = Person(answer=False)
    policy = DefaultPolicy(allow_tools=frozenset({"writeFile", "editFile"}))
    async with scripts_with(workspace_capability(tree), policy=policy, person=person) as scripts:
        await scripts.value('[writeFile("new.txt", "x"), editFile("n.txt", "one", "1")]')
    assert person.asked == []
    assert (tree / "n.txt").read_text().startswith("1\n")


async def test_a_person_is_asked_once_for_a_file(tree: Path) -> None:
    (tree / "code").symlink_to("src")
    person = Person(answer=True)
    async with scripts_with(workspace_capability(tree), policy=DefaultPolicy(), person=person) as scripts:
        assert await scripts.value('writeFile("code/new.go", "x")') is True
    [(message, grant)] = person.asked
    assert "src/new.go" in message
    assert grant.kind == "path"
    assert grant.subject.endswith("src/new.go")


async def test_a_refusal_writes_nothing(tree: Path) -> None:
    async with scripts_with(workspace_capability(tree), policy=DefaultPolicy(), person=Person()) as scripts:
        assert "declined" in await scripts.error('writeFile("a/new.txt", "x")')
        assert "declined" in await scripts.error('editFile("n.txt", "one", "x")')
    assert not (tree / "a").exists()
    assert (tree / "n.txt").read_text().startswith("one\n")


async def test_every_cap_is_told(tree: Path) -> None:
    limits = WorkspaceLimits(results=2, read_bytes=9)
    async with scripts_with(workspace_capability(tree, limits=limits), policy=AllowAll()) as scripts:
        assert len(await scripts.value("listDir()")) == 2
        assert "listDir: there are more than the 2 returned" in scripts.notes()
        assert len(await scripts.value('glob("**")')) == 2
        assert "glob: there are more than the 2 returned" in scripts.notes()
        assert "truncated" in await scripts.value('readFile("n.txt")')


async def test_giving_up_is_loud(tree: Path) -> None:
    limits = WorkspaceLimits(files=3)
    async with scripts_with(workspace_capability(tree, limits=limits)) as scripts:
        assert "glob: gave up after 3 files" in await scripts.error('glob("**")')
        assert "grep: gave up after 3 files" in await scripts.error('grep("x")')


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("readFile(3)", "path must be a string"),
        ('readFile("n.txt", {ofset: 2})', "there is no option 'ofset'; there are: offset, limit"),
        ('readFile("n.txt", {offset: 0})', "offset must be a whole number from 1 on"),
        ('readFile("n.txt", {limit: 1.5})', "limit must be a whole number"),
        ('readFile("n.txt", 3)', "the options must be an object"),
        ('writeFile("n.txt", {a: 1})', "content must be a string"),
        ('editFile("n.txt", "one", "two", {all: 1})', "all must be true or false"),
        ('writeFile("n.txt", "\\ud800")', "no Unicode text"),
    ],
)
async def test_wrong_arguments(scripts: Scripts, tree: Path, call: str, said: str) -> None:
    assert said in await scripts.error(call)
    assert (tree / "n.txt").read_text() == "one\ntwo\nthree\nfour\n"


async def test_names_that_are_no_utf8_can_be_used(scripts: Scripts, tree: Path) -> None:
    (tree / os.fsdecode(b"caf\xe9.txt")).write_text("here")
    assert await scripts.value('readFile(glob("caf*")[0])') == "here"
    assert await scripts.value('readFile(listDir().find(e => e.name.startsWith("caf")).path)') == "here"


async def test_names_are_taken_as_they_are(scripts: Scripts, tree: Path) -> None:
    (tree / " spaced ").write_text("spaces")
    (tree / "back\\slash").write_text("backslash")
    assert await scripts.value('readFile(" spaced ")') == "spaces"
    assert await scripts.value('readFile("back\\\\slash")') == "backslash"
    assert await scripts.value('glob("back\\\\\\\\slash")') == ["back\\slash"]


async def test_a_run_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no workspace"):
        await workspace_capability().build(BuildContext())
    with pytest.raises(InvalidInput, match="cannot be opened"):
        await workspace_capability(tmp_path / "nowhere").build(BuildContext())
    [pack] = await workspace_capability().build(BuildContext(workspace=str(tmp_path)))
    assert pack.aclose is not None
    await pack.aclose()


async def test_declarations_and_pack_agree(scripts: Scripts) -> None:
    declared = re.findall(r"^declare function (\w+)", text("workspace.d.ts"), re.MULTILINE)
    assert declared == list(scripts.pack.primitives) == list(scripts.pack.help)
    assert scripts.pack.declarations == text("workspace.d.ts")
    assert "readFile" in await scripts.value('help("readFile")')
    stranger = [name for name, primitive in scripts.pack.primitives.items() if primitive.untrusted]
    assert stranger == ["readFile", "listDir", "glob", "grep"]
