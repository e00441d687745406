"""`--egress`: the manifest of a command's runs, in files."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, environment, finished
from tests.guard.network.origin import origin

Replies = Callable[..., str]


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


def told(file: Path) -> list[dict[str, Any]]:
    document = json.loads(file.read_text("utf-8"))
    assert document["version"] == 1
    runs: list[dict[str, Any]] = document["runs"]
    return runs


async def test_run_writes_the_file_that_is_named(repository: Path, replies: Replies, tmp_path: Path) -> None:
    file = tmp_path / "e.json"
    async with origin() as site:
        words = ["run", "--llm", replies(js(f"fetch('{site.url}/?q=1'); answer(1)")), "--allow", site.url]
        code, out, err = await finished(repository, *words, "--egress", str(file), "--ephemeral", "--json", "go")

    assert code == 0, err
    result = json.loads(out.splitlines()[-1])
    [run] = told(file)
    assert run["run_id"] == result["run_id"]
    assert [place["host"] for place in run["contacted"]] == ["127.0.0.1"]
    assert result["egress"]["manifest"] == str(file)


async def test_a_browsing_run_keeps_it_among_its_artifacts(repository: Path, replies: Replies, tmp_path: Path) -> None:
    async with origin() as site:
        words = ["browse", "--url", site.url, "--llm", replies(js("answer(1)")), "--artifacts", str(tmp_path / "out")]
        code, _, err = await finished(repository, *words, "go")

    assert code == 0, err
    [run] = told(tmp_path / "out" / "egress.json")
    assert run["boundary"] == "proxy"


@pytest.mark.parametrize("command", ["run", "browse", "chat"])
def test_a_place_that_cannot_be_written_is_told_before_there_is_a_run(
    agentloop: Run, replies: Replies, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("")
    words = [] if command == "chat" else ["go"]
    llm = replies(js("answer(1)"))
    done = agentloop(command, "--llm", llm, "--egress", str(tmp_path / "file" / "e.json"), *words, stdin="go\n")

    assert done.returncode == 3
    assert "egress" in done.stderr
    assert done.stdout == ""


def test_each_message_of_a_chat_is_told(agentloop: Run, replies: Replies, tmp_path: Path) -> None:
    file = tmp_path / "e.json"
    refused = js("try { fetch('http://evil.test/') } catch (e) {} answer(1)")
    words = ["chat", "--ephemeral", "--llm", replies(refused, refused), "--approve", "deny", "--allow", "ok.test"]
    done = agentloop(*words, "--egress", str(file), stdin="one\ntwo\n")

    assert done.returncode == 0, done.stderr
    assert [[place["host"] for place in run["refused"]] for run in told(file)] == [["evil.test"]] * 2


async def test_a_kill_leaves_what_was_known_at_the_last_turn(
    repository: Path, replies: Replies, tmp_path: Path
) -> None:
    file = tmp_path / "e.json"
    async with origin() as site:
        llm = replies(js(f"fetch('{site.url}/first'); return 1"), js(f"fetch('{site.url}/chunked')"))
        words = ["run", "--llm", llm, "--allow", site.url, "--ephemeral", "--egress", str(file), "go"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agentloop", *words), cwd=repository, env=environment()
        )
        async with asyncio.timeout(40):
            while not site.hits["/chunked"]:  # noqa: ASYNC110 - what it waits for happens in the other process
                await asyncio.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        await process.wait()

    [run] = told(file)
    assert run["contacted"][0]["requests"] == 1


async def test_the_byte_cap_may_be_set_by_a_flag(repository: Path, replies: Replies, tmp_path: Path) -> None:
    async with origin() as site:
        site.pages["/big"] = "x" * 50_000
        llm = replies(js(f"try {{ fetch('{site.url}/big') }} catch (e) {{ answer(e.message) }}"))
        words = ["run", "--llm", llm, "--allow", site.url, "--max-egress-bytes", "10000", "go"]
        code, out, err = await finished(repository, *words)

    assert code == 0, err
    assert "byte-cap" in out


def test_no_workspace_leaves_a_browser_unguarded(agentloop: Run, replies: Replies, tmp_path: Path) -> None:
    text = "dangerously-unguarded = true\negress = '/tmp/x.json'\nmax-egress-bytes = 999999999999\n"
    (tmp_path / "agentloop.toml").write_text(text)
    done = agentloop("run", "--cwd", str(tmp_path), "--llm", replies(js("answer(1)")), "go")

    assert done.returncode == 0
    for name in ("dangerously-unguarded", "egress", "max-egress-bytes"):
        assert f"{name} is ignored" in done.stderr
