"""One sandbox's process: takes scripts from its host, one after another, each in a fresh realm."""

import json
import os
import signal
import socket
from collections import deque
from typing import Any, Final

from agentloop.sandbox.inside import wire as w
from agentloop.sandbox.inside.engine import Engine, Interrupt
from agentloop.sandbox.inside.lockdown import lock_down
from agentloop.sandbox.inside.prelude import Prelude

__all__ = ["Child"]

_JS_STACK_MB: Final = 32
_STACK_MB: Final = 64
_STARVED: Final = 0.7
_JOBS_AFTER_RESULT: Final = 10_000
_STUCK: Final = "a promise can never settle: no call is under way that could resolve it"


class Child:
    """Runs scripts for one host. Made before the fork, with a realm ready, so that a sandbox starts at once."""

    def __init__(self, engine: Engine, interrupt: Interrupt | None, prelude: Prelude) -> None:
        self._engine = engine
        self._interrupt = interrupt
        self._prelude = prelude
        self._config: dict[str, Any] = {}
        self._early: deque[tuple[int, int, bytes]] = deque()
        self._ended: tuple[int, bytes] | None = None
        self._value = ""
        self._names = self._functions = "[]"
        self._resident = 0
        self._ops = {
            "call": self._call,
            "batch": self._batch,
            "post": self._post,
            "log": self._log,
            "end": self._end,
            "result": self._result,
            "done": self._done,
            "error": self._error,
            "source": self._source,
            "random": self._random,
            "starved": self._starved,
            "stack": self._stack,
        }
        self._context, self._link = self._realm()

    def serve(self, sock: socket.socket) -> None:
        """Locks the process down, reports, and runs scripts for ever. Raises `EOFError` when the host is gone."""
        self._wire = w.Wire(sock)
        _introduce(sock)
        self._config = json.loads(self._expect(w.INIT))
        self._names = json.dumps(self._config["names"])
        self._functions = json.dumps(list(self._config["functions"]))
        if self._interrupt is not None:
            signal.signal(signal.SIGUSR1, self._stop_script)
        isolation = lock_down(memory_mb=self._config["memory_mb"], stack_mb=_STACK_MB, cpu_s=self._config["cpu_s"])
        self._resident = _peak_memory()
        self._report(isolation)
        while True:
            script = self._expect(w.START).decode()
            self._run(script, self._expect(w.ARGS).decode())
            # The next script's realm is made while the host reads this one's outcome.
            self._context = self._link = None
            self._context, self._link = self._realm()

    def _report(self, isolation: str) -> None:
        ready = {
            "pid": os.getpid(),
            "engine": f"{self._engine.name} {self._engine.version}".strip(),
            "isolation": isolation,
            "soft": self._interrupt is not None,
        }
        self._wire.send(w.READY, json.dumps(ready).encode())

    def _expect(self, wanted: int) -> bytes:
        # Replies to calls that a finished script has left behind are passed over.
        while True:
            kind, _, body = self._wire.receive()
            if kind == wanted:
                return body

    def _realm(self) -> tuple[Any, Any]:
        context = self._engine.module.Context()
        context.set_max_stack_size(_JS_STACK_MB << 20)
        if self._interrupt is not None:
            self._interrupt.attach(context)
        context.add_callable("__host", self._bridge)
        return context, context.eval(self._prelude.eager)

    def _run(self, script: str, args: str) -> None:
        self._early.clear()
        self._ended = None
        if self._interrupt is not None:
            self._interrupt.arm(True)
        try:
            self._context.set_memory_limit(self._config["memory_mb"] << 20)
            api = self._link(self._names, self._functions)
            api("start", script, args)
            self._pump(api)
        except (self._engine.module.JSException, MemoryError, ValueError, TypeError, SystemError) as error:
            # Not the script's own error: the engine gave up, or a value could not cross.
            self._ended = w.ERROR, json.dumps(self._give_up(error)).encode()
        if self._interrupt is not None:
            self._interrupt.arm(False)
        self._value = ""
        kind, body = self._ended or (w.ERROR, b"{}")
        self._wire.send(kind, body, w.SPENT if self._is_starved() else 0)

    def _pump(self, api: Any) -> None:
        left = _JOBS_AFTER_RESULT
        while True:
            while left and self._context.execute_pending_job():
                left -= self._ended is not None
            if self._ended is not None:
                return
            state = api("poll")
            if state == "stuck":
                self._error(0, json.dumps({"name": "DeadlockError", "message": _STUCK, "stack": "", "where": "run"}))
            if state == "wait":
                kind, id, body = self._early.popleft() if self._early else self._wire.receive()
                api("settle", id, _reply(kind, body))

    def _stop_script(self, _signal: int, _frame: object) -> None:
        if self._interrupt is not None:
            self._interrupt.raised = True

    def _give_up(self, error: Exception) -> dict[str, Any]:
        text = str(error)
        head, _, stack = text.partition("\n")
        name, colon, message = head.partition(": ")
        if not colon:
            name, message = type(error).__name__, head
        where = "engine"
        if self._interrupt is not None and self._interrupt.raised:
            where = "timeout"
        elif head in ("null", "InternalError: out of memory") or isinstance(error, MemoryError):
            name, message, where = "InternalError", "out of memory", "run"
        return {"name": name, "message": message[:4000], "stack": stack[:4000], "where": where}

    def _bridge(self, op: str, id: int = 0, first: str = "", second: str = "") -> str:
        # An exception raised here would corrupt the engine's own error state.
        try:
            return self._ops[op](id, first, second)
        except MemoryError:
            return _refusal("InternalError", "out of memory")
        except (EOFError, OSError):
            os._exit(0)

    def _call(self, id: int, name: str, arguments: str) -> str:
        return self._ask(w.CALL, id, name, arguments)

    def _batch(self, id: int, name: str, arguments: str) -> str:
        return self._ask(w.BATCH, id, name, arguments)

    def _ask(self, kind: int, id: int, name: str, arguments: str) -> str:
        refused = self._send_call(kind, id, name, arguments)
        while not refused:
            kind, answered, body = self._wire.receive()
            if answered == id:
                return _reply(kind, body)
            # The reply to an earlier `.async` call, which may overtake this one's.
            self._early.append((kind, answered, body))
        return refused

    def _post(self, id: int, name: str, arguments: str) -> str:
        return self._send_call(w.CALL, id, name, arguments)

    def _send_call(self, kind: int, id: int, name: str, arguments: str) -> str:
        body = f"{name}\n{arguments}".encode()
        limit = self._config["frame"]
        if len(body) > limit:
            return _refusal("RangeError", f"the arguments of {name} are {len(body)} bytes, at most {limit}")
        self._wire.send(kind, body, id)
        return ""

    def _log(self, _id: int, line: str, _: str) -> str:
        self._wire.send(w.LOG, line.encode())
        return ""

    def _end(self, kind: int, text: str, _: str) -> str:
        body = text.encode()
        limit = self._config["frame"]
        if len(body) > limit:
            return _refusal("RangeError", f"the answer is {len(body)} bytes, at most {limit}")
        self._wire.send(kind, body)
        # Nothing of the script may run on: this process only waits for its end.
        while True:
            self._wire.receive()

    def _result(self, _id: int, value: str, _: str) -> str:
        self._value = value
        # Each may stand for something that got lost, or be data: only a walk through the value can tell.
        return "suspect" if "null" in value or "{}" in value else ""

    def _done(self, _id: int, warnings: str, _: str) -> str:
        data = self._value.encode()
        limit = self._config["result_bytes"]
        if len(data) > limit:
            message = f"the result is {len(data)} bytes of JSON, at most {limit}: return less"
            error = {"name": "ResultTooLarge", "message": message, "stack": "", "where": "result"}
            return self._error(0, json.dumps(error))
        self._ended = self._ended or (w.DONE, warnings.encode() + b"\n" + data)
        return ""

    def _error(self, _id: int, error: str, _: str = "") -> str:
        # An interruption among promises reaches the old engine's scripts as whatever error comes of it.
        if self._interrupt is not None and self._interrupt.raised:
            error = json.dumps({**json.loads(error), "where": "timeout"})
        self._ended = self._ended or (w.ERROR, error.encode())
        return ""

    def _source(self, _id: int, name: str, _: str) -> str:
        kind, _, key = name.partition(":")
        if kind == "prelude":
            return self._prelude.lazy[key]
        if kind == "module":
            source = self._config["modules"].get(key)
            return "" if source is None else self._prelude.module(source)
        if kind == "function":
            return self._prelude.body(self._config["functions"][key])
        return str(self._config[kind])

    def _random(self, size: int, _first: str, _second: str) -> str:
        return os.urandom(size).hex()

    def _starved(self, _id: int, _first: str, _second: str) -> str:
        return "yes" if self._is_starved() else ""

    def _stack(self, megabytes: int, _first: str, _second: str) -> str:
        self._context.set_max_stack_size((megabytes or _JS_STACK_MB) << 20)
        return ""

    def _is_starved(self) -> bool:
        grown = _peak_memory() - self._resident
        return bool(grown > self._config["memory_mb"] * _STARVED * (1 << 20))


def _introduce(sock: socket.socket) -> None:
    try:
        own = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):  # not Linux, or an old kernel
        sock.sendall(b"-")
        return
    socket.send_fds(sock, [b"+"], [own])
    os.close(own)


def _reply(kind: int, body: bytes) -> str:
    # No JSON text begins with "!", so it can mark an error without wrapping every value.
    return body.decode() if kind == w.VALUE else "!" + body.decode()


def _refusal(name: str, message: str) -> str:
    return "!" + json.dumps({"name": name, "message": message})


def _peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
