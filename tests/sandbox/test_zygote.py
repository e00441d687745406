from __future__ import annotations

import importlib.machinery
from pathlib import Path

import pytest

from agentloop.errors import SandboxError
from agentloop.sandbox import open_sandbox
from agentloop.sandbox.inside.engine import EngineError, load_engine
from agentloop.sandbox.zygote import engine_files, launcher_for
from benchmarks.hostile import ENGINE


def test_the_maintained_engine_comes_first_unless_the_old_one_is_wanted(tmp_path: Path) -> None:
    specific, stable, *_ = importlib.machinery.EXTENSION_SUFFIXES
    for suffix in (specific, stable):
        (tmp_path / f"_quickjs{suffix}").touch()
    folders = [str(tmp_path / "absent"), str(tmp_path)]

    assert ".abi3." in stable
    assert engine_files("auto", folders) == tuple(str(tmp_path / f"_quickjs{s}") for s in (stable, specific))
    assert engine_files("legacy", folders) == tuple(str(tmp_path / f"_quickjs{s}") for s in (specific, stable))
    assert engine_files("auto", []) == ()


def test_engines_that_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "_quickjs.so"
    broken.write_bytes(b"no library")

    with pytest.raises(EngineError, match="pip install quickjs-ng"):
        load_engine([], legacy=False)
    with pytest.raises(EngineError, match="could not be loaded"):
        load_engine([str(broken)], legacy=False)


@pytest.mark.skipif(ENGINE == "auto", reason="needs the old engine alone")
async def test_an_old_engine_is_used_only_when_it_is_asked_for() -> None:
    with pytest.raises(SandboxError, match=r'older than 2023.*engine="legacy"'):
        async with open_sandbox(engine="auto"):
            pass


async def test_one_zygote_for_each_process_and_engine() -> None:
    launcher = launcher_for(ENGINE)
    async with open_sandbox(engine=ENGINE) as one, open_sandbox(engine=ENGINE) as two:
        assert one.pid != two.pid
    assert launcher_for(ENGINE) is launcher
