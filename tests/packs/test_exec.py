"""Programs as scripts have them: a real sandbox, real processes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.capabilities import BuildContext
from agentloop.errors import InvalidInput
from agentloop.guard.policy import AllowAll, DefaultPolicy
from agentloop.packs.exec import ExecLimits, exec_capability
from agentloop.packs.resources import text
from tests.packs.scripts import Person, Scripts, scripts_with

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/home/nobody", "OPENAI_API_KEY": "sk-1", "UNLISTED": "x"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    return root


@pytest.fixture
async def scripts(root: Path) -> AsyncIterator[Scripts]:
    async with scripts_with(exec_capability(root, environ=ENVIRON), policy=AllowAll()) as opened:
        yield opened


def program(path: Path, body: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def test_output_and_code(scripts: Scripts) -> None:
    assert await scripts.value('exec(["echo", "hi there"])') == {
        "stdout": "hi there\n",
        "stderr": "",
        "code": 0,
        "timedOut": False,
    }
    failed = await scripts.value('exec(["sh", "-c", "echo out; echo err >&2; exit 3"])')
    assert failed == {"stdout": "out\n", "stderr": "err\n", "code": 3, "timedOut": False}
    assert [event["args"]["kind"] for event in scripts.events] == ["exec", "exec_result"] * 2
    assert scripts.events[-1]["content"] == "exec: exit 3"


async def test_a_program_that_is_not_there(scripts: Scripts) -> None:
    assert "no program 'nowhere-to-be-found'" in await scripts.error('exec(["nowhere-to-be-found"])')
    assert "no such file" in (await scripts.error('exec(["./nowhere"])')).lower()


async def test_a_program_that_cannot_be_started(scripts: Scripts, root: Path) -> None:
    (root / "data").write_text("x")
    assert "permission denied" in (await scripts.error('exec(["./data"])')).lower()
    (root / "data").chmod(0o755)
    assert "exec format error" in (await scripts.error('exec(["./data"])')).lower()


async def test_input_reaches_the_program(scripts: Scripts) -> None:
    assert (await scripts.value('exec(["cat"], {input: "grüße"})'))["stdout"] == "grüße"
    counted = await scripts.value('exec(["wc", "-c"], {input: "x".repeat(3000000)})')
    assert counted["stdout"].strip() == "3000000"
    assert (await scripts.value('exec(["cat"])'))["stdout"] == ""


async def test_input_that_nobody_reads_does_no_harm(scripts: Scripts) -> None:
    assert (await scripts.value('exec(["true"], {input: "x".repeat(3000000)})'))["code"] == 0


async def test_the_environment_is_an_allowlist(scripts: Scripts) -> None:
    env = (await scripts.value('exec(["env"], {env: {NEW: "here", HOME: "/elsewhere"}})'))["stdout"].splitlines()
    assert sorted(env) == sorted([f"PATH={ENVIRON['PATH']}", "HOME=/elsewhere", "NEW=here"])


async def test_the_operators_variables(root: Path) -> None:
    capability = exec_capability(root, environ=ENVIRON, env={"OWN": "1", "HOME": "/own"})
    async with scripts_with(capability, policy=AllowAll()) as scripts:
        env = (await scripts.value('exec(["env"], {env: {OWN: "2"}})'))["stdout"].splitlines()
    assert {"OWN=2", "HOME=/own"} <= set(env)


async def test_long_output_keeps_its_head_and_its_tail(root: Path) -> None:
    capability = exec_capability(root, limits=ExecLimits(output_bytes=2048))
    async with scripts_with(capability, policy=AllowAll()) as scripts:
        result = await scripts.value('exec(["seq", "1", "20000"])')
    assert len(result["stdout"]) <= 4096
    assert result["stdout"].startswith("1\n2\n3\n")
    assert result["stdout"].endswith("19999\n20000\n")
    assert re.search(r"\n\[truncated: \d+ bytes left out\]\n", result["stdout"])
    assert result["truncated"] is True


async def test_a_string_needs_a_shell(root: Path) -> None:
    async with scripts_with(exec_capability(root), policy=AllowAll()) as scripts:
        assert "array" in await scripts.error('exec("echo hi | cat")')
    async with scripts_with(exec_capability(root, allow_shell=True), policy=AllowAll()) as scripts:
        assert (await scripts.value('exec("echo hi | tr h H")'))["stdout"] == "Hi\n"


async def test_the_folder(scripts: Scripts, root: Path) -> None:
    assert (await scripts.value('exec(["pwd"])'))["stdout"].strip() == str(root)
    assert (await scripts.value('exec(["pwd"], {cwd: "sub"})'))["stdout"].strip() == str(root / "sub")
    (root / "out").symlink_to("..")
    for cwd in ("..", "/etc", "nope", "out", "sub/../.."):
        thrown = await scripts.error(f'exec(["pwd"], {{cwd: "{cwd}"}})')
        assert thrown.startswith("InvalidInput: exec: ")
        assert str(root) not in thrown


async def test_without_a_workspace_there_is_no_cwd() -> None:
    async with scripts_with(exec_capability(), policy=AllowAll()) as scripts:
        assert (await scripts.value('exec(["pwd"])'))["stdout"].strip() == os.getcwd()
        assert "needs a workspace" in await scripts.error('exec(["pwd"], {cwd: "sub"})')


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("exec()", "needs 1 arguments"),
        ("exec(null)", "non-empty array"),
        ("exec([])", "non-empty array"),
        ('exec(["  "])', "begins with the name of a program"),
        ('exec(["echo", 1])', "argument 1 must be a string"),
        ('exec(["echo", "a\\0b"])', "NUL"),
        ('exec(["echo"], {timeoutMs: 0})', "timeoutMs must be a whole number"),
        ('exec(["echo"], {timeout: 5})', "no option 'timeout'"),
        ('exec(["echo"], {env: {A: 1}})', "env.A must be a string"),
        ('exec(["echo"], {env: {"A=B": "1"}})', "a name has letters"),
        ('exec(["echo"], {env: {"echo x": "1", LD_PRELOAD: "./a.so"}})', "a name has letters"),
        ('exec(["echo"], {env: {A: "a\\0b"}})', "no NUL"),
        ('exec(["echo"], {input: 5})', "input must be a string"),
    ],
)
async def test_wrong_arguments(scripts: Scripts, call: str, said: str) -> None:
    assert said in await scripts.error(call)


async def test_denied_by_default(root: Path) -> None:
    async with scripts_with(exec_capability(root), policy=DefaultPolicy()) as scripts:
        assert "denied by the default sandbox policy" in await scripts.error('exec(["touch", "made"])')
    assert not (root / "made").exists()


@pytest.mark.parametrize("by", ["policy", "capability"])
async def test_an_approved_name_runs_silently_and_others_ask(root: Path, by: str) -> None:
    person = Person(answer=True)
    names = ("echo",)
    policy = DefaultPolicy(allow_commands=frozenset(names if by == "policy" else ()))
    capability = exec_capability(root, allow_commands=names if by == "capability" else ())
    async with scripts_with(capability, policy=policy, person=person) as scripts:
        assert (await scripts.value('exec(["echo", "hi"])'))["stdout"] == "hi\n"
        assert person.asked == []
        assert (await scripts.value('exec(["true", "a b"])'))["code"] == 0
    assert "true 'a b'" in person.asked[0][0]


async def test_a_refused_command_does_not_run(root: Path) -> None:
    person = Person(answer=False)
    async with scripts_with(exec_capability(root), policy=DefaultPolicy(), person=person) as scripts:
        assert "declined" in await scripts.error('exec(["touch", "made"])')
        assert "declined" in await scripts.error('exec(["echo", "hi"])')
    assert "echo hi" in person.asked[1][0]
    assert not (root / "made").exists()


@pytest.mark.parametrize("by", ["policy", "capability"])
async def test_a_path_is_never_approved_by_a_name(root: Path, by: str) -> None:
    """Not `./git`, nor `some/dir/git`, nor even the path of the very program."""
    for path in ("git", "some/dir/git", "sub/git"):
        program(root / path, "echo planted")
    real = shutil.which("git") or "/usr/bin/git"
    person = Person(answer=False)
    policy = DefaultPolicy(allow_commands=frozenset({"git"} if by == "policy" else ()))
    capability = exec_capability(root, allow_commands=("git",) if by == "capability" else ())
    async with scripts_with(capability, policy=policy, person=person) as scripts:
        for word in ("./git", "some/dir/git", "sub/../git", real):
            assert "declined" in await scripts.error(f'exec(["{word}"])')
        assert "declined" in await scripts.error('exec(["./git"], {cwd: "sub"})')
    assert f"Program: {root}/some/dir/git" in person.asked[1][0]
    assert f"Program: {root}/sub/git" in person.asked[4][0]


@pytest.mark.parametrize("by", ["policy", "capability"])
async def test_a_name_that_came_to_mean_something_else_asks(root: Path, tmp_path: Path, by: str) -> None:
    program(tmp_path / "bin/tool", "echo real")
    environ = {"PATH": f".:{root}/bin:{tmp_path}/bin:/usr/bin:/bin"}
    person = Person(answer=False)
    policy = DefaultPolicy(allow_commands=frozenset({"tool"} if by == "policy" else ()))
    capability = exec_capability(root, environ=environ, allow_commands=("tool",) if by == "capability" else ())
    async with scripts_with(capability, policy=policy, person=person) as scripts:
        assert (await scripts.value('exec(["tool"])'))["stdout"] == "real\n"
        program(root / "tool", "echo planted here")
        assert (await scripts.value('exec(["tool"])'))["stdout"] == "real\n"
        program(root / "bin/tool", "echo planted")
        assert "declined" in await scripts.error('exec(["tool"])')


async def test_a_program_exchanged_since_it_was_approved_asks(root: Path) -> None:
    """One in the workspace's own bin folder may be approved, but not what is put into its place."""
    program(root / ".venv/bin/tool", "echo real")
    environ = {"PATH": f"{root}/.venv/bin:/usr/bin:/bin"}
    person = Person(answer=False)
    capability = exec_capability(root, environ=environ, allow_commands=("tool",))
    async with scripts_with(capability, policy=DefaultPolicy(), person=person) as scripts:
        assert (await scripts.value('exec(["tool"])'))["stdout"] == "real\n"
        program(root / "new", "echo planted").rename(root / ".venv/bin/tool")
        assert "declined" in await scripts.error('exec(["tool"])')


