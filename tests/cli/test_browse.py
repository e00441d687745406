from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentloop.testing.llm_server import llm_server
from agentloop.testing.site import Site, serve_site
from tests.browser.counting_server import counting_server
from tests.cli.conftest import environment, finished

Run = Callable[..., subprocess.CompletedProcess[str]]
Replies = Callable[..., str]


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest.fixture
def purchase(repository: Path) -> list[str]:
    """The replies that buy two lamps."""
    text = (repository / "fixtures" / "replies" / "shop.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def test_a_purchase_over_the_wire_as_json(repository: Path, site: Site, purchase: list[str]) -> None:
    async with llm_server(purchase) as server:
        words = ["browse", "Buy two lamps", "--json", "--url", f"{site.url}/shop/", "--llm-base-url", server.base_url]
        code, out, err = await finished(repository, *words)
    told = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert told[-1]["type"] == "result" and told[-1]["status"] == "completed"
    assert told[-1]["final_text"].startswith("Order ")
    assert sum(event["type"] == "act" for event in told) >= 5
    assert [event["type"] for event in told].count("done") == 1


async def test_a_purchase_for_a_person(repository: Path, site: Site, tmp_path: Path) -> None:
    replies = repository / "fixtures" / "replies" / "shop.jsonl"
    words = ["browse", "--url", f"{site.url}/shop/", f"--llm=scripted:{replies}", "Buy two lamps"]
    code, out, err = await finished(repository, *words, "--artifacts", str(tmp_path / "pictures"))
    assert code == 0
    assert re.fullmatch(r"Order .*EUR.*\n", out)
    *turns, summary, pictures = err.splitlines()
    assert [line.split()[0] for line in turns] == ["1", "2", "3", "4", "5", "6"]
    assert "click(" in turns[0] and "opened /shop/" in turns[0]
    assert summary.startswith("completed · ")
    assert pictures == f"files: {tmp_path / 'pictures'}"
    assert list((tmp_path / "pictures").glob("turn-*.png"))


def test_a_start_page_that_is_down_is_an_error_of_the_run(agentloop: Run, replies: Replies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
    done = agentloop("browse", "look", "--json", "--url", url, "--llm", replies(js("answer(1)")))
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["status"], result["reason"]) == (1, "error", "page_down")


def test_without_a_browser_there_is_no_run(agentloop: Run, replies: Replies, tmp_path: Path) -> None:
    env = {"AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    done = agentloop("browse", "look", "--json", "--llm", replies(js("answer(1)")), env=env)
    assert done.returncode == 3
    assert json.loads(done.stdout)["type"] == "fatal"
    assert done.stderr.startswith("agentloop: ") and "AGENTLOOP_CHROMIUM" in done.stderr


def test_a_folder_for_pictures_that_cannot_be_is_told_before_the_run(
    agentloop: Run, replies: Replies, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    words = ["browse", "look", "--json", "--artifacts", str(tmp_path / "taken"), "--llm", replies(js("answer(1)"))]
    done = agentloop(*words, env={"AGENTLOOP_DB": str(tmp_path / "sessions.db")})
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert told["type"] == "fatal" and str(tmp_path / "taken") in told["error"]
    listed = agentloop("sessions", "ls", "--json", env={"AGENTLOOP_DB": str(tmp_path / "sessions.db")})
    assert listed.stdout == ""


def test_a_pattern_that_cannot_be_held_is_refused(agentloop: Run, replies: Replies) -> None:
    done = agentloop("browse", "look", "--allow", "http://*/x", "--llm", replies(js("answer(1)")))
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1


# What is left behind


Family = dict[int, str]
"""Process ids with the times the processes started at, so that no later one is taken for an earlier."""


def stat(pid: int) -> list[str]:
    """The fields of a process from its state on; [] when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def family(pid: int) -> Family:
    """Everything that `pid` started, directly or not."""
    fields = {int(folder.name): stat(int(folder.name)) for folder in Path("/proc").glob("[0-9]*")}
    found = {pid}
    while more := {child for child, its in fields.items() if its and int(its[1]) in found} - found:
        found |= more
    return {member: fields[member][19] for member in found - {pid}}


def alive(members: Family) -> list[int]:
    return [pid for pid, start in members.items() if (its := stat(pid)) and its[19] == start and its[0] != "Z"]


def left_after(seconds: float, members: Family, folder: Path) -> tuple[list[int], list[str]]:
    deadline = time.monotonic() + seconds
    while True:
        left = alive(members), [path.name for path in folder.iterdir()]
        if left == ([], []) or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


@pytest.fixture
def waiting(repository: Path, replies: Replies, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Family, Path]]:
    """A command in the middle of a script, all that it started, and its folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    words = ["browse", "wait", "--json", "--llm", replies(js("sleep(30000)"))]
    with subprocess.Popen(
        [sys.executable, "-m", "agentloop", *words],
        cwd=repository,
        env=environment({"TMPDIR": str(folder)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while '"type": "execute_js"' not in (line := process.stdout.readline()):
            assert line, "the script was never run"
        members = family(process.pid)
        yield process, members, folder
        process.kill()
    for pid in alive(members):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_browser_and_sandbox(
    waiting: tuple[subprocess.Popen[str], Family, Path], number: signal.Signals
) -> None:
    process, members, folder = waiting
    assert len(members) >= 4
    process.send_signal(number)
    assert process.stdout is not None
    told: list[Any] = [json.loads(line) for line in process.stdout]
    assert process.wait() == 130
    assert told[-1]["status"] == "cancelled"
    assert left_after(2, members, folder) == ([], [])


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
def test_killing_the_command_leaves_nothing_five_seconds_later(
    waiting: tuple[subprocess.Popen[str], Family, Path],
) -> None:
    process, members, folder = waiting
    process.kill()
    assert left_after(5, members, folder) == ([], [])


def test_what_is_risky_beside_a_page_is_told(agentloop: Run, replies: Replies, tmp_path: Path) -> None:
    env = {"AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    words = ["browse", "look", "--ephemeral", "--with", "markdown,exec,workspace", "--llm", replies(js("answer(1)"))]
    assert agentloop(*words, env=env).stderr.splitlines()[0].startswith("[warning] exec and workspace: ")
    assert "[warning]" not in agentloop(*words, "--quiet", env=env).stderr


@pytest.mark.parametrize(("approve", "posts"), [("deny", []), ("auto", ["/sent"])])
async def test_what_is_to_be_confirmed_is_done_as_approve_says(
    repository: Path, replies: Replies, approve: str, posts: list[str]
) -> None:
    model = replies(js("try { click('button') } catch (e) { return answer(e.message) } answer('sent')"))
    async with counting_server() as server:
        server.pages["/"] = "<form method=post action=/sent><button>Send</button></form>"
        words = ["browse", "Send it", "--url", server.at(), f"--llm={model}", "--confirm", "submit,download"]
        code, out, err = await finished(repository, *words, "--approve", approve, "--ephemeral", "--quiet")
    assert (code, err, server.posts()) == (0, "", posts)
    assert out == "sent\n" if posts else "declined" in out
