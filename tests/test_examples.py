"""Each example runs as a stranger would run it, on local servers only."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

SAYS = {
    "embed": "completed: This project has no skills.",
    "hello": "completed: The cheapest lamp is Birch lamp 138: 50 EUR.",
    "openapi": "completed: 200: red lamp under 50, green lamp under 50",
    "own_driver": "['Oak lamp 38', 'Oak lamp 118', 'Oak lamp 198']",
    "own_pack": "completed: 12 socks, 0 hats",
    "own_store": "completed: 42, kept as user, execute_js, ",
}
RUN_ELSEWHERE = {"demo"}
LONGER = {"own_store": 80}
"""Lines of an example that has three protocols to show."""


async def run(file: Path, *words: str, home: Path) -> tuple[int | None, str, str]:
    """Exit code, output and errors of an example, in a folder and without a model's key."""
    root = file.parent.parent
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(file),
        *words,
        cwd=home,
        env=os.environ | {"HOME": str(home), "PYTHONPATH": str(root), "PYTHONWARNINGS": "error"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(50):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode(), errors.decode()


def test_every_example_is_run(repository: Path) -> None:
    assert {file.stem for file in (repository / "examples").glob("*.py")} <= SAYS.keys() | RUN_ELSEWHERE


@pytest.mark.parametrize("name", sorted(SAYS))
async def test_an_example_does_what_it_shows(name: str, repository: Path, tmp_path: Path) -> None:
    code, output, errors = await run(repository / "examples" / f"{name}.py", home=tmp_path)
    assert code == 0, errors
    assert SAYS[name] in output
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_fits_on_a_screen(name: str, repository: Path) -> None:
    assert len((repository / "examples" / f"{name}.py").read_text("utf-8").splitlines()) <= LONGER.get(name, 60)


async def test_the_embedded_engine_knows_the_project(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Tag first.")
    for name in ("release", "fetch"):
        (tmp_path / ".agentloop" / "skills" / name).mkdir(parents=True)
        (tmp_path / ".agentloop" / "skills" / name / "SKILL.md").write_text(f"Do the {name}.")
    code, output, errors = await run(repository / "examples" / "embed.py", "How", "so?", home=tmp_path)
    assert (code, output) == (0, "completed: release: Do the release.\n")
    assert errors.splitlines() == [
        "warning: 'fetch' is left out: its name is taken by a function of pack 'fetch'; rename it"
    ]
