from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal

Run = Callable[..., subprocess.CompletedProcess[str]]
Replies = Callable[..., str]

FAIL = "```js\nfunction run() { fail('no such thing') }\n```"
KEEP = "```js\nfunction run() { return { n: 7 } }\n```"
TELL = "```js\nfunction run(args) { answer(`n is ${args.n}`) }\n```"
SLEEP = "```js\nfunction run() { sleep(30000) }\n```"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"AGENTLOOP_DB": str(tmp_path / "sessions.db")}


def sessions(agentloop: Run, env: dict[str, str]) -> list[Any]:
    return [json.loads(line) for line in agentloop("sessions", "--json", env=env).stdout.splitlines()]


def test_each_line_is_a_message_of_one_session(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    llm = replies(KEEP, "DONE\nkept", TELL)
    done = agentloop("chat", "--llm", llm, stdin="  keep seven \n\n   \ntell me", env=env)
    assert (done.returncode, done.stdout) == (0, "kept\nn is 7\n")
    assert done.stderr.count("completed · ") == 2 and "> " not in done.stderr
    (session,) = sessions(agentloop, env)
    assert (session["runs"], session["opening"]) == (2, "keep seven")


def test_commands_are_no_messages(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    typed = "/session\n/help\n/what now\x1b\nfirst\n/new\n/session\nsecond\n/exit\nthird\n"
    done = agentloop("chat", "--session", "begun", "--llm", replies("DONE\none", "DONE\ntwo"), stdin=typed, env=env)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    lines = done.stderr.splitlines()
    assert lines[0] == "begun"
    assert any("/new" in line and "begin a new session" in line for line in lines)
    assert "/what is no command; /help lists them" in lines
    new = next(line for line in lines if line.startswith("new session ")).removeprefix("new session ")
    assert new in lines
    assert {session["id"] for session in sessions(agentloop, env)} == {"begun", new}


def test_a_new_session_knows_nothing_of_the_old(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    done = agentloop("chat", "--llm", replies(KEEP, "DONE\nkept", TELL), stdin="keep\n/new\ntell\n", env=env)
    assert done.stdout == "kept\nn is undefined\n"


def test_fresh_is_for_the_first_message(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    agentloop("run", "keep", "--session", "s", "--llm", replies(KEEP, "DONE\nkept"), env=env)
    llm = replies(TELL, KEEP, "DONE\nkept", TELL)
    done = agentloop("chat", "--session", "s", "--fresh", "--llm", llm, stdin="a\nb\nc\n", env=env)
    assert done.stdout == "n is undefined\nkept\nn is 7\n"


def test_the_exit_code_is_that_of_the_last_message(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    assert agentloop("chat", "--llm", replies(FAIL, "DONE\nyes"), stdin="a\nb\n", env=env).returncode == 0
    assert agentloop("chat", "--llm", replies("DONE\nyes", FAIL), stdin="a\nb\n", env=env).returncode == 1
    assert agentloop("chat", "--llm", replies("DONE\nyes"), stdin="a\nb\n", env=env).returncode == 8
    assert agentloop("chat", "--llm", replies("unused"), stdin="/quit\n", env=env).returncode == 0


def test_json_has_a_result_for_each_message(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    done = agentloop("chat", "--json", "--llm", replies("DONE\none", "DONE\ntwo"), stdin="a\nb\n", env=env)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    results = [event for event in told if event["type"] == "result"]
    assert [result["final_text"] for result in results] == ["one", "two"]
    assert len({result["session_id"] for result in results}) == 1
    assert len({result["run_id"] for result in results}) == 2
    assert done.stderr == ""


def test_nothing_is_kept_of_an_ephemeral_chat(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    done = agentloop("chat", "--ephemeral", "--llm", replies(KEEP, "DONE\nkept", TELL), stdin="a\nb\n", env=env)
    assert done.stdout == "kept\nn is 7\n"
    assert not Path(env["AGENTLOOP_DB"]).exists()


def test_a_turn_that_cannot_begin_ends_no_chat(agentloop: Run, replies: Replies, env: dict[str, str]) -> None:
    words = ["chat", "--session", "s", "--enable", "markdown", "--llm", replies("DONE\none", "DONE\ntwo")]
    agentloop("run", "x", "--session", "s", "--enable", "ai", "--llm", replies("DONE\nzero"), env=env)
    words[-1] = replies("DONE\none", "DONE\ntwo")
    done = agentloop(*words, "--json", stdin="a\n/new\nb\n", env=env)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[0]["type"] == "fatal" and "--enable" in told[0]["error"]
    assert (done.returncode, told[-1]["final_text"]) == (0, "one")


@pytest.mark.parametrize("words", [["hello"], ["--approve", "prompt"], ["--url", "http://x"]])
def test_usage(agentloop: Run, replies: Replies, words: list[str]) -> None:
    done = agentloop("chat", "--llm", replies("DONE\none"), *words)
    assert (done.returncode, done.stdout) == (3, "")


# At a terminal


@pytest.fixture
def terminal(repository: Path, env: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_chat(*words: str) -> Terminal:
        opened.append(Terminal(repository, env, "chat", *words))
        return opened[-1]

    yield open_chat
    for each in opened:
        each.close()


def test_ctrl_c_ends_the_turn_and_ctrl_d_the_chat(terminal: Callable[..., Terminal], replies: Replies) -> None:
    chat = terminal("--llm", replies(SLEEP, "DONE\nstill here"))
    chat.wait_for("> ")
    chat.type("wait\n")
    chat.wait_for("wait\r\n")
    chat.wait_for(r"turn 1 · [1-9]")
    chat.process.send_signal(signal.SIGINT)
    chat.wait_for("cancelled: by a signal")
    chat.wait_for("> ")
    chat.type("go on\n")
    chat.wait_for("still here\r\n")
    chat.wait_for("> ")
    chat.process.send_signal(signal.SIGINT)
    chat.wait_for("Ctrl-D or /exit leaves")
    chat.type("\x04")
    assert chat.process.wait(20) == 0


def test_ctrl_c_twice_leaves(terminal: Callable[..., Terminal], replies: Replies) -> None:
    chat = terminal("--llm", replies("unused"))
    chat.wait_for("> ")
    chat.process.send_signal(signal.SIGINT)
    chat.wait_for("Ctrl-C again too")
    chat.process.send_signal(signal.SIGINT)
    assert chat.process.wait(20) == 130


def test_a_request_to_end_ends_turn_and_chat(terminal: Callable[..., Terminal], replies: Replies) -> None:
    chat = terminal("--llm", replies(SLEEP))
    chat.wait_for("> ")
    chat.type("wait\n")
    chat.wait_for(r"turn 1 · [1-9]")
    chat.process.send_signal(signal.SIGTERM)
    assert chat.process.wait(20) == 130
