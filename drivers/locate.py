"""Where a usable Chromium is on this machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from agentloop.errors import BrowserNotFound

__all__ = ["SYSTEM_FOLDERS", "BrowserBinary", "BrowserKind", "find_browser", "search"]

BrowserKind = Literal["headless-shell", "chromium"]

_VARIABLE = "AGENTLOOP_CHROMIUM"
_SHELL_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell")
SYSTEM_FOLDERS = ("/usr/lib/chromium", "/usr/lib64/chromium", "/usr/lib/chromium-browser", "/opt/google/chrome")
"""Where packages put the executable itself; what they put on PATH may be a shell script around it."""
_CHROMIUM_NAMES = ("chromium", "chromium-browser")
_CHROME_NAMES = ("google-chrome", "google-chrome-stable", "chrome")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


@dataclass(frozen=True, kw_only=True)
class BrowserBinary:
    """An executable Chromium. A headless shell is smaller and faster and cannot show windows."""

    path: str
    kind: BrowserKind


def find_browser(*, headed: bool = False, environ: Mapping[str, str] | None = None) -> BrowserBinary:
    """The first usable Chromium: AGENTLOOP_CHROMIUM, Playwright's own, a headless shell, Chromium, Chrome.

    `headed` asks for one that can show windows. `environ` stands in for the process environment.
    Raises `BrowserNotFound`, which names every place tried.
    """
    env = os.environ if environ is None else environ
    if chosen := env.get(_VARIABLE):
        return _chosen(chosen, headed=headed)
    return search(env, headed=headed)


def search(env: Mapping[str, str], *, headed: bool, folders: Sequence[str] = SYSTEM_FOLDERS) -> BrowserBinary:
    """The first usable Chromium of Playwright's store, of `folders` and of PATH, without AGENTLOOP_CHROMIUM."""
    tried: list[str] = []
    for place, kind in _places(env, headed=headed, folders=folders):
        if _runs(place):
            return BrowserBinary(path=str(place), kind=kind)
        tried.append(str(place))
    raise BrowserNotFound(_not_found(tried, headed=headed))


def _chosen(path: str, *, headed: bool) -> BrowserBinary:
    place = Path(path).expanduser()
    if not _runs(place):
        raise BrowserNotFound(f"{_VARIABLE} is {path}, which is not an executable file. Correct it or unset it.")
    kind = _kind_of(place)
    if headed and kind == "headless-shell":
        raise BrowserNotFound(
            f"{_VARIABLE} is {path}, a headless shell, which cannot show windows. "
            "Point it at a full Chromium or leave --headed out."
        )
    return BrowserBinary(path=str(place), kind=kind)


def _kind_of(place: Path) -> BrowserKind:
    return "headless-shell" if "headless" in place.name else "chromium"


def _runs(place: Path) -> bool:
    return place.is_file() and os.access(place, os.X_OK)


def _places(env: Mapping[str, str], *, headed: bool, folders: Sequence[str]) -> Iterator[tuple[Path, BrowserKind]]:
    if not headed:
        yield from ((place, "headless-shell") for place in _managed(env, "chromium-headless-shell"))
    yield from ((place, "chromium") for place in _managed(env, "chromium"))
    if not headed:
        yield from ((place, "headless-shell") for place in _named(env, _SHELL_NAMES, folders))
    yield from ((place, "chromium") for place in _named(env, _CHROMIUM_NAMES, folders))
    yield from ((place, "chromium") for place in _named(env, _CHROME_NAMES, folders))
    if sys.platform == "darwin":
        yield from ((Path(place), "chromium") for place in _APPLICATIONS)


def _named(env: Mapping[str, str], names: Sequence[str], folders: Sequence[str]) -> Iterator[Path]:
    # The folders come first: a script on PATH costs a quarter of a second at each start.
    for name in names:
        yield from (Path(folder) / name for folder in folders)
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        yield Path(found) if found else Path(name)


def _managed(env: Mapping[str, str], browser: str) -> Iterator[Path]:
    """Where Playwright's own download of `browser` would be; nothing when its files cannot be read."""
    revision = _revision(browser)
    if revision is None:
        return
    folder = _store(env) / f"{browser.replace('-', '_')}-{revision}"
    names = _SHELL_NAMES if browser != "chromium" else ("chrome", "Chromium", "Google Chrome for Testing")
    for name in names:
        yield from sorted(folder.glob(f"*/{name}"))
        yield from sorted(folder.glob(f"*/*.app/Contents/MacOS/{name}"))
    yield folder


def _store(env: Mapping[str, str]) -> Path:
    chosen = env.get("PLAYWRIGHT_BROWSERS_PATH")
    if chosen and chosen != "0":
        return Path(chosen)
    if chosen == "0":
        return _package() / "driver" / "package" / ".local-browsers"
    home = Path(env.get("HOME", "~")).expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ms-playwright"
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "ms-playwright"


def _package() -> Path:
    spec = find_spec("playwright")
    return Path(spec.origin).parent if spec and spec.origin else Path("playwright")


def _revision(browser: str) -> str | None:
    try:
        listing = json.loads((_package() / "driver" / "package" / "browsers.json").read_text())
    except (OSError, ValueError):
        return None
    return next((entry["revision"] for entry in listing["browsers"] if entry["name"] == browser), None)


def _not_found(tried: list[str], *, headed: bool) -> str:
    what = "Chromium that can show windows" if headed else "Chromium"
    places = ", ".join(dict.fromkeys([_VARIABLE, *tried]))
    return (
        f"No {what} was found. Tried: {places}. Ways on: run `agentloop install-browser`, "
        f"install your system's chromium package, or set {_VARIABLE} to an executable."
    )
