from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.stores import JoinedStore, SQLiteStore, Store
from agentloop.testing.store_contract import StoreContract
from examples.own_store import JsonLines


class TestTheStoreOfTheExample(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with JoinedStore(steps=JsonLines(tmp_path), rest=SQLiteStore(tmp_path / "rest.db")) as store:
            yield store


async def test_the_example_runs(repository: Path, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(repository / "examples" / "own_store.py"),
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(repository), "PYTHONWARNINGS": "error"},
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
    assert process.returncode == 0, errors.decode()
    assert "completed: 42, kept as user, execute_js, " in output.decode()
    assert not os.listdir(tmp_path)


def test_the_example_fits_on_a_screen(repository: Path) -> None:
    assert len((repository / "examples" / "own_store.py").read_text("utf-8").splitlines()) <= 80
