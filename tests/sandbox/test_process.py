"""A child that lies, dies or is left alone; and hosts that die themselves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentloop.clock import Clock
from agentloop.errors import SandboxError
from agentloop.sandbox import Limits, open_sandbox
from agentloop.sandbox.base import Isolation
from agentloop.sandbox.host import ProcessSandbox
from agentloop.sandbox.inside import wire as w
from agentloop.sandbox.toolbox import Toolbox
from agentloop.sandbox.zygote import Zygote, launcher_for
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Probe

ROOT = Path(__file__).parents[2]


class Liar:
    """Launches no process at all, but a thread that says what it was told to."""

    def __init__(self, *said: bytes, ready: bytes | None = None, late: bytes = b"") -> None:
        self._said = said
        self._late = late
        self._ready = ready or json.dumps({"pid": 0, "engine": "liar", "isolation": "rlimits", "soft": False}).encode()

    def launch(self) -> socket.socket:
        here, there = socket.socketpair()
        threading.Thread(target=self._live, args=(there,), daemon=True).start()
        return here

    def _live(self, sock: socket.socket) -> None:
        with sock:
            wire = w.Wire(sock)
            try:
                sock.sendall(b"-")
                wire.receive()
                wire.send(w.READY, self._ready)
                wire.receive()
                wire.receive()
                for piece in self._said:
                    sock.sendall(piece)
                if self._late:
                    time.sleep(0.2)
                    sock.sendall(self._late)
                while sock.recv(65536):
                    pass
            except (EOFError, OSError):
                pass


def around(launcher: Liar, probe: Probe, required: Isolation | None = None) -> ProcessSandbox:
    return ProcessSandbox(
        toolbox=Toolbox(probe.packs()),
        limits=Limits(wall_s=30, result_bytes=1000),
        clock=Clock(),
        launcher=launcher,
        require_isolation=required,
    )


@pytest.mark.parametrize(
    ("said", "part"),
    [
        (w.frame(0, b""), "kind 0"),
        (w.HEADER.pack(2**31, w.LOG, 0), "frame of 2147483648 bytes"),
        (w.frame(w.CALL, b"__import__\n[]", 1), "not given"),
        (w.frame(w.CALL, b"h\n{}", 1), "no list"),
        (w.frame(w.CALL, b"h\n[", 1), "no JSON"),
        (w.frame(w.CALL, b"h\n[NaN]", 1), "no JSON"),
        (w.HEADER.pack(9_000_000, w.CALL, 1), "frame of 9000000 bytes"),
        (w.frame(w.CALL, b"h\n" + b"[" * 150, 1), "no JSON"),
        (w.frame(w.CALL, b"\xff\n[]", 1), "not given"),
        (w.frame(w.BATCH, b"h\n[1]", 1), "argument lists"),
        (w.frame(w.CALL, b"slow\n[]", 1) + w.frame(w.CALL, b"slow\n[]", 1), "id of a call"),
        (w.frame(w.LOG, b"1"), "log line"),
        (w.frame(w.LOG, b'"\xff"'), "no JSON"),
        (w.frame(w.ANSWER, b"[]"), "answer"),
        (w.frame(w.FAIL, b'{"kind":"bored"}'), "no way"),
        (w.frame(w.DONE, b"[]"), "cut"),
        (w.frame(w.DONE, b"1\n1"), "no list"),
        (w.frame(w.DONE, b"[]\n{"), "no JSON"),
        (w.frame(w.ERROR, b'{"where":"moon"}'), "none"),
        (w.frame(w.READY, b"{}"), f"kind {w.READY}"),
        (w.frame(w.ERROR, b"{}")[:4], ""),
    ],
)
async def test_a_child_that_breaks_the_protocol_is_dropped(probe: Probe, said: bytes, part: str) -> None:
    sandbox = around(Liar(said), probe)
    try:
        outcome = await sandbox.run("1", wall_s=0.5 if not part else 30)
        assert outcome.error is not None
        assert (outcome.error.where, outcome.value_json) == ("died" if part else "timeout", None)
        assert part in outcome.error.message
    finally:
        await sandbox.aclose()


async def test_a_child_that_speaks_between_two_scripts(probe: Probe) -> None:
    sandbox = around(Liar(w.frame(w.DONE, b"[]\n1"), late=w.frame(w.LOG, b'"psst"')), probe)
    try:
        assert (await sandbox.run("1")).value_json == "1"
        await _until(lambda: sandbox.pid is None)
        again = await sandbox.run("1")
        assert (again.value_json, again.logs) == ("1", "")
    finally:
        await sandbox.aclose()


async def test_a_result_in_pieces_with_too_much_depth(probe: Probe) -> None:
    whole = w.frame(w.DONE, b"[]\n" + b"[" * 250 + b"]" * 250)
    sandbox = around(Liar(*(whole[i : i + 1] for i in range(len(whole)))), probe)
    try:
        outcome = await sandbox.run("1")
        assert outcome.error is not None
        assert outcome.error.name == "ResultTooDeep"
    finally:
        await sandbox.aclose()


async def test_weaker_isolation_than_required_is_refused(probe: Probe) -> None:
    with pytest.raises(SandboxError, match="'seccomp' is required, but this machine reaches only 'rlimits'"):
        await around(Liar(), probe, "seccomp").start()
    enough = around(Liar(), probe, "process")
    await enough.start()
    assert enough.isolation == "rlimits"
    await enough.aclose()


async def test_an_engine_that_cannot_be_loaded(probe: Probe) -> None:
    with pytest.raises(SandboxError, match="pip install quickjs-ng"):
        await around(Liar(ready=b'{"error":"no engine: pip install quickjs-ng"}'), probe).start()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
async def test_a_child_that_dies_during_a_call(sandbox: ProcessSandbox, probe: Probe, number: int) -> None:
    running = asyncio.create_task(sandbox.run("log('so far'); slow(1, 20)"))
    await probe.started.wait()
    assert sandbox.pid
    os.kill(sandbox.pid, number)

    outcome = await running
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.where, outcome.logs) == ("SandboxDied", "died", "so far")
    assert probe.cancelled == 1
    assert (await sandbox.run("function run() { return 1 }")).value_json == "1"


async def test_a_child_that_dies_between_scripts(sandbox: ProcessSandbox) -> None:
    assert sandbox.pid
    os.kill(sandbox.pid, signal.SIGKILL)
    await _until(lambda: sandbox.pid is None)

    assert (await sandbox.run("function run() { return 1 }")).value_json == "1"


async def test_a_killed_zygote_takes_its_children_and_is_replaced(sandbox: ProcessSandbox, probe: Probe) -> None:
    zygote = launcher_for(ENGINE)
    assert isinstance(zygote, Zygote)
    before = zygote.pid
    assert before
    running = asyncio.create_task(sandbox.run("slow(1, 20)"))
    await probe.started.wait()
    os.kill(before, signal.SIGKILL)

    outcome = await running
    assert outcome.error is not None
    assert outcome.error.where == "died"
    assert (await sandbox.run("function run() { return 1 }")).value_json == "1"
    assert zygote.pid not in (None, before)


async def test_the_child_holds_nothing(sandbox: ProcessSandbox) -> None:
    process = Path(f"/proc/{sandbox.pid}")
    try:
        descriptors = {int(entry.name): os.readlink(entry) for entry in (process / "fd").iterdir()}
    except PermissionError:
        pytest.skip("only root may look into a process that cannot be traced")
    assert {n: target for n, target in descriptors.items() if n < 3} == dict.fromkeys(range(3), "/dev/null")
    assert [target.split(":")[0] for n, target in descriptors.items() if n >= 3] == ["socket"]
    assert (process / "environ").read_bytes().strip(b"\0") == b""
    assert os.readlink(process / "cwd") == "/"
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    assert (status["Seccomp"].strip(), status["NoNewPrivs"].strip(), status["Threads"].strip()) == ("2", "1", "1")
    cpu = next(line for line in (process / "limits").read_text().splitlines() if line.startswith("Max cpu time"))
    assert int(cpu.split()[3]) >= 200 * 30


async def test_no_descriptor_stays_behind(sandbox: ProcessSandbox) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await sandbox.run("answer(1)")
        async with open_sandbox(engine=ENGINE):
            pass
    await sandbox.run("1")
    assert len(os.listdir("/proc/self/fd")) == before


HOST = """
import asyncio, sys
from agentloop.sandbox import open_sandbox
from agentloop.sandbox.zygote import launcher_for

