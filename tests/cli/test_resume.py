from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment

Run = Callable[..., subprocess.CompletedProcess[str]]

SLEEP = "```js\nfunction run() { log('begun'); sleep(30000); }\n```"
KEEP = "```js\nfunction run() { return { n: 7 } }\n```"
TELL = "```js\nfunction run(args) { answer(`n is ${args.n}`) }\n```"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"AGENTLOOP_DB": str(tmp_path / "sessions.db"), "XDG_DATA_HOME": str(tmp_path)}


def written(path: Path, *replies: str) -> str:
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    return f"scripted:{path}"


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def asleep(repository: Path, tmp_path: Path, env: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command and leaves it in the middle of its second script."""
    running: list[subprocess.Popen[str]] = []

    def start(command: str, *words: str) -> subprocess.Popen[str]:
        llm = written(tmp_path / "first.jsonl", KEEP, SLEEP)
        process = subprocess.Popen(
            [sys.executable, "-m", "agentloop", command, "wait", "--json", "--llm", llm, *words],
            cwd=repository,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        scripts = 0
        while scripts < 2:
            line = process.stdout.readline()
            assert line, "the script was never run"
            scripts += '"type": "execute_js"' in line
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("command", ["run", "browse"])
def test_a_killed_run_goes_on_as_it_was_begun(
    asleep: Callable[..., subprocess.Popen[str]], agentloop: Run, tmp_path: Path, env: dict[str, str], command: str
) -> None:
    words = ["--max-steps", "4", "--allow", "*.shop.example"] if command == "browse" else ["--max-steps", "4"]
    process = asleep(command, "--session", "cut-short", *words)
    process.kill()
    process.wait()
    done = agentloop("sessions", "resume", "cut", "--json", "--llm", written(tmp_path / "second.jsonl", TELL), env=env)
    told = lines(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert told[-1]["final_text"] == "n is 7" and told[-1]["session_id"] == "cut-short"
    assert "resumed" in [event["type"] for event in told]
    assert ("observation" in [event["type"] for event in told]) is (command == "browse")
    shown = lines(agentloop("sessions", "show", "cut-short", "--json", env=env).stdout)
    kinds = [step["type"] for step in shown]
    assert kinds == ["user", *["execute_js", "execute_js_result"] * 3, "response"]
    assert sum("sleep(30000)" in step.get("content", "") for step in shown if step["type"] == "execute_js") == 1
    again = agentloop("sessions", "resume", "cut-short", env=env)
    assert (again.returncode, again.stdout) == (0, "n is 7\n")


def test_limits_are_remembered_and_flags_win(
    asleep: Callable[..., subprocess.Popen[str]], agentloop: Run, tmp_path: Path, env: dict[str, str]
) -> None:
    process = asleep("run", "--session", "s", "--max-steps", "2")
    process.kill()
    process.wait()
    more = written(tmp_path / "second.jsonl", KEEP, TELL)
    done = agentloop("sessions", "resume", "s", "--json", "--llm", more, env=env)
    assert (done.returncode, lines(done.stdout)[-1]["status"]) == (2, "max_iterations")
    process = asleep("run", "--session", "t", "--max-steps", "2")
    process.kill()
    process.wait()
    done = agentloop("sessions", "resume", "t", "--max-steps", "9", "--json", "--llm", more, env=env)
    assert (done.returncode, lines(done.stdout)[-1]["final_text"]) == (0, "n is 7")


def test_a_run_that_lives_is_nobody_elses(
    asleep: Callable[..., subprocess.Popen[str]], agentloop: Run, tmp_path: Path, env: dict[str, str]
) -> None:
    process = asleep("run", "--session", "s")
    llm = written(tmp_path / "second.jsonl", TELL)
    done = agentloop("sessions", "resume", "s", "--json", "--llm", llm, env=env)
    assert done.returncode == 3
    assert lines(done.stdout)[-1]["type"] == "fatal" and str(process.pid) in done.stderr
    done = agentloop("run", "more", "--session", "s", "--llm", llm, env=env)
    assert done.returncode == 3 and "in progress" in done.stderr


def test_a_session_at_work_is_not_deleted_under_its_run(
    asleep: Callable[..., subprocess.Popen[str]], agentloop: Run, env: dict[str, str]
) -> None:
    process = asleep("run", "--session", "s")
    refused = agentloop("sessions", "rm", "s", env=env)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"process {process.pid} on " in refused.stderr and f"kill -INT {process.pid}" in refused.stderr
    assert agentloop("sessions", "revoke", "s", env=env).stdout == "s: 0 approvals forgotten\n"
    assert process.poll() is None
    process.kill()
    process.wait()
    deleted = agentloop("sessions", "rm", "s", env=env)
    assert (deleted.returncode, deleted.stdout, deleted.stderr) == (0, "deleted s\n", "")


def test_a_run_that_had_secrets_wants_them_again(
    asleep: Callable[..., subprocess.Popen[str]], agentloop: Run, tmp_path: Path, env: dict[str, str]
) -> None:
    flag = "LOGIN=env:SHOP_PASSWORD@https://shop.example"
    env["SHOP_PASSWORD"] = "correct-horse-7"
    process = asleep("run", "--session", "s", "--secret", flag)
    process.kill()
    process.wait()
    llm = written(tmp_path / "second.jsonl", "```js\nfunction run() { answer(secret('LOGIN').slice(0, 13)) }\n```")
    without = agentloop("sessions", "resume", "s", "--llm", llm, env=env)
    assert without.returncode == 3 and f"give --secret {flag} again" in without.stderr
    unset = agentloop("sessions", "resume", "s", "--llm", llm, "--secret", flag, env={**env, "SHOP_PASSWORD": ""})
    assert unset.returncode == 3 and "SHOP_PASSWORD is not set" in unset.stderr
    again = agentloop("sessions", "resume", "s", "--llm", llm, "--secret", flag, env=env)
    assert (again.returncode, again.stdout) == (0, "secret.LOGIN.\n")
    assert b"correct-horse" not in (tmp_path / "sessions.db").read_bytes()
    over = agentloop("sessions", "resume", "s", env=env)
    assert (over.returncode, over.stdout) == (0, "secret.LOGIN.\n"), "of a run that is over nothing is needed"
