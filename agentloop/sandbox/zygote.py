"""Where children come from: a zygote that belongs to this process, or one interpreter for each child."""

from __future__ import annotations

import atexit
import importlib.machinery
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from agentloop.errors import InvalidInput, SandboxError

__all__ = ["Engine", "Launcher", "SoloLauncher", "Zygote", "engine_files", "launcher_for"]

Engine = Literal["auto", "legacy"]
"""Which JavaScript engine is acceptable: "legacy" also takes one older than 2023."""

_CONTROL_TIMEOUT_S: Final = 10.0


class Launcher(Protocol):
    """`launch` starts a child and returns the host's end of its socket. Raises `SandboxError`."""

    def launch(self) -> socket.socket: ...


def engine_files(engine: Engine, folders: Sequence[str] | None = None) -> tuple[str, ...]:
    """The engine's extension modules in the folders (None = `sys.path`), the preferred one first.

    The maintained engine and the old one are both called `_quickjs`; when both are installed, Python
    itself would take the old one, whose file name is the more specific.
    """
    found = [
        str(path)
        for folder in (sys.path if folders is None else folders)
        for suffix in importlib.machinery.EXTENSION_SUFFIXES
        if (path := Path(folder or ".").absolute() / f"_quickjs{suffix}").is_file()
    ]
    stable_abi_first = engine == "auto"
    return tuple(sorted(found, key=lambda path: (".abi3." in path) != stable_abi_first))


def launcher_for(engine: Engine) -> Launcher:
    """The process's own zygote for this engine, or a launcher of single children where nothing can be forked."""
    if engine not in ("auto", "legacy"):
        raise InvalidInput(f'engine is "auto" or "legacy", not {engine!r}')
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return SoloLauncher(engine)
    return _zygotes.of(engine)


def _command(role: str, engine: Engine, **more: Any) -> list[str]:
    program = resources.files("agentloop.sandbox.inside") / "__main__.py"
    options = {"candidates": engine_files(engine), "legacy": engine == "legacy", **more}
    return [sys.executable, "-I", "-S", "-B", str(program), role, json.dumps(options)]


def _start(command: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    try:
        return subprocess.Popen(command, **{**quiet, "cwd": os.path.abspath(os.sep), **more})
    except OSError as error:
        raise SandboxError(f"the sandbox's interpreter {command[0]} could not be started: {error}") from error


class Zygote:
    """One process that has loaded the engine and forks a child for each `launch`. Usable from any thread.

    Started when first needed and again when it was killed; ends with this process, however that ends.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The zygote's process, or None while there is none."""
        return self._process.pid if self._process else None

    def launch(self) -> socket.socket:
        """Has a child forked; whether it lives shows on the returned socket."""
        here, there = socket.socketpair()
        try:
            with self._lock, there:
                self._hand_over(there)
        except BaseException:
            here.close()
            raise
        return here

    def _hand_over(self, there: socket.socket) -> None:
        for _ in range(2):
            control = self._control or self._begin()
            try:
                socket.send_fds(control, [b"f"], [there.fileno()])
                return
            except OSError:  # it was killed since
                self._end()
        raise SandboxError("the sandbox's zygote ends as soon as it is started")

    def _begin(self) -> socket.socket:
        here, there = socket.socketpair()
        with there:
            command = _command("zygote", self._engine, descriptor=there.fileno())
            self._process = _start(command, pass_fds=[there.fileno()], env={}, start_new_session=True)
        here.settimeout(_CONTROL_TIMEOUT_S)
        self._control = here
        return here

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None

    def close(self) -> None:
        """Ends the zygote and every child of it."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """For a forked copy of this process: lets go of the parent's zygote without touching it."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.returncode = 0  # not ours to wait for
        self._control = self._process = None


class SoloLauncher:
    """Starts an interpreter for every child: slower, but needs neither fork nor descriptor passing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def launch(self) -> socket.socket:
        """Starts one child."""
        here, there = socket.socketpair()
        try:
            with there:
                self._process_around(there)
        except BaseException:
            here.close()
            raise
        return here

    def _process_around(self, there: socket.socket) -> None:
        if sys.platform != "win32":
            command = _command("solo", self._engine, descriptor=there.fileno())
            process = _start(command, pass_fds=[there.fileno()], env={}, start_new_session=True)
        else:
            process = _start(_command("solo", self._engine), env=_windows_environment(), stdin=subprocess.PIPE)
            assert process.stdin is not None
            process.stdin.write(there.share(process.pid))
            process.stdin.close()
        # Waited for in the background: a child outlives no host, but its exit status has to be collected.
        threading.Thread(target=process.wait, daemon=True, name="agentloop-sandbox-wait").start()


def _windows_environment() -> dict[str, str]:
    # Without SystemRoot a Windows process cannot open a socket.
    return {name: value for name, value in os.environ.items() if name.upper() == "SYSTEMROOT"}


class _Zygotes:
    """This process's zygotes, one for each kind of engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[Engine, Zygote] = {}

    def of(self, engine: Engine) -> Zygote:
        with self._lock:
            if not self._all:
                atexit.register(self._close)
                os.register_at_fork(after_in_child=self._forget)
            return self._all.setdefault(engine, Zygote(engine))

    def _close(self) -> None:
        for zygote in self._all.values():
            zygote.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for zygote in self._all.values():
            zygote.forget()


# Processes belong to a process, so their register does too.
_zygotes = _Zygotes()
