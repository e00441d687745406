from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from agentloop.testing.llm_server import llm_server
from tests.cli.conftest import finished

Run = Callable[..., subprocess.CompletedProcess[str]]

KEY = "sk-test-0123456789"


def verdicts(text: str) -> dict[str, str]:
    found = re.findall(r"^(ok|warn|FAIL) +(\w+): \S", text, re.MULTILINE)
    return {topic: verdict for verdict, topic in found}


def test_here_everything_works_but_there_is_no_model(agentloop: Run, tmp_path: Path) -> None:
    done = agentloop("doctor", env={"XDG_DATA_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout
    told = verdicts(done.stdout)
    assert set(told) == {"package", "scripts", "browser", "model", "files"}
    assert "FAIL" not in told.values() and told["model"] == "warn"
    assert re.search(r"browser: /\S+, version \d+\.", done.stdout)
    assert "isolation: " in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_work_fails(agentloop: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    env = {"AGENTLOOP_CHROMIUM": str(tmp_path / "none"), "XDG_DATA_HOME": str(blocked)}
    done = agentloop("doctor", env=env)
    assert done.returncode == 1
    assert verdicts(done.stdout)["browser"] == verdicts(done.stdout)["files"] == "FAIL"


async def test_a_model_is_asked_and_its_key_is_not_shown(repository: Path, tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": KEY, "AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    async with llm_server(["pong"], api_key=KEY) as server:
        _, out, err = await finished(repository, "doctor", "--llm-base-url", server.base_url, env=env)
        _, offline, _ = await finished(repository, "doctor", "--offline", "--llm-base-url", server.base_url, env=env)
        assert len(server.requests) == 1
    assert f"a key of {len(KEY)} characters" in out and "model: it answers" in out
    assert "it answers" not in offline
    assert KEY not in out + offline + err


async def test_a_model_that_refuses_the_key_fails(repository: Path, tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": KEY, "AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    async with llm_server([], api_key="another") as server:
        code, out, _ = await finished(repository, "doctor", "--llm-base-url", server.base_url, env=env)
    assert code == 1
    assert re.search(r"^FAIL +model: .*401", out, re.MULTILINE)
