"""The sandbox that hosts open: scripts in, outcomes out, whatever happens to the process in between."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from agentloop.capabilities import Emit
from agentloop.clock import Clock
from agentloop.errors import Closed, InvalidInput, SandboxError
from agentloop.packs.base import Pack
from agentloop.sandbox.base import Isolation, Limits, Outcome
from agentloop.sandbox.logs import LiveLog
from agentloop.sandbox.process import ChildProcess, start_child
from agentloop.sandbox.toolbox import Toolbox
from agentloop.sandbox.turn import Ending, Turn
from agentloop.sandbox.values import usable_args
from agentloop.sandbox.zygote import Engine, Launcher, launcher_for

__all__ = ["ProcessSandbox", "open_sandbox"]

_TURNS_PER_CHILD: Final = 200
_LONGEST_INPUT: Final = 64 * 1024 * 1024
_FRAME_MARGIN: Final = 65_536
_SMALLEST_FRAME: Final = 8 * 1024 * 1024
_STRENGTH: Final[dict[Isolation, int]] = {"none": 0, "process": 1, "rlimits": 2, "seccomp": 3}


@asynccontextmanager
async def open_sandbox(
    *,
    packs: Sequence[Pack] = (),
    limits: Limits | None = None,
    clock: Clock | None = None,
    engine: Engine = "auto",
    require_isolation: Isolation | None = None,
    emit: Emit | None = None,
) -> AsyncIterator[ProcessSandbox]:
    """Opens a sandbox whose scripts may call the packs' primitives; leaving the block ends its process.

    Times are measured on `clock`, so that pauses do not count. With `emit`, a script's first log
    lines become `sandbox_event`s while it runs. Every primitive is synchronous in JavaScript;
    `name.async(...)` returns a promise, and `name.all([...])` runs one call for each entry in
    parallel, at most `limits.in_flight` at once, and returns the results in order: an entry is the
    call's only argument, or `{spread: [a, b]}` for several; if calls fail, the first one's error is
    thrown when all have ended, with its place as `index`.

    Raises `InvalidInput` for names that clash and limits that cannot be, `SandboxError` when no
    process can be started or its isolation is weaker than `require_isolation`.
    """
    sandbox = ProcessSandbox(
        toolbox=Toolbox(packs, emit=emit),
        limits=_checked(limits or Limits()),
        clock=clock or Clock(),
        launcher=launcher_for(engine),
        require_isolation=require_isolation,
        emit=emit,
    )
    try:
        await sandbox.start()
        yield sandbox
    finally:
        await sandbox.aclose()


def _checked(limits: Limits) -> Limits:
    for name in ("memory_mb", "wall_s", "result_bytes", "depth", "in_flight"):
        if getattr(limits, name) <= 0:
            raise InvalidInput(f"limits: {name} must be more than 0")
    if limits.memory_mb < 16:
        raise InvalidInput("limits: memory_mb must be at least 16")
    return limits


class ProcessSandbox:
    """A `Sandbox` whose scripts run one after another in one child process, which is replaced when it dies,
    was killed, had an error of its own or has served two hundred scripts. Belongs to the loop that opened it."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        limits: Limits,
        clock: Clock,
        launcher: Launcher,
        require_isolation: Isolation | None = None,
        emit: Emit | None = None,
    ) -> None:
        self._toolbox = toolbox
        self._limits = limits
        self._clock = clock
        self._launcher = launcher
        self._required = require_isolation
        self._emit = emit
        self._child: ChildProcess | None = None
        self._isolation: Isolation = "none"
        self._engine = ""
        self._loop = asyncio.get_running_loop()
        self._busy = asyncio.Lock()
        self._closed = False

    @property
    def isolation(self) -> Isolation:
        """What the child has really achieved."""
        return self._isolation

    @property
    def engine(self) -> str:
        """The JavaScript engine's name and version."""
        return self._engine

    @property
    def pid(self) -> int | None:
        """The child's process, or None while there is none."""
        return self._child.pid if self._child is not None and self._child.alive else None

    async def start(self) -> None:
        """Starts the first child, so that problems show before the first script."""
        await self._living_child()

    async def run(
        self, script: str, args_json: str = "{}", *, wall_s: float | None = None, calls: int | None = None
    ) -> Outcome:
        """Runs one script; see `Sandbox.run`."""
        limits = self._narrowed(wall_s, calls)
        args = usable_args(args_json)
        if len(script) + len(args) > _LONGEST_INPUT:
            raise InvalidInput(f"script and args are longer than {_LONGEST_INPUT:,} characters together: pass less")
        if asyncio.get_running_loop() is not self._loop:
            raise InvalidInput("a sandbox is used in the event loop that opened it")
        async with self._busy:
            child = await self._living_child()
            return await self._run(child, script, args, limits)

    async def _run(self, child: ChildProcess, script: str, args: str, limits: Limits) -> Outcome:
        child.turns += 1
        live = LiveLog(self._emit)
        turn = Turn(child, self._toolbox, limits, self._clock, live)
        began = self._clock.now()
        try:
            ending = await turn.run(script, args)
        except BaseException:
            live.cancel()
            raise
        duration_ms = math.ceil((self._clock.now() - began) * 1000)
        await live.aclose()
        outcome = _outcome(ending, turn, duration_ms)
        if ending.raised is not None:
            ending.raised.outcome = outcome
            raise ending.raised
        return outcome

    def _narrowed(self, wall_s: float | None, calls: int | None) -> Limits:
        limits = self._limits
        if wall_s is not None:
            limits = replace(limits, wall_s=min(limits.wall_s, max(wall_s, 0.0)))
        if calls is not None:
            limits = replace(limits, calls=min(limits.calls, max(calls, 0)))
        return limits

    async def _living_child(self) -> ChildProcess:
        if self._closed:
            raise Closed("the sandbox is closed")
        child = self._child
        if child is not None and child.alive and child.turns < _TURNS_PER_CHILD:
            return child
        if child is not None:
            child.kill()
            await child.wait_closed()
        self._child = None
        frame = max(self._limits.result_bytes, _SMALLEST_FRAME)
        fresh = await start_child(self._launcher, self._config(frame), frame + _FRAME_MARGIN)
        try:
            self._check_isolation(fresh.isolation)
        except SandboxError:
            fresh.kill()
            await fresh.wait_closed()
            raise
        self._child, self._isolation, self._engine = fresh, fresh.isolation, fresh.engine
        return fresh

    async def add(self, pack: Pack) -> None:
        """Adds a pack for the scripts from the next one on. Waits for the script that runs.

        Raises `InvalidInput` when it clashes with what is there; then nothing is added.
        """
        async with self._busy:
            self._toolbox = Toolbox([*self._toolbox.packs, pack], emit=self._emit)
            if self._child is not None:
                # What a child can call is settled when it is started.
                self._child.kill()
                await self._child.wait_closed()
                self._child = None

    def _check_isolation(self, reached: Isolation) -> None:
        if self._required is None or _STRENGTH[reached] >= _STRENGTH[self._required]:
            return
        raise SandboxError(
            f"isolation {self._required!r} is required, but this machine reaches only {reached!r}: "
            "use Linux on x86_64 or aarch64, or require less"
        )

    def _config(self, frame: int) -> dict[str, object]:
        limits = self._limits
        # A backstop for a host that is stopped; a script's own deadline comes long before.
        cpu_s = _TURNS_PER_CHILD * math.ceil(min(limits.wall_s, 86_400)) + 60
        return {
            **self._toolbox.config(),
            "memory_mb": limits.memory_mb,
            "cpu_s": cpu_s,
            "frame": frame,
            "result_bytes": limits.result_bytes,
            "depth": limits.depth,
        }

    async def aclose(self) -> None:
        """Ends the child. A script that is running ends as died; later ones raise `Closed`."""
        self._closed = True
        if self._child is not None:
            self._child.end("the sandbox was closed")
            await self._child.wait_closed()
            self._child = None


def _outcome(ending: Ending, turn: Turn, duration_ms: int) -> Outcome:
    return Outcome(
        value_json=ending.value_json,
        logs=turn.log.text(),
        answer=ending.answer,
        error=ending.error,
        warnings=ending.warnings,
        duration_ms=duration_ms,
        calls=turn.calls,
        untrusted=turn.untrusted,
    )
