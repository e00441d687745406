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
    topics = {"package", "scripts", "browser", "model", "files", "sessions", "permissions", "settings"}
    assert set(told) == topics | {"workspace", "network", "instructions"}
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


def test_packs_and_folders_that_cannot_be_are_failures(agentloop: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    given = {"AGENTLOOP_WITH": "fetch,wrokspace", "AGENTLOOP_DB": str(tmp_path / "taken")}
    done = agentloop("doctor", "--offline", "--artifacts", str(tmp_path / "taken" / "below"), env=given)
    failures = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert done.returncode == 1
    assert any("AGENTLOOP_WITH: no pack is called 'wrokspace'; did you mean workspace?" in line for line in failures)
    assert any(f"artifacts: files cannot be kept in {tmp_path / 'taken' / 'below'}" in line for line in failures)
    assert any(line.startswith("FAIL  sessions: ") for line in failures)


def test_the_engine_that_runs_scripts_is_named(agentloop: Run) -> None:
    (line,) = [line for line in agentloop("doctor", "--offline").stdout.splitlines() if " scripts: " in line]
    assert re.search(r"scripts: quickjs(-ng)? \d+\.\d+\S* in a process of its own, isolation: ", line)


def test_each_setting_is_shown_with_who_chose_it(agentloop: Run, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    file = workspace / "agentloop.toml"
    file.write_text('model = "tiny"\napprove = "auto"\n"dangerously-allow-shell" = true\n', encoding="utf-8")
    config = tmp_path / "agentloop" / "config.toml"
    config.parent.mkdir()
    config.write_text('allow = ["*.shop.example"]\n', encoding="utf-8")
    env = {
        "AGENTLOOP_CHROMIUM": str(tmp_path / "none"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "AGENTLOOP_MAX_STEPS": "7",
        "AGENTLOOP_LLM_BASE_URL": "http://ann:hunter2@127.0.0.1:1/v1?token=hidden",
    }
    done = agentloop("doctor", "--offline", "--cwd", str(workspace), "--timeout", "90s", env=env)
    told = [line.split("settings: ")[1] for line in done.stdout.splitlines() if " settings: " in line]
    assert f"model = tiny, from {file}" in told
    assert f"allow = *.shop.example, from {config}" in told
    assert "max-steps = 7, from AGENTLOOP_MAX_STEPS" in told
    assert "timeout = 90, from --timeout" in told
    assert f"{file}: approve is ignored: a workspace may not choose this" in told
    assert f"{file}: dangerously-allow-shell is ignored: a workspace may not choose this" in told
    assert any(line.startswith("defaults: ") and "slow-mo 0" in line and len(line) < 200 for line in told)
    assert "hunter2" not in done.stdout and "hidden" not in done.stdout
    assert "questions are asked at a terminal and denied elsewhere" in done.stdout


def test_settings_that_cannot_be_read_fail(agentloop: Run, tmp_path: Path) -> None:
    (tmp_path / "agentloop.toml").write_text("max_steps = 3\n", encoding="utf-8")
    env = {"AGENTLOOP_CHROMIUM": str(tmp_path / "none")}
    done = agentloop("doctor", "--offline", "--cwd", str(tmp_path), env=env)
    assert done.returncode == 1
    assert re.search(r"^FAIL +settings: \S+agentloop\.toml: .*did you mean max-steps", done.stdout, re.MULTILINE)


def test_sessions_and_permissions(agentloop: Run, replies: Callable[..., str], tmp_path: Path) -> None:
    env = {"AGENTLOOP_CHROMIUM": str(tmp_path / "none"), "AGENTLOOP_DB": str(tmp_path / "x.db")}
    assert "x.db, made with the first session" in agentloop("doctor", "--offline", env=env).stdout
    assert not (tmp_path / "x.db").exists()
    agentloop("run", "x", "--llm", replies("DONE\nyes"), env=env)
    done = agentloop("doctor", "--offline", "--approve", "auto", env=env)
    assert "x.db, 1 kept" in done.stdout and verdicts(done.stdout)["permissions"] == "warn"
    (tmp_path / "x.db").write_text("this is no database at all, but text of some length", encoding="utf-8")
    done = agentloop("doctor", "--offline", env=env)
    assert done.returncode == 1 and verdicts(done.stdout)["sessions"] == "FAIL"
