"""What a wheel holds: everything the package needs when installed, nothing of its tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.source import ROOT

SHIPPED = {".py", ".js", ".css", ".md", ".ts", ".html", ".json", ".jsonl", ".svg", ".typed"}
SOURCE = ("agentloop", "browser", "drivers", "fixtures", "LICENSE", "README.md", "pyproject.toml")
MUST_HAVE = (
    "agentloop/py.typed",
    "agentloop/browser/base.py",
    "agentloop/browser/marks.js",
    "agentloop/browser/browser.d.ts",
    "agentloop/drivers/playwright_driver.py",
    "agentloop/context/prompts/feedback.md",
    "agentloop/sandbox/inside/child.py",
    "agentloop/testing/store_contract.py",
)
READ_ONE = """
import agentloop, agentloop.browser, agentloop.drivers, agentloop.stores
from importlib.resources import files
assert agentloop.__file__.startswith({root!r}), agentloop.__file__
assert files("agentloop.browser").joinpath("marks.js").read_text(encoding="utf-8")
from agentloop.context.feedback import say
assert say("empty")
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from: a build writes beside what it reads."""
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCE:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    run = subprocess.run(build, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def expected(source: Path) -> set[str]:
    """Files of the package by their place in a wheel, the linked folders under their links."""
    places = {
        "agentloop": source / "agentloop",
        "agentloop/browser": source / "browser",
        "agentloop/drivers": source / "drivers",
        "agentloop/testing/sites": source / "fixtures" / "sites",
    }
    return {
        f"{place}/{path.relative_to(folder).as_posix()}"
        for place, folder in places.items()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in SHIPPED
    }


def test_every_file_of_the_package_is_in(source: Path, names: set[str]) -> None:
    assert sorted(expected(source) - names) == []
    assert sorted(set(MUST_HAVE) - names) == []


def test_every_file_of_the_package_is_of_a_shipped_kind() -> None:
    folders = (ROOT / "agentloop", ROOT / "browser", ROOT / "drivers", ROOT / "fixtures" / "sites")
    strays = {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in SHIPPED and "__pycache__" not in path.parts
    }
    assert not strays, "add their suffix to package-data in pyproject.toml and to SHIPPED"


def test_tests_and_tools_stay_out(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"agentloop"}
    assert not [name for name in names if name.endswith((".pyc", ".map"))]


def test_an_unpacked_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    root = str(tmp_path / "site")
    code = f"import sys; sys.path.insert(0, {root!r})\n" + READ_ONE.format(root=root)
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
