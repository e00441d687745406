"""A program of its own: runs one command and ends everything that the command has started.

It is the foster parent of all orphans below it, so what puts itself into the background, into
another session or out of its parent's hands is found and killed too. It works until the command's
own process ends, or until the other end of the control socket closes, however that comes about.
Standard library only.

    python -I -S -B supervisor.py CONTROL_FD FOLDER_FD

One line of JSON comes in: program, argv, env, memory_mb (or null), network. Two go out: `{"pid": …}`
or `{"failed": step, "errno": …}`, then `{"code": …, "signal": …, "left": …}`, where `left` counts
processes that could not be killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

__all__ = ["main"]

_SWEEP_S = 3.0
_FREEZES = 20
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_LINUX = sys.platform == "linux"


def main() -> None:
    """Serves the control socket named on the command line."""
    control = socket.socket(fileno=int(sys.argv[1]))
    folder = int(sys.argv[2])
    for fd in (control.fileno(), folder):
        if fd >= 0:
            os.set_inheritable(fd, False)
    order = _order(control)
    if order is None:
        return
    libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake = _wake_on_children()
    pid, failure = _start(order, folder, libc)
    if failure:
        _say(control, failure)
        return
    _let_go_of_streams()
    _say(control, {"pid": pid})
    code = _watch(pid, control, wake)
    left, code = _sweep(pid, code)
    _say(control, _ending(code, left))
    if left:
        _sweep(pid, 0)


def _order(control: socket.socket) -> Any:
    with control.makefile("rb") as lines:
        line = lines.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # nobody listens any more


def _wake_on_children() -> int:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reading


def _start(order: dict[str, Any], folder: int, libc: Any) -> tuple[int, dict[str, Any] | None]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, folder, libc, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as report:
        failure = report.read()
    return pid, json.loads(failure) if failure else None


def _become(order: dict[str, Any], folder: int, libc: Any, report: int) -> None:
    step = "start"
    try:
        os.setsid()
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if folder >= 0:
            os.fchdir(folder)
        _limit(order["memory_mb"])
        if not order["network"]:
            step = "network"
            _cut_off(libc)
        step = "start"
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            _default(number)
        argv = [os.fsencode(word) for word in order["argv"]]
        env = {os.fsencode(name): os.fsencode(value) for name, value in order["env"].items()}
        os.execve(os.fsencode(order["program"]), argv, env)
    except (OSError, ValueError) as error:
        os.write(report, json.dumps({"failed": step, "errno": getattr(error, "errno", None) or 0}).encode())
    finally:
        os._exit(127)


def _default(number: int) -> None:
    try:
        signal.signal(number, signal.SIG_DFL)
    except (OSError, ValueError):
        pass  # one of the C library's own


def _limit(memory_mb: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 1024 * 1024,) * 2)


def _cut_off(libc: Any) -> None:
    """Into a network of its own, with nothing in it; without root's rights by way of a user of its own."""
    if libc is None:
        raise OSError(95, "only Linux can do that")
    if libc.unshare(_CLONE_NEWNET) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _let_go_of_streams() -> None:
    # Or nobody would ever read the end of the command's output.
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _watch(pid: int, control: socket.socket, wake: int) -> int | None:
    """The exit code, or None when the other side has hung up first."""
    sources: list[Any] = [control, wake]
    while True:
        code = _reap(pid)
        if code is not None:
            return code
        ready = select.select(sources, [], [])[0]
        if wake in ready:
            os.read(wake, 4096)
        if control in ready and not control.recv(4096):
            return None


def _reap(pid: int) -> int | None:
    """Buries all dead children; the exit code of `pid` if it is among them."""
    code = None
    while True:
        try:
            dead, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if dead == 0:
            return code
        if dead == pid:
            code = os.waitstatus_to_exitcode(status)


def _sweep(pid: int, code: int | None) -> tuple[int, int | None]:
    """Kills all that is left, again and again until nothing is; the number of those that stay."""
    deadline = time.monotonic() + _SWEEP_S
    while True:
        _kill_group(pid, code)
        left = _freeze()
        for one in left:
            _signal(one, signal.SIGKILL)
        found = _reap(pid)
        code = found if code is None else code
        if not left and not _has_children():
            return 0, code
        if time.monotonic() > deadline:
            return len(left), code
        time.sleep(0.002)


def _kill_group(pid: int, code: int | None) -> None:
    # Once its leader is buried the number may be another's; on Linux whoever is left is found by descent.
    if code is None or (not _LINUX and _has_children()):
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # all gone, or of another user


def _freeze() -> set[int]:
    """All descendants, stopped, parents before children, so that none can start another behind our back."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return _freeze_by_scanning()
    found: set[int] = set()
    ahead = [os.getpid()]
    while ahead:
        for child in _children(ahead.pop()) - found:
            _signal(child, signal.SIGSTOP)
            found.add(child)
            ahead.append(child)
    return found


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found.update(map(int, file.read().split()))
    except OSError:
        pass  # gone since
    return found


def _freeze_by_scanning() -> set[int]:
    """The same where the system keeps no lists of children: from who is whose parent, until nobody is new."""
    stopped: set[int] = set()
    for _ in range(_FREEZES):
        fresh = _descendants() - stopped
        if not fresh:
            break
        for one in fresh:
            _signal(one, signal.SIGSTOP)
        stopped |= fresh
    return stopped


def _descendants() -> set[int]:
    if not _LINUX:
        return set()
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (parent := _living_parent(name)):
            children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    ahead = [os.getpid()]
    while ahead:
        for child in children.get(ahead.pop(), ()):
            found.add(child)
            ahead.append(child)
    return found


def _living_parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state in (b"Z", b"X") else int(parent)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or of another user


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _ending(code: int | None, left: int) -> dict[str, Any]:
    if code is None or code >= 0:
        return {"code": code, "signal": "", "left": left}
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return {"code": -1, "signal": name, "left": left}


if __name__ == "__main__":
    main()
