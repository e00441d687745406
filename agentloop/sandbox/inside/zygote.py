"""The process that every sandbox is forked from, and the way to do without one.

A zygote has loaded the engine, has one thread, no secrets and no environment. For each message on
its control socket it forks a child around the socket that came with it. When the control socket
ends, the host is gone: the zygote takes its whole process group, every child included, along.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from typing import Any

from agentloop.sandbox.inside.child import Child
from agentloop.sandbox.inside.engine import EngineError, interruptible, load_engine
from agentloop.sandbox.inside.lockdown import die_with_parent, prepare
from agentloop.sandbox.inside.prelude import read_prelude
from agentloop.sandbox.inside.wire import READY, Wire

__all__ = ["main"]

_HOST = 3
"""The one descriptor of a child beyond the standard three: its host."""


def main(role: str, options: str) -> None:
    """Runs as "zygote" or, where nothing can be forked, as the one child itself ("solo")."""
    config = json.loads(options)
    _fix_time_zone()
    if role == "solo":
        _solo(config)
    else:
        _serve(socket.socket(fileno=config["descriptor"]), config)


def _fix_time_zone() -> None:
    # Dates are UTC for every script; the C library keeps the zone once it has read it.
    os.environ["TZ"] = "UTC0"
    if hasattr(time, "tzset"):
        time.tzset()
    time.localtime()
    os.environ.clear()


def _prepare(config: dict[str, Any]) -> Child | EngineError:
    try:
        engine = load_engine(config["candidates"], legacy=config["legacy"])
    except EngineError as error:
        return error
    interrupt = interruptible(engine) if hasattr(os, "fork") else None
    prepare()
    return Child(engine, interrupt, read_prelude())


def _serve(control: socket.socket, config: dict[str, Any]) -> None:
    prepared = _prepare(config)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            os.killpg(0, signal.SIGKILL)
        for descriptor in descriptors:
            _fork(control, descriptor, prepared)


def _fork(control: socket.socket, descriptor: int, prepared: Child | EngineError) -> None:
    try:
        process = os.fork()
    except OSError:  # the host sees its socket close
        os.close(descriptor)
        return
    if process:
        os.close(descriptor)
        return
    zygote = os.getppid()
    die_with_parent()
    if os.getppid() != zygote:
        os._exit(1)
    control.detach()
    _live(_sole_descriptor(descriptor), prepared)


def _sole_descriptor(descriptor: int) -> socket.socket:
    os.dup2(descriptor, _HOST)
    os.closerange(_HOST + 1, 4096)
    return socket.socket(fileno=_HOST)


def _solo(config: dict[str, Any]) -> None:
    if sys.platform == "win32":
        shared = sys.stdin.buffer.read()
        sock = socket.fromshare(shared)
    else:
        sock = _sole_descriptor(config["descriptor"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _live(sock, _prepare(config))


def _live(sock: socket.socket, prepared: Child | EngineError) -> None:
    code = 1
    try:
        if isinstance(prepared, EngineError):
            _explain(sock, prepared)
        else:
            prepared.serve(sock)
    except (EOFError, OSError):  # the host has closed the socket
        code = 0
    finally:
        os._exit(code)


def _explain(sock: socket.socket, error: EngineError) -> None:
    wire = Wire(sock)
    sock.sendall(b"-")
    # Read first: a socket that is closed with something unread takes its own last words along.
    wire.receive()
    wire.send(READY, json.dumps({"error": str(error)}).encode())
    wire.receive()
