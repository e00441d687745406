"""Where a browser is looked for, and what is said when there is none."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentloop.drivers import find_browser
from agentloop.errors import BrowserNotFound


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def revision(browser: str) -> str:
    spec = find_spec("playwright")
    assert spec is not None and spec.origin is not None
    listing = json.loads((Path(spec.origin).parent / "driver/package/browsers.json").read_text())
    return str(next(entry["revision"] for entry in listing["browsers"] if entry["name"] == browser))


def test_the_variable_comes_first(tmp_path: Path) -> None:
    chosen = executable(tmp_path / "my-chrome")
    found = find_browser(environ={"AGENTLOOP_CHROMIUM": str(chosen)})
    assert (found.path, found.kind) == (str(chosen), "chromium")


def test_a_wrong_variable_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(BrowserNotFound, match="not an executable"):
        find_browser(environ={"AGENTLOOP_CHROMIUM": str(tmp_path / "absent")})


def test_a_headless_shell_cannot_be_headed(tmp_path: Path) -> None:
    shell = executable(tmp_path / "chrome-headless-shell")
    environ = {"AGENTLOOP_CHROMIUM": str(shell)}
    assert find_browser(environ=environ).kind == "headless-shell"
    with pytest.raises(BrowserNotFound, match="cannot show windows"):
        find_browser(headed=True, environ=environ)


def test_playwrights_own_comes_next(tmp_path: Path) -> None:
    shell = f"chromium_headless_shell-{revision('chromium-headless-shell')}"
    own = executable(tmp_path / shell / "chrome-linux" / "headless_shell")
    full = executable(tmp_path / f"chromium-{revision('chromium')}" / "chrome-linux" / "chrome")
    environ = {"PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    assert find_browser(environ=environ).path == str(own)
    assert find_browser(headed=True, environ=environ).path == str(full)


def test_the_one_on_this_machine_is_found() -> None:
    assert Path(find_browser().path).is_file()


def test_what_was_tried_is_told(tmp_path: Path) -> None:
    from agentloop.drivers.locate import search

    with pytest.raises(BrowserNotFound) as caught:
        search({"HOME": str(tmp_path), "PATH": str(tmp_path)}, headed=False, folders=(str(tmp_path / "lib"),))
    text = str(caught.value)
    for words in ("AGENTLOOP_CHROMIUM", str(tmp_path / "lib"), "google-chrome", "agentloop install-browser"):
        assert words in text


def test_a_shell_is_preferred_to_a_full_browser(tmp_path: Path) -> None:
    from agentloop.drivers.locate import search

    folder = tmp_path / "lib"
    full = executable(folder / "chromium")
    shell = executable(folder / "chromium-headless-shell")
    environ = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    assert search(environ, headed=False, folders=(str(folder),)).path == str(shell)
    assert search(environ, headed=True, folders=(str(folder),)).path == str(full)