@pytest.mark.parametrize("by", ["policy", "capability"])
@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "GIT_SSH_COMMAND", "PYTHONPATH", "NODE_OPTIONS", "PAGER", "BASH_ENV", "HOME", "X"]
)
async def test_variables_are_not_approved_with_a_name(root: Path, by: str, name: str) -> None:
    person = Person(answer=False)
    policy = DefaultPolicy(allow_commands=frozenset({"echo"} if by == "policy" else ()))
    capability = exec_capability(root, allow_commands=("echo",) if by == "capability" else ())
    async with scripts_with(capability, policy=policy, person=person) as scripts:
        assert "declined" in await scripts.error(f'exec(["echo"], {{env: {{{name}: "./evil.so"}}}})')
        assert (await scripts.value('exec(["echo"], {env: {LC_ALL: "C", NO_COLOR: "1"}})'))["code"] == 0
    [(message, _)] = person.asked
    assert f"{name}=./evil.so echo" in message


async def test_the_question_and_its_grant_hold_everything(root: Path) -> None:
    person = Person(answer=True)
    calls = (
        'exec(["cat", "a b"], {cwd: "sub", input: "in\\nput", env: {ODD: "x y"}})',
        'exec(["cat", "a", "b"], {cwd: "sub", input: "in\\nput", env: {ODD: "x y"}})',
        'exec(["cat", "a b"], {input: "in\\nput", env: {ODD: "x y"}})',
        'exec(["cat", "a b"], {cwd: "sub", input: "other", env: {ODD: "x y"}})',
        'exec(["cat", "a b"], {cwd: "sub", input: "in\\nput"})',
        'exec(["./cat", "a b"], {cwd: "sub", input: "in\\nput", env: {ODD: "x y"}})',
    )
    program(root / "sub/cat", "true")
    async with scripts_with(exec_capability(root), policy=DefaultPolicy(), person=person) as scripts:
        for call in (*calls, calls[0]):
            await scripts.value(call)
    message = person.asked[0][0]
    assert message.splitlines() == [
        "Allow the agent to run: ODD='x y' cat 'a b'?",
        f"Program: {os.path.realpath(shutil.which('cat') or '')}",
        "Folder: sub",
        'Standard input (6 characters): "in\\nput"',
    ]
    grants = [grant for _, grant in person.asked]
    assert {grant.kind for grant in grants} == {"command"}
    assert len({grant.subject for grant in grants}) == len(calls)
    assert grants[0] == grants[-1]


