"""One script in, its outcome out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Isolation", "Limits", "Outcome", "Sandbox", "ScriptError", "Where"]

Where = Literal["load", "run", "result", "engine", "limit", "timeout", "died"]
"""Where a script failed: loading, running, turning its result into JSON, inside the engine, at a
call limit, at the deadline (killed), or because its process died."""

Isolation = Literal["seccomp", "rlimits", "process", "none"]
"""What was really achieved: system calls filtered; resource limits only; a bare child process."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one script may use. `wall_s` counts from start to end, primitives included and open
    questions excluded; `calls` counts primitive calls of one `run`; `depth` is the nesting of a result."""

    memory_mb: int = 128
    wall_s: float = 120.0
    log_bytes: int = 16_384
    result_bytes: int = 32 * 1024 * 1024
    depth: int = 200
    calls: int = 10_000
    in_flight: int = 256


@dataclass(frozen=True, kw_only=True)
class ScriptError:
    """Why a script ended early. `line` and `column` count from 1; 0 = unknown."""

    name: str
    message: str
    line: int = 0
    column: int = 0
    where: Where = "run"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a script did.

    `value_json` is the JSON text of what `run` returned, or None when it returned nothing
    (`undefined`), when there was no `run`, or on an error. `answer` is the text given to `answer()`,
    None when it was not called; after it nothing of the script runs. `warnings` name lossy
    conversions with their paths. `calls` counts primitive calls made, `untrusted` tells whether one of
    them may have returned text written by strangers.
    """

    value_json: str | None = None
    logs: str = ""
    answer: str | None = None
    error: ScriptError | None = None
    warnings: tuple[str, ...] = ()
    duration_ms: int = 0
    calls: int = 0
    untrusted: bool = False


class Sandbox(Protocol):
    """Runs scripts, one at a time, each in a fresh JavaScript realm.

    `run` never raises for what a script does: errors, time-outs and a dead child come back in the
    outcome, and the next `run` works. It raises `EndRun` or `EndTurn` when a primitive did (with
    `outcome` set to what there was so far), `SandboxError` when no child can be started, `Closed`
    after `aclose`, and passes cancellation on after killing the child. `wall_s` and `calls` can
    only tighten the sandbox's own limits for this one script.
    """

    @property
    def isolation(self) -> Isolation: ...

    async def run(
        self, script: str, args_json: str = "{}", *, wall_s: float | None = None, calls: int | None = None
    ) -> Outcome: ...

    async def aclose(self) -> None: ...
