"""What a run takes, leaves and returns: frozen values and their wire forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypeVar

from agentloop.errors import refuse_text

__all__ = [
    "Json",
    "Prices",
    "RunLimits",
    "RunRecord",
    "RunRequest",
    "RunResult",
    "Scope",
    "Session",
    "Status",
    "Step",
    "StepType",
    "TurnOutcome",
    "Usage",
]

Json: TypeAlias = Any
"""A JSON value as Python's `json` gives it."""

StepType = Literal["user", "execute_js", "execute_js_result", "response", "error", "summary"]


class Status(StrEnum):
    """Where a run is, or how it ended. `report.verdict` maps the terminal ones to exit codes."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    ERROR = "error"
    MAX_ITERATIONS = "max_iterations"
    CHECK_FAILED = "check_failed"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    BROWSER_LOST = "browser_lost"
    MODEL_ERROR = "model_error"
    DIVERGED = "diverged"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """True when the run is over."""
        return self not in (Status.QUEUED, Status.RUNNING, Status.WAITING)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Optional narrowing handed to policies and capabilities; the engine never inspects it."""

    workspace_id: str = ""
    project_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one call, one turn or one run."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(prompt=self.prompt + other.prompt, completion=self.completion + other.completion)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What a model costs, per million tokens, in whatever currency the caller uses."""

    prompt: float = 0.0
    completion: float = 0.0

    def cost(self, usage: Usage) -> float:
        """The price of `usage`."""
        return (usage.prompt * self.prompt + usage.completion * self.completion) / 1_000_000


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What one run may spend. None = no limit. Passing `iterations` is `max_iterations`, `wall_s` is
    `timeout`, any other `budget`; what goes beyond `egress_bytes`, sent and received, is refused and ends no run."""

    iterations: int = 20
    wall_s: float = 300.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    carry_bytes: int = 32 * 1024 * 1024
    primitive_calls: int = 10_000
    egress_bytes: int = 1024 * 1024 * 1024
    prices: Prices = Prices()

    def narrowed(self, other: RunLimits | None) -> RunLimits:
        """The tighter of the two in every field; prices stay this one's."""
        if other is None:
            return self
        return RunLimits(
            iterations=min(self.iterations, other.iterations),
            wall_s=min(self.wall_s, other.wall_s),
            prompt_tokens=_tighter(self.prompt_tokens, other.prompt_tokens),
            completion_tokens=_tighter(self.completion_tokens, other.completion_tokens),
            cost=_tighter(self.cost, other.cost),
            carry_bytes=min(self.carry_bytes, other.carry_bytes),
            primitive_calls=min(self.primitive_calls, other.primitive_calls),
            egress_bytes=min(self.egress_bytes, other.egress_bytes),
            prices=self.prices,
        )


N = TypeVar("N", int, float)


def _tighter(a: N | None, b: N | None) -> N | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


@dataclass(frozen=True)
class RunRequest:
    """One thing to do. `limits`, `enabled` and `allow` can only narrow what the loop was built with.

    `context` is added to the system prompt of this run and kept nowhere. `fresh` starts from an
    empty carry instead of the session's. `url` is opened before the first turn. `setup` is kept with the run
    and never read by the engine: how whoever opened it wants to set it up again. Raises `InvalidInput` for one text
    as `enabled` or `allow`.
    """

    message: str
    _: KW_ONLY
    session: str | None = None
    run_id: str | None = None
    scope: Scope = Scope()
    user_id: str = ""
    context: str = ""
    fresh: bool = False
    url: str | None = None
    limits: RunLimits | None = None
    enabled: Sequence[str] | None = None
    allow: Sequence[str] | None = None
    setup: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_text("enabled", self.enabled, of="names")
        refuse_text("allow", self.allow, of="patterns")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One row of a session's history. `index` is monotonic per session and given by the store."""

    session_id: str
    run_id: str
    type: StepType
    content: str
    index: int = -1
    tool_args: Mapping[str, Json] = field(default_factory=dict)
    duration_ms: int = 0
    tokens: Usage = Usage()
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class Session:
    """A conversation: many runs, one history, one carry. `carry` is JSON text or None."""

    session_id: str
    model: str = ""
    persona: str = ""
    message_id: str = ""
    enabled: tuple[str, ...] | None = None
    carry: str | None = None
    status: Status | None = None
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What the store knows of a run: its status, what it has spent, and who owns it. `setup` is the request's."""

    run_id: str
    session_id: str
    message: str = ""
    url: str | None = None
    status: Status = Status.RUNNING
    reason: str = ""
    final_text: str = ""
    iterations: int = 0
    steps: int = 0
    tokens: Usage = Usage()
    cost: float = 0.0
    primitive_calls: int = 0
    active_ms: int = 0
    data_bytes_carried: int = 0
    owner: str = ""
    epoch: int = 0
    heartbeat_at: str = ""
    created_at: str = ""
    updated_at: str = ""
    setup: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TurnOutcome:
    """Whether the run is over after a turn, and where it stands."""

    done: bool
    status: Status


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """How a run ended. `turns` counts its calls of the model, as `RunLimits.iterations` does, `steps` the rows that
    it has kept; `checks` is filled by `verify`.

    `egress` says how pages were held (`boundary`), how many hosts were `contacted` and `refused`, how many `bytes`
    passed, and where the egress manifest is (`manifest`, None without one).
    """

    run_id: str
    session_id: str
    status: Status
    reason: str = ""
    final_text: str = ""
    turns: int = 0
    steps: int = 0
    tokens: Usage = Usage()
    cost: float = 0.0
    duration_ms: int = 0
    data_bytes_carried: int = 0
    system_prompt: str = ""
    artifacts: str | None = None
    checks: tuple[Mapping[str, Json], ...] = ()
    egress: Mapping[str, Json] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """The fields of the NDJSON `result` line, `system_prompt` and `egress` left out when empty."""
        data = asdict(self) | {"status": str(self.status), "checks": list(self.checks)}
        return {name: value for name, value in data.items() if value or name not in ("system_prompt", "egress")}
