from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_where_there_is_one_nothing_is_done(agentloop: Run, tmp_path: Path) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\n", encoding="utf-8")
    browser.chmod(0o755)
    done = agentloop("install-browser", env={"AGENTLOOP_CHROMIUM": str(browser)})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"A browser is here: {browser}\n", "")


def test_a_wrong_setting_is_not_mended_by_installing(agentloop: Run, tmp_path: Path) -> None:
    done = agentloop("install-browser", "--yes", env={"AGENTLOOP_CHROMIUM": str(tmp_path / "none")})
    assert (done.returncode, done.stdout) == (3, "")
    assert "AGENTLOOP_CHROMIUM" in done.stderr