async def main():
    async with open_sandbox(engine=sys.argv[1]) as sandbox:
        print(launcher_for(sys.argv[1]).pid, sandbox.pid, flush=True)
        await sandbox.run("while (true) {}")

asyncio.run(main())
"""


def _host(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, ENGINE]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(1500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within 15 s")


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
async def test_nothing_outlives_the_host(number: int) -> None:
    host = _host(HOST)
    assert host.stdout is not None
    with host, host.stdout:
        pids = [int(pid) for pid in (await asyncio.to_thread(host.stdout.readline)).split()]
        assert len(pids) == 2
        os.killpg(host.pid, number)
        await asyncio.to_thread(host.wait, 20)
    await _until(lambda: all(_gone(pid) for pid in pids))


FORKED = """
import asyncio, os, sys
from agentloop.sandbox import open_sandbox
from agentloop.sandbox.zygote import launcher_for

async def main():
    async with open_sandbox(engine=sys.argv[1]) as sandbox:
        outcome = await sandbox.run("function run() { return 7 }")
        return outcome.value_json, launcher_for(sys.argv[1]).pid

value, first = asyncio.run(main())
if os.fork() == 0:
    value, own = asyncio.run(main())
    print(value, own != first, flush=True)
    os._exit(0)
os.wait()
value, again = asyncio.run(main())
print(value, again == first, flush=True)
"""


async def test_a_forked_host_gets_a_zygote_of_its_own() -> None:
    host = _host(FORKED)
    said, _ = await asyncio.to_thread(host.communicate, timeout=30)

    assert said.split() == ["7", "True", "7", "True"]


INSIDE = """
import sys, types
folder = sys.argv[1]
for name, path in (("agentloop", []), ("agentloop.sandbox", []), ("agentloop.sandbox.inside", [folder])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = path
import agentloop.sandbox.inside.zygote
standard = sys.stdlib_module_names
print(sorted(name for name in sys.modules if name.split(".")[0] not in standard and name != "__main__"))
"""


async def test_the_inner_program_needs_only_the_standard_library() -> None:
    folder = ROOT / "agentloop" / "sandbox" / "inside"
    command = [sys.executable, "-I", "-S", "-c", INSIDE, str(folder)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=30)

    assert done.returncode == 0, done.stderr
    loaded = done.stdout
    for name in ("child", "engine", "lockdown", "prelude", "wire", "zygote"):
        assert f"'agentloop.sandbox.inside.{name}'" in loaded
    assert loaded.count("'") == 2 * 9
