"""Takes from the child everything that running a script does not need.

On Linux: resource limits, `no_new_privs`, no core dumps or tracing, and a system call filter that
lets through about two dozen calls and answers EPERM to the rest, so that a script which broke the
engine still cannot open, connect, fork, exec, signal or map executable memory. Elsewhere less; the
level reached is returned, never assumed.
"""

import os
import struct
import sys
from functools import cache
from typing import Any, Final, NamedTuple

__all__ = ["ARCHITECTURES", "Architecture", "die_with_parent", "filter_program", "lock_down", "prepare"]

_MB: Final = 1 << 20
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2

_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_SET: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_EPERM: Final = 0x00050001
_KILL: Final = 0x80000000
_PROT_EXEC: Final = 4
_OFFSET_NUMBER: Final = 0
_OFFSET_ARCH: Final = 4
_OFFSET_PROT: Final = 16 + 8 * 2


class Architecture(NamedTuple):
    """The filter's numbers for one machine type: its audit id, calls let through, and the calls
    whose third argument may not ask for executable memory."""

    audit: int
    allowed: tuple[int, ...]
    mapping: tuple[int, ...]


# Numbers on x86_64 and aarch64. recvfrom and sendto are what a connected socket's recv and send are made of.
_ALLOWED: Final = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "lseek": (8, 62),
    "recvfrom": (45, 207),
    "sendto": (44, 206),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "brk": (12, 214),
    "madvise": (28, 233),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "restart_syscall": (219, 128),
    "sigaltstack": (131, 132),
    "sched_yield": (24, 124),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "futex": (202, 98),
    "getrandom": (318, 278),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
_MAPPING: Final = {"mmap": (9, 222), "mprotect": (10, 226)}


def _architecture(audit: int, column: int) -> Architecture:
    allowed, mapping = (tuple(pair[column] for pair in table.values()) for table in (_ALLOWED, _MAPPING))
    return Architecture(audit, allowed, mapping)


ARCHITECTURES: Final = {"x86_64": _architecture(0xC000003E, 0), "aarch64": _architecture(0xC00000B7, 1)}
"""Keyed by `os.uname().machine`."""


def filter_program(arch: Architecture) -> list[tuple[int, int, int, int]]:
    """The filter as classic BPF instructions (code, jump if true, jump if false, constant)."""
    program = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_JUMP_EQUAL, 1, 0, arch.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    tests = [(number, 2) for number in arch.mapping] + [(number, 1) for number in arch.allowed]
    # Behind the tests: refuse, allow, then the check of a mapping's protection bits.
    for left, (number, target) in zip(range(len(tests) - 1, -1, -1), tests, strict=True):
        program.append((_JUMP_EQUAL, left + target, 0, number))
    program += [
        (_RETURN, 0, 0, _EPERM),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _OFFSET_PROT),
        (_JUMP_SET, 0, 1, _PROT_EXEC),
        (_RETURN, 0, 0, _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return program


def prepare() -> None:
    """Does once, before any fork, what every child would else do after its own."""
    if sys.platform.startswith("linux"):
        import resource  # noqa: F401

        _compiled(os.uname().machine)
        _library()


def lock_down(*, memory_mb: int, stack_mb: int, cpu_s: int) -> str:
    """Locks this process down for good; returns "seccomp", "rlimits" or "process"."""
    limited = _limit_resources(memory_mb, stack_mb, cpu_s)
    if sys.platform.startswith("linux") and _filter_calls():
        return "seccomp"
    return "rlimits" if limited else "process"


def die_with_parent() -> None:
    """Linux: have the kernel kill this process when the one that forked it ends."""
    if sys.platform.startswith("linux"):
        _prctl(_PR_SET_PDEATHSIG, 9)


def _limit_resources(memory_mb: int, stack_mb: int, cpu_s: int) -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    # The engine counts its own memory; the address space bounds what escapes its count.
    address_space = 3 * memory_mb * _MB + 256 * _MB
    _set(resource, "RLIMIT_AS", address_space)
    _set(resource, "RLIMIT_STACK", stack_mb * _MB)
    _set(resource, "RLIMIT_CPU", cpu_s)
    for name in ("RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NPROC"):
        _set(resource, name, 0)
    return _set(resource, "RLIMIT_NOFILE", 16)


def _set(resource: Any, name: str, value: int) -> bool:
    limit = getattr(resource, name, None)
    if limit is None:
        return False
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(limit, (value, value))
    except (OSError, ValueError):  # a limit this system knows by name only
        return False
    return True


def _filter_calls() -> bool:
    program = _compiled(os.uname().machine)
    _prctl(_PR_SET_DUMPABLE, 0)
    if not _prctl(_PR_SET_NO_NEW_PRIVS, 1) or program is None:
        return False
    import ctypes

    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))


@cache
def _compiled(machine: str) -> Any:
    """The filter as the kernel takes it; None where there is none for this machine."""
    arch = ARCHITECTURES.get(machine)
    if arch is None or sys.maxsize < 2**32:
        return None
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    code = b"".join(struct.pack("HBBI", *instruction) for instruction in filter_program(arch))
    return Program(len(code) // 8, code)


def _prctl(option: int, *arguments: Any) -> bool:
    import ctypes

    padded = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    padded += [ctypes.c_ulong(0)] * (4 - len(padded))
    return bool(_library().prctl(option, *padded) == 0)


@cache
def _library() -> Any:
    import ctypes

    return ctypes.CDLL(None)