async def test_no_text_can_draw_in_the_question(root: Path) -> None:
    person = Person(answer=False)
    async with scripts_with(exec_capability(root), policy=DefaultPolicy(), person=person) as scripts:
        await scripts.error('exec(["echo", "\\u202e\\u001b[2K\\nProgram: /usr/bin/true"], {input: "\\u0007"})')
    message = person.asked[0][0]
    assert message.replace("\n", "").isprintable()
    assert len(message.splitlines()) == 3
    assert "\\u202e\\x1b[2K\\nProgram" in message


async def test_a_call_may_not_take_longer_than_the_limit(root: Path) -> None:
    capability = exec_capability(root, limits=ExecLimits(most_timeout_s=0.4))
    async with scripts_with(capability, policy=AllowAll()) as scripts:
        result = await scripts.value('exec(["sleep", "30"], {timeoutMs: 60000})')
        assert (result["timedOut"], result["code"]) == (True, -1)
        assert scripts.notes() == "exec: timeoutMs 60000 is more than a command may take; 400 holds"
        assert scripts.events[-1]["content"] == "exec: timed out after 0.4 s"
        assert (await scripts.value('exec(["sleep", "30"])'))["timedOut"] is True


async def test_many_at_once(scripts: Scripts) -> None:
    calls = "Array.from({length: 20}, (_, n) => [['sh', '-c', 'echo ' + n]]).map(a => ({spread: a}))"
    results = await scripts.value(f"exec.all({calls})")
    assert [result["stdout"] for result in results] == [f"{number}\n" for number in range(20)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has networks of one's own")
async def test_a_command_can_be_kept_off_the_network(root: Path) -> None:
    capability = exec_capability(root, limits=ExecLimits(network=False))
    code = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    async with scripts_with(capability, policy=AllowAll()) as scripts:
        outcome = await scripts.run(f"return exec([{sys.executable!r}, '-c', {code!r}])")
    if outcome.error is not None:
        assert "cannot keep it off the network" in outcome.error.message
        return
    assert outcome.value_json is not None
    assert "unreachable" in outcome.value_json


async def test_memory_can_be_limited(root: Path) -> None:
    capability = exec_capability(root, limits=ExecLimits(memory_mb=200))
    command = shlex.split(f"{sys.executable} -c 'bytearray(400 << 20)'")
    async with scripts_with(capability, policy=AllowAll()) as scripts:
        result = await scripts.value(f"exec({command})")
    assert result["code"] == 1
    assert "MemoryError" in result["stderr"]


async def test_a_workspace_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be opened"):
        await exec_capability(tmp_path / "nowhere").build(BuildContext())
    [pack] = await exec_capability().build(BuildContext(workspace=str(tmp_path)))
    assert pack.aclose is not None
    await pack.aclose()


async def test_declarations_and_pack_agree(scripts: Scripts) -> None:
    declared = re.findall(r"^declare function (\w+)", text("exec.d.ts"), re.MULTILINE)
    assert declared == list(scripts.pack.primitives) == list(scripts.pack.help)
    assert scripts.pack.declarations == text("exec.d.ts")
    for option in ("cwd", "timeoutMs", "input", "env"):
        assert f"{option}?" in scripts.pack.declarations
    assert scripts.pack.primitives["exec"].untrusted
