from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, **(extra or {})}


async def finished(repository: Path, *words: str, env: Mapping[str, str] | None = None) -> tuple[int | None, str, str]:
    """Runs the command while this process serves it; exit code, standard output and error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentloop", *words),
        cwd=repository,
        env=environment(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@pytest.fixture(scope="session")
def agentloop(repository: Path) -> Run:
    """Runs the command in a process of its own: `agentloop(*words, stdin=None, env=None)`."""

    def run(*words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agentloop", *words],
            cwd=repository,
            env=environment(env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


@pytest.fixture
def replies(tmp_path: Path) -> Callable[..., str]:
    """Writes replies to a file and gives the value of `--llm`."""

    def write(*lines: Any) -> str:
        path = tmp_path / "replies.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return f"scripted:{path}"

    return write
