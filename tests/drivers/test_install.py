"""Getting a browser: asks first, never by sudo, and says what to type when it cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentloop.drivers import find_browser, install_browser
from agentloop.drivers.install import InstallStep, install_steps, run_steps
from agentloop.drivers.locate import BrowserBinary
from agentloop.errors import BrowserNotFound


def never(line: str) -> bool:
    raise AssertionError(f"nothing had to be asked: {line}")


def test_a_browser_that_is_there_is_success_at_once() -> None:
    assert install_browser(yes=False, ask=never) == find_browser()


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "sudo apt-get update && sudo apt-get install -y --no-install-recommends chromium-headless-shell"),
        ("dnf", "sudo dnf install -y chromium-headless"),
        ("pacman", "sudo pacman -S --noconfirm chromium"),
        ("apk", "sudo apk add chromium"),
        ("brew", "brew install --cask chromium"),
    ],
)
def test_the_line_for_each_package_manager(manager: str, line: str) -> None:
    steps = list(install_steps(which=lambda name: name if name == manager else None))
    assert steps[0].line.endswith("-m playwright install chromium-headless-shell")
    assert steps[1].line == line


def test_headed_installs_a_full_browser() -> None:
    steps = list(install_steps(headed=True, which=lambda name: name if name == "apt-get" else None))
    assert [step.line.rpartition(" ")[2] for step in steps] == ["chromium", "chromium"]


class Ways:
    """Steps that touch a file, and a search that finds it."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "browser"
        self.asked: list[str] = []
        self.fails = InstallStep("one", (("false",),), False)
        self.works = InstallStep("two", (("true",), ("touch", str(self.mark))), False)
        self.root = InstallStep("three", (("touch", str(self.mark)),), True)

    def found(self) -> BrowserBinary | None:
        return BrowserBinary(path=str(self.mark), kind="chromium") if self.mark.exists() else None

    def ask(self, line: str) -> bool:
        self.asked.append(line)
        return True


def test_the_next_way_is_tried_when_one_fails(tmp_path: Path) -> None:
    ways = Ways(tmp_path)
    found = run_steps([ways.fails, ways.works], ways.found, yes=False, ask=ways.ask, root=False, bound_s=20)
    assert found.path == str(ways.mark)
    assert ways.asked == ["false", f"true && touch {ways.mark}"]


def test_yes_answers_the_question(tmp_path: Path) -> None:
    ways = Ways(tmp_path)
    run_steps([ways.works], ways.found, yes=True, ask=never, root=False, bound_s=20)
    assert ways.mark.exists()


def test_what_is_declined_is_not_run(tmp_path: Path) -> None:
    ways = Ways(tmp_path)
    with pytest.raises(BrowserNotFound, match="declined"):
        run_steps([ways.works], ways.found, yes=False, ask=lambda line: False, root=False, bound_s=20)
    assert not ways.mark.exists()


def test_what_needs_root_is_told_and_not_run(tmp_path: Path) -> None:
    ways = Ways(tmp_path)
    with pytest.raises(BrowserNotFound) as caught:
        run_steps([ways.root], ways.found, yes=True, ask=never, root=False, bound_s=20)
    assert f"sudo touch {ways.mark}" in str(caught.value)
    assert not ways.mark.exists()
    assert run_steps([ways.root], ways.found, yes=True, ask=never, root=True, bound_s=20).path == str(ways.mark)


def test_a_way_that_hangs_ends_at_its_bound(tmp_path: Path) -> None:
    ways = Ways(tmp_path)
    hangs = InstallStep("slow", (("sleep", "60"),), False)
    with pytest.raises(BrowserNotFound, match="timed out"):
        run_steps([hangs], ways.found, yes=True, ask=never, root=False, bound_s=0.2)


def test_a_wrong_variable_is_told_instead_of_installing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environ, "AGENTLOOP_CHROMIUM", str(tmp_path / "absent"))
    with pytest.raises(BrowserNotFound, match="AGENTLOOP_CHROMIUM"):
        install_browser(yes=True, ask=never)
