"""One script's run as the host sees it: frames in, calls answered, an ending."""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from agentloop.clock import Clock
from agentloop.errors import EndRun, EndTurn
from agentloop.records import Status
from agentloop.sandbox.base import Limits, ScriptError, Where
from agentloop.sandbox.inside import wire as w
from agentloop.sandbox.inside.prelude import PRELUDE_LINE
from agentloop.sandbox.logs import LiveLog, LogKeeper
from agentloop.sandbox.process import ChildProcess, Violation
from agentloop.sandbox.toolbox import Tool, Toolbox
from agentloop.sandbox.values import encode, readable, strict, too_deep

__all__ = ["Ending", "RangeError", "Turn"]

_FRAME: Final = re.compile(r"<input>:(\d+)(?::(\d+))?")
_SOFT_MARGIN_S: Final = 1.0
_CLEANUP_S: Final = 5.0
_MOST_WARNINGS: Final = 32
_LONGEST_TEXT: Final = 8_000
_CHILDS_OWN: Final = ("load", "run", "result", "engine", "timeout")
_OUT_OF_MEMORY: Final = "out of memory"


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a script ended. `keep`: its process may run the next one. `raised` is what host code ended it with."""

    value_json: str | None = None
    answer: str | None = None
    error: ScriptError | None = None
    warnings: tuple[str, ...] = ()
    raised: EndRun | EndTurn | None = None
    keep: bool = False


def _broken(name: str, message: str, where: Where) -> Ending:
    return Ending(error=ScriptError(name=name, message=message, where=where))


class RangeError(ValueError):
    """What JavaScript calls a value beyond a limit."""


class Turn:
    """Listens to one child until its script has ended. `run` once, then read `calls`, `untrusted` and `log`."""

    def __init__(self, child: ChildProcess, toolbox: Toolbox, limits: Limits, clock: Clock, live: LiveLog) -> None:
        self.calls = 0
        self.untrusted = False
        self.log = LogKeeper(limits.log_bytes)
        self._child = child
        self._toolbox = toolbox
        self._limits = limits
        self._clock = clock
        self._live = live
        self._slots = asyncio.Semaphore(limits.in_flight)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        # Frames arrive in the context of whoever opened the child; host code runs in that of who runs the script.
        self._context = contextvars.copy_context()
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._handlers: Mapping[int, Callable[[int, bytes], None]] = {
            w.CALL: self._on_call,
            w.BATCH: self._on_batch,
            w.LOG: self._on_log,
            w.ANSWER: self._on_answer,
            w.FAIL: self._on_fail,
            w.DONE: self._on_done,
            w.ERROR: self._on_error,
        }

    async def run(self, script: str, args: str) -> Ending:
        """Sends the script and waits for its end, at most the limits' `wall_s` of the clock's time."""
        watch = asyncio.create_task(self._watch())
        self._child.listen(self._on_frame, self._on_lost)
        self._child.send(w.START, _crossable(script).encode())
        self._child.send(w.ARGS, args.encode())
        try:
            ending = await self._ended
            return ending if not self._tasks else self._with_abandoned(ending)
        except BaseException:
            self._child.kill()
            raise
        finally:
            self._child.deafen()
            watch.cancel()
            await self._cancel_calls()

    def _with_abandoned(self, ending: Ending) -> Ending:
        if ending.error or ending.raised or ending.answer is not None:
            return ending
        warning = f"{len(self._tasks)} calls were still under way when the script ended and were cancelled: await them"
        return Ending(value_json=ending.value_json, warnings=(*ending.warnings, warning), keep=ending.keep)

    async def _watch(self) -> None:
        wall = self._limits.wall_s
        deadline = self._clock.now() + wall
        if self._child.soft:
            await self._clock.until(deadline - min(_SOFT_MARGIN_S, wall / 5))
            self._child.interrupt()
        await self._clock.until(deadline)
        self._finish(self._timed_out())

    def _timed_out(self, line: int = 0, column: int = 0, *, keep: bool = False) -> Ending:
        message = f"the script ran longer than {self._limits.wall_s:g} s and was stopped"
        error = ScriptError(name="Timeout", message=message, line=line, column=column, where="timeout")
        return Ending(error=error, keep=keep)

    async def _cancel_calls(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLEANUP_S)

    def _finish(self, ending: Ending) -> None:
        if self._ended.done():
            return
        self._ended.set_result(ending)
        # Killed here and not later: nothing of the script may run on behind its ending.
        if not ending.keep:
            self._child.kill()

    def _on_lost(self, reason: str) -> None:
        self._finish(_broken("SandboxDied", f"the script's process is gone: {reason}", "died"))

    def _on_frame(self, kind: int, id: int, body: bytes) -> None:
        if self._ended.done():
            raise Violation("it spoke after its end")
        handler = self._handlers.get(kind)
        if handler is None:
            raise Violation(f"it sent a frame of kind {kind}")
        handler(id, body)

    # --- calls ---

    def _on_call(self, id: int, body: bytes) -> None:
        tool, arguments = self._read_call(id, body)
        if arguments is not None and self._count(1):
            self._begin(id, partial(self._call, tool, arguments))

    def _on_batch(self, id: int, body: bytes) -> None:
        tool, batch = self._read_call(id, body)
        if batch is None:
            return
        if not all(isinstance(arguments, list) for arguments in batch):
            raise Violation("a batch is no list of argument lists")
        if self._count(len(batch)):
            self._begin(id, partial(self._call_all, tool, batch))

    def _read_call(self, id: int, body: bytes) -> tuple[Tool, list[Any] | None]:
        if id in self._tasks:
            raise Violation("it used the id of a call that is still under way")
        name, _, text = body.partition(b"\n")
        tool = self._toolbox.tools.get(name.decode("ascii", "replace"))
        if tool is None:
            raise Violation("it called something that it was not given")
        if too_deep(text, self._limits.depth + 2):
            deep = RangeError(f"the arguments nest more than {self._limits.depth} levels deep: pass something flatter")
            self._child.send(w.RAISE, _error_json(deep), id)
            return tool, None
        arguments = _trusting_nothing(text)
        if not isinstance(arguments, list):
            raise Violation("its arguments are no list")
        self.untrusted = self.untrusted or tool.primitive.untrusted
        return tool, arguments

    def _count(self, calls: int) -> bool:
        self.calls += calls
        if self.calls <= self._limits.calls:
            return True
        message = f"the script made more than {self._limits.calls:,} primitive calls"
        self._finish(_broken("CallLimit", message, "limit"))
        return False

    def _begin(self, id: int, work: Callable[[], Awaitable[Any]]) -> None:
        self._tasks[id] = asyncio.create_task(self._answer(id, work), context=self._context.copy())

    async def _answer(self, id: int, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            # Forgotten here and not in a callback, which would cost the loop one more round.
            try:
                value = await work()
            finally:
                self._tasks.pop(id, None)
            reply = encode(value)
            if len(reply) > self._limits.result_bytes:
                raise ValueError(f"the call returned {len(reply)} bytes of JSON, at most {self._limits.result_bytes}")
        except (EndRun, EndTurn) as end:
            self._finish(Ending(raised=end))
        except asyncio.CancelledError as cancelled:
            if self._ended.done():
                raise
            self._child.send(w.RAISE, _error_json(cancelled), id)
        except Exception as error:  # the border: any failure of host code is an error that the script can catch
            self._child.send(w.RAISE, _error_json(error), id)
        else:
            self._child.send(w.VALUE, reply, id)

    async def _call(self, tool: Tool, arguments: Sequence[Any]) -> Any:
        arguments = tool.fitted(arguments)
        async with self._slots:
            if tool.lock is None:
                return await tool.primitive.call(*arguments)
            async with tool.lock:
                return await tool.primitive.call(*arguments)

    async def _call_all(self, tool: Tool, batch: Sequence[Sequence[Any]]) -> list[Any]:
        results: list[Any] = [None] * len(batch)
        failures: dict[int, Exception] = {}

        async def one(index: int, arguments: Sequence[Any]) -> None:
            try:
                results[index] = await self._call(tool, arguments)
            except (EndRun, EndTurn) as end:
                self._finish(Ending(raised=end))
            except Exception as error:  # the border, as for a single call
                failures[index] = error

        async with asyncio.TaskGroup() as group:
            for index, arguments in enumerate(batch):
                group.create_task(one(index, arguments))
        if failures:
            first = min(failures)
            failures[first].__dict__.setdefault("index", first)
            raise failures[first]
        return results

    # --- what else a child says ---

    def _on_log(self, _id: int, body: bytes) -> None:
        line = _trusting_nothing(body)
        if not isinstance(line, str):
            raise Violation("a log line is no text")
        self.log.add(line)
        self._live.add(line)

    def _on_answer(self, _id: int, body: bytes) -> None:
        text = _trusting_nothing(body)
        if not isinstance(text, str):
            raise Violation("an answer is no text")
        self._finish(Ending(answer=readable(text)))

    def _on_fail(self, _id: int, body: bytes) -> None:
        said = _trusting_nothing(body)
        if not isinstance(said, dict) or said.get("kind") not in ("task_failed", "blocked"):
            raise Violation("it failed in no way that there is")
        self._finish(Ending(raised=EndRun(Status.ERROR, said["kind"], readable(str(said.get("reason"))))))

    def _on_done(self, id: int, body: bytes) -> None:
        warnings, feed, value = body.partition(b"\n")
        if not feed:
            raise Violation("its result is cut")
        noted = _texts(_trusting_nothing(warnings))
        if len(value) > self._limits.result_bytes:
            message = f"the result is {len(value)} bytes of JSON, at most {self._limits.result_bytes}: return less"
            self._finish(self._rejected("ResultTooLarge", message))
        elif too_deep(value, self._limits.depth):
            message = f"the result nests more than {self._limits.depth} levels deep: return something flatter"
            self._finish(self._rejected("ResultTooDeep", message))
        else:
            _trusting_nothing(value or b"null")
            self._finish(Ending(value_json=value.decode() if value else None, warnings=noted, keep=id != w.SPENT))

    def _rejected(self, name: str, message: str) -> Ending:
        return Ending(error=ScriptError(name=name, message=message, where="result"), keep=True)

    def _on_error(self, id: int, body: bytes) -> None:
        said = _trusting_nothing(body)
        if not isinstance(said, dict) or said.get("where") not in _CHILDS_OWN:
            raise Violation("its error is none")
        name, message, stack = (_short(said.get(key)) for key in ("name", "message", "stack"))
        line, column = _position(stack)
        if said["where"] == "timeout":
            self._finish(self._timed_out(line, column, keep=True))
            return
        error = ScriptError(name=name, message=message, line=line, column=column, where=said["where"])
        # A realm that ran out of memory or failed inside leaves a process nobody should build on.
        spoilt = error.where == "engine" or message == _OUT_OF_MEMORY or id == w.SPENT
        self._finish(Ending(error=error, keep=not spoilt))


def _trusting_nothing(text: bytes) -> Any:
    try:
        return strict(text)
    except ValueError as error:
        raise Violation(f"it sent no JSON: {error}") from None


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Violation("its warnings are no list")
    return tuple(_short(item) for item in value[:_MOST_WARNINGS])


def _short(value: Any) -> str:
    return readable(str(value)[:_LONGEST_TEXT])


def _error_json(error: BaseException) -> bytes:
    said: dict[str, Any] = {"name": type(error).__name__, "message": str(error)[:_LONGEST_TEXT]}
    code = getattr(error, "code", None)
    if isinstance(code, str):
        said["code"] = code
    if isinstance(index := getattr(error, "index", None), int):
        said["index"] = index
    return json.dumps(said).encode()


def _position(stack: str) -> tuple[int, int]:
    for line, column in _FRAME.findall(stack):
        if int(line) <= PRELUDE_LINE:
            return int(line), int(column or 0)
    return 0, 0


def _crossable(script: str) -> str:
    """The script without what no engine call can carry: a byte-order mark, NUL, lone surrogates.

    The latter two become the escapes that mean the same inside a string, a template or a pattern.
    """
    script = script.removeprefix("\ufeff").replace("\0", "\\x00")
    try:
        script.encode()
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", script)
    return script
