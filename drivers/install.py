"""Getting a Chromium onto this machine, by whichever way works."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentloop.drivers.locate import BrowserBinary, find_browser
from agentloop.errors import BrowserNotFound

__all__ = ["InstallWay", "browser_version", "carry_out", "install_ways"]

_VERSION_S = 30.0
_INSTALL_S = 1800.0
_MANAGERS: Mapping[str, Sequence[Sequence[str]]] = {
    "apt-get": (("apt-get", "update"), ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")),
    "dnf": (("dnf", "install", "--assumeyes", "chromium"),),
    "zypper": (("zypper", "--non-interactive", "install", "chromium"),),
    "pacman": (("pacman", "--sync", "--refresh", "--noconfirm", "chromium"),),
    "apk": (("apk", "add", "chromium"),),
}


@dataclass(frozen=True, kw_only=True)
class InstallWay:
    """One way to get a browser: what it does, the programs it runs one after the other, and whether they may run.

    `allowed` is False where root is needed and this process is not root: nothing here ever asks for more rights.
    """

    description: str
    commands: Sequence[Sequence[str]]
    allowed: bool = True

    @property
    def line(self) -> str:
        """What a person would type."""
        sudo = "" if self.allowed else "sudo "
        return " && ".join(sudo + shlex.join(command) for command in self.commands)


def install_ways(*, environ: Mapping[str, str] | None = None, root: bool | None = None) -> list[InstallWay]:
    """The ways that this machine has, the one that needs least first: Playwright's download, the package manager.

    `environ` stands in for the process environment, `root` for what the process may do.
    """
    env = os.environ if environ is None else environ
    is_root = (hasattr(os, "geteuid") and os.geteuid() == 0) if root is None else root
    ways = [
        InstallWay(
            description="download Playwright's own headless Chromium (about 100 MB) into your cache",
            commands=((sys.executable, "-m", "playwright", "install", "chromium-headless-shell"),),
        )
    ]
    for name, commands in _MANAGERS.items():
        if shutil.which(name, path=env.get("PATH", os.defpath)):
            description = f"install your system's chromium package with {name}"
            ways.append(InstallWay(description=description, commands=commands, allowed=is_root))
            break
    return ways


async def carry_out(
    way: InstallWay, *, on_line: Callable[[str], None], environ: Mapping[str, str] | None = None
) -> BrowserBinary:
    """Runs the way's programs and returns the browser that is there afterwards, tried out once.

    `on_line` gets what they print. Raises `BrowserNotFound` when a program fails, takes more than half an
    hour, or leaves no browser that starts.
    """
    env = dict(os.environ if environ is None else environ)
    for command in way.commands:
        code = await _run(command, on_line=on_line, env=env)
        if code != 0:
            raise BrowserNotFound(f"`{shlex.join(command)}` ended with {code}")
    binary = find_browser(environ=env)
    await browser_version(binary)
    return binary


async def browser_version(binary: BrowserBinary) -> str:
    """What the browser calls itself. Raises `BrowserNotFound` when it does not start: libraries may be missing."""
    lines: list[str] = []
    code = await _run((binary.path, "--version"), on_line=lines.append, env=dict(os.environ), seconds=_VERSION_S)
    if code != 0 or not lines:
        raise BrowserNotFound(
            f"{binary.path} is there but does not start: {' '.join(lines)[:300] or f'it ended with {code}'}"
        )
    return lines[-1]


async def _run(
    command: Sequence[str], *, on_line: Callable[[str], None], env: Mapping[str, str], seconds: float = _INSTALL_S
) -> int:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise BrowserNotFound(f"`{shlex.join(command)}` cannot be run: {error}") from error
    try:
        async with asyncio.timeout(seconds):
            await _read(process, on_line)
            return await process.wait()
    except TimeoutError:
        raise BrowserNotFound(f"`{shlex.join(command)}` took more than {seconds:g} s") from None
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()


async def _read(process: asyncio.subprocess.Process, on_line: Callable[[str], None]) -> None:
    assert process.stdout is not None
    rest = ""
    # Progress bars return to the start of their line: each state of one counts as a line.
    while data := await process.stdout.read(4096):
        *lines, rest = (rest + data.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
        for line in filter(str.strip, lines):
            on_line(line)
    if rest.strip():
        on_line(rest)


def _end(process: asyncio.subprocess.Process) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass  # it ended meanwhile
