from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

Run = Callable[..., subprocess.CompletedProcess[str]]
Replies = Callable[..., str]

WRITE = """```js
function run() {
  let told = "written";
  try { writeFile("a.txt", "x") } catch (error) { told = error.message }
  answer(told);
}
```"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def terminal(repository: Path, tmp_path: Path, folder: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []
    env = {"AGENTLOOP_DB": str(tmp_path / "sessions.db")}

    def start(command: str, *words: str) -> Terminal:
        opened.append(Terminal(repository, env, command, "--with", "workspace", "--cwd", str(folder), *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_a_change_is_asked_about_once_for_its_session(
    terminal: Callable[..., Terminal], replies: Replies, folder: Path
) -> None:
    llm = replies(WRITE)
    first = terminal("run", "write", "--session", "s", "--llm", llm)
    first.wait_for(r"\r\nAllow the agent to modify a\.txt\? \[y/N\] ")
    assert not list(folder.iterdir())
    first.type("y\n")
    first.wait_for("written\r\n")
    assert first.process.wait(20) == 0
    assert (folder / "a.txt").read_text(encoding="utf-8") == "x"

    second = terminal("run", "write", "--session", "s", "--llm", llm)
    second.wait_for("written\r\n")
    third = terminal("run", "write", "--session", "another", "--llm", llm)
    third.wait_for(r"\[y/N\] ")
    third.type("no\n")
    third.wait_for("declined")


def test_in_a_chat_neither_answer_goes_into_a_new_session(terminal: Callable[..., Terminal], replies: Replies) -> None:
    chat = terminal("chat", "--llm", replies(*[WRITE] * 4))
    chat.wait_for("> ")
    chat.type("write\n")
    chat.wait_for(r"\[y/N\] ")
    chat.type("y\n")
    chat.wait_for("written\r\n")
    chat.wait_for("> ")
    chat.type("write\n")
    chat.wait_for("written\r\n")
    chat.wait_for("> ")
    chat.type("/new\n")
    chat.wait_for("> ")
    chat.type("write\n")
    chat.wait_for(r"\[y/N\] ")
    chat.type("n\n")
    chat.wait_for("declined")
    chat.wait_for("> ")
    chat.type("write\n")
    chat.wait_for("declined")
    assert "[y/N]" not in chat.seen


def test_the_end_of_the_terminal_is_no_refusal(terminal: Callable[..., Terminal], replies: Replies) -> None:
    run = terminal("run", "write", "--llm", replies(WRITE))
    run.wait_for(r"\[y/N\] ")
    run.type("\x04")
    run.wait_for("standard input has ended")


def test_without_a_terminal_a_change_is_denied_without_a_question(
    agentloop: Run, replies: Replies, folder: Path
) -> None:
    words = ["run", "write", "--ephemeral", "--cwd", str(folder), "--llm", replies(WRITE)]
    done = agentloop(*words)
    assert "declined" in done.stdout and "[y/N]" not in done.stderr
    assert "denied: there is no terminal to ask at; --approve auto says yes" in done.stderr
    done = agentloop(*words, "--approve", "auto")
    assert done.stdout == "written\n" and (folder / "a.txt").exists()


def test_commands_may_be_allowed_by_name(agentloop: Run, replies: Replies, folder: Path) -> None:
    script = "```js\nfunction run() { answer(exec(['echo', 'hello']).stdout.trim()) }\n```"
    words = ["run", "say", "--ephemeral", "--cwd", str(folder), "--llm", replies(script)]
    assert agentloop(*words, "--allow-exec", "echo").stdout == "hello\n"
    assert agentloop(*words, "--max-steps", "1", "--allow-exec", "git").returncode == 2
    assert agentloop(*words, "--max-steps", "1", "--no-exec").returncode == 2


def test_without_a_network_there_is_no_fetch(agentloop: Run, replies: Replies) -> None:
    script = "```js\nfunction run() { answer([typeof fetch, typeof readFile, typeof exec].join()) }\n```"
    words = ["run", "say", "--ephemeral", "--llm", replies(script)]
    assert agentloop(*words).stdout == "function,function,function\n"
    assert agentloop(*words, "--no-network").stdout == "undefined,function,function\n"
    assert agentloop(*words, "--no-network", "--with", "fetch").stdout == "undefined,function,function\n"
    assert agentloop(*words, "--no-exec", "--with", "exec").stdout == "function,function,undefined\n"
