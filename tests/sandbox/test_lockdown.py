"""What is left to a process that has been locked down: tried from inside, by code that has taken it over."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentloop.sandbox.inside import lockdown
from agentloop.sandbox.inside.lockdown import ARCHITECTURES, filter_program

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the filter exists on Linux only")

# Runs as the code of a child that an attacker controls: everything is imported before the doors close.
ATTACK = """
import ctypes, importlib.util, json, mmap, os, resource, signal, socket, sys, threading, time
spec = importlib.util.spec_from_file_location("lockdown", sys.argv[1])
lockdown = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lockdown)
uid = int(sys.argv[2])
if uid:
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
libc = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))

def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def ptrace():
    call(libc.ptrace, 16, parent, 0, 0)

def executable():
    libc.mmap.restype = ctypes.c_long
    call(libc.mmap, None, 4096, 7, 0x22, -1, 0)

attempts = {
    "open": lambda: open("/etc/passwd"),
    "create": lambda: open("/tmp/agentloop-lockdown", "w"),
    "listdir": lambda: os.listdir("/"),
    "stat": lambda: os.stat("/etc/passwd"),
    "unlink": lambda: os.unlink("/tmp/agentloop-lockdown"),
    "chmod": lambda: os.chmod("/tmp", 0o777),
    "inet": lambda: socket.socket(),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "socketpair": socket.socketpair,
    "pipe": os.pipe,
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "thread": lambda: threading.Thread(target=int).start(),
    "kill": lambda: os.kill(parent, signal.SIGKILL),
    "tgkill": lambda: call(libc.tgkill, parent, parent, signal.SIGKILL),
    "pidfd": lambda: os.pidfd_open(parent),
    "ptrace": ptrace,
    "setuid": lambda: os.setuid(0),
    "setsid": os.setsid,
    "rlimits": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    "handler": lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
    "mmap_exec": executable,
    "mprotect_exec": lambda: call(libc.mprotect, ctypes.c_void_p(address), 4096, 5),
    "two_gigabytes": lambda: bytearray(2 << 30),
}
reached = lockdown.lock_down(memory_mb=64, stack_mb=64, cpu_s=60)
results = {"isolation": reached}
for name, attempt in attempts.items():
    try:
        attempt()
        results[name] = "done"
    except (OSError, MemoryError, RuntimeError, ValueError) as error:
        results[name] = type(error).__name__
results["urandom"] = len(os.urandom(8))
results["time"] = time.time() > 0
sys.stdout.write(json.dumps(results))
sys.stdout.flush()
os._exit(0)
"""


async def attack(uid: int) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", "-B", "-c", ATTACK, str(Path(lockdown.__file__)), str(uid)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("uid", [0, 65534])
async def test_everything_is_refused_to_a_child_that_was_taken_over(uid: int) -> None:
    if uid and os.getuid():
        pytest.skip("only root can become another user")
    results = await attack(uid)

    assert results.pop("isolation") == "seccomp"
    assert results.pop("urandom") == 8
    assert results.pop("time") is True
    assert len(results) == 24
    assert {name for name, result in results.items() if result == "done"} == set()


def run_filter(program: list[tuple[int, int, int, int]], data: dict[int, int]) -> int:
    """Interprets the few instructions that the filter uses."""
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code == 0x20:
            accumulator = data[constant]
        elif code == 0x06:
            return constant
        else:
            holds = accumulator == constant if code == 0x15 else bool(accumulator & constant)
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_by_its_instructions(machine: str) -> None:
    arch = ARCHITECTURES[machine]
    program = filter_program(arch)
    allow, refuse, kill = 0x7FFF0000, 0x00050001, 0x80000000

    def verdict(number: int, prot: int = 0, audit: int = arch.audit) -> int:
        return run_filter(program, {0: number, 4: audit, 32: prot})

    assert len(arch.allowed) == 27
    for number in range(600):
        if number in arch.allowed:
            assert verdict(number, 4) == allow
        elif number in arch.mapping:
            assert [verdict(number, prot) for prot in (0, 1, 3, 4, 5, 7)] == [allow] * 3 + [refuse] * 3
        else:
            assert verdict(number) == refuse
    assert verdict(arch.allowed[0], audit=0x40000003) == kill
    assert verdict(arch.allowed[0] | 0x40000000) == refuse
    assert len(program) < 256
