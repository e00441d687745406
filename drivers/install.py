"""Getting a browser, by whichever way works here."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agentloop.drivers.locate import BrowserBinary, find_browser
from agentloop.errors import BrowserNotFound

__all__ = ["InstallStep", "install_browser", "install_steps", "run_steps"]

_BOUND_S = 600.0
_MANAGERS = (
    ("apt-get", ("apt-get", "install", "-y", "--no-install-recommends"), "chromium-headless-shell", "chromium"),
    ("dnf", ("dnf", "install", "-y"), "chromium-headless", "chromium"),
    ("pacman", ("pacman", "-S", "--noconfirm"), "chromium", "chromium"),
    ("apk", ("apk", "add"), "chromium", "chromium"),
    ("brew", ("brew", "install", "--cask"), "chromium", "chromium"),
)


@dataclass(frozen=True)
class InstallStep:
    """One way: the commands to run in order, and whether only root may."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    root: bool

    @property
    def line(self) -> str:
        """What a person would type."""
        prefix = "sudo " if self.root else ""
        return " && ".join(prefix + shlex.join(command) for command in self.commands)


def install_browser(
    *, yes: bool, ask: Callable[[str], bool], headed: bool = False, bound_s: float = _BOUND_S
) -> BrowserBinary:
    """The browser that is here already, else one that was got: Playwright's download, then the system's packages.

    `ask` is put the line that is about to be run and decides; `yes` answers for it. Nothing is ever run with
    sudo: what needs root and has not got it is left to the person. Raises `BrowserNotFound` with the
    lines to run when no way worked; each way ends after `bound_s` seconds.
    """
    if found := _found(headed):
        return found
    return run_steps(
        list(install_steps(headed=headed)),
        lambda: _found(headed),
        yes=yes,
        ask=ask,
        root=os.geteuid() == 0,
        bound_s=bound_s,
    )


def run_steps(
    steps: Sequence[InstallStep],
    found: Callable[[], BrowserBinary | None],
    *,
    yes: bool,
    ask: Callable[[str], bool],
    root: bool,
    bound_s: float,
) -> BrowserBinary:
    """Goes through the steps until `found` says that there is a browser; see `install_browser`."""
    failures: list[str] = []
    for step in steps:
        problem = _take(step, yes=yes, ask=ask, root=root, bound_s=bound_s)
        if problem is None and (binary := found()):
            return binary
        failures.append(f"{step.name}: {problem or 'it brought no browser'}")
    lines = "\n".join(f"  {step.line}" for step in steps)
    raise BrowserNotFound(f"No browser was installed ({'; '.join(failures)}). Run one of these:\n{lines}")


def _take(step: InstallStep, *, yes: bool, ask: Callable[[str], bool], root: bool, bound_s: float) -> str | None:
    if step.root and not root:
        return "it needs root"
    if not yes and not ask(step.line if not root else step.line.replace("sudo ", "")):
        return "it was declined"
    return _run(step, bound_s)


def install_steps(*, headed: bool = False, which: Callable[[str], str | None] = shutil.which) -> Iterator[InstallStep]:
    """The ways open on this machine, best first. `which` tells whether a command exists."""
    download = "chromium" if headed else "chromium-headless-shell"
    yield InstallStep("Playwright's download", ((sys.executable, "-m", "playwright", "install", download),), False)
    for manager, command, shell, full in _MANAGERS:
        if which(manager) is None:
            continue
        packages = (full,) if headed or shell == full else (shell, full)
        for package in packages:
            update = (("apt-get", "update"),) if manager == "apt-get" else ()
            yield InstallStep(f"{manager} {package}", (*update, (*command, package)), manager != "brew")


def _found(headed: bool) -> BrowserBinary | None:
    try:
        return find_browser(headed=headed)
    except BrowserNotFound:
        if os.environ.get("AGENTLOOP_CHROMIUM"):
            raise  # installing another one would not help
        return None


def _run(step: InstallStep, bound_s: float) -> str | None:
    """Runs the commands; the reason when one failed. What they say goes to our own stderr."""
    for command in step.commands:
        try:
            done = subprocess.run(command, stdout=sys.stderr.fileno(), stdin=subprocess.DEVNULL, timeout=bound_s)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode != 0:
            return f"{shlex.join(command)} ended with {done.returncode}"
    return None
