"""What a suite is made of, what running it gives, and where that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol, TypeAlias

from agentloop.errors import refuse_text
from agentloop.records import Json, RunLimits, Status, Usage

__all__ = ["MIN_SCORE", "Case", "CaseResult", "Criterion", "EvalStore", "RunState", "Score", "Suite", "SuiteRun"]

MIN_SCORE = 7
"""What a criterion asks for, of 10, unless it says otherwise."""

RunState: TypeAlias = Literal["running", "completed", "failed", "cancelled"]
"""How a run of a suite stands: `failed` is one that died or whose store did, not one with failed cases."""


@dataclass(frozen=True)
class Criterion:
    """One thing that the judge scores from 0 to 10, and the least that passes."""

    text: str
    min: int = MIN_SCORE


@dataclass(frozen=True, kw_only=True)
class Case:
    """A task with what must come of it.

    With a `url` it is done in a browser that begins there, else without one, with `packs` by name. `expect` are
    checks as `report.checks` reads them. `judged` asks the judge for each criterion of the `rubric`, or for the
    answer as a whole when there is none.
    """

    name: str
    task: str
    url: str | None = None
    allow: tuple[str, ...] | None = None
    expect: tuple[str, ...] = ()
    rubric: tuple[Criterion, ...] = ()
    judged: bool = False
    limits: RunLimits = RunLimits()
    packs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text("allow", self.allow, of="patterns")
        refuse_text("expect", self.expect, of="checks")
        refuse_text("packs", self.packs, of="names")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Cases with different names. `judge_model` "" is the judge's own default."""

    name: str
    cases: tuple[Case, ...]
    judge_model: str = ""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The judge's word on one criterion: a score with its reason, or the error that kept it from giving one."""

    criterion: str
    min: int
    score: int | None = None
    rationale: str = ""
    error: str = ""

    @property
    def passed(self) -> bool:
        """True when there is a score and it is enough."""
        return self.score is not None and self.score >= self.min


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """What came of one case. With an `error` it could not be told whether the agent did well."""

    case: str
    passed: bool = False
    error: str = ""
    status: Status | None = None
    reason: str = ""
    answer: str = ""
    checks: tuple[Mapping[str, Json], ...] = ()
    scores: tuple[Score, ...] = ()
    run_id: str = ""
    steps: int = 0
    tokens: Usage = Usage()
    cost: float = 0.0
    duration_ms: int = 0

    @property
    def score(self) -> float | None:
        """The mean of the judge's scores, to one digit; None without any."""
        given = [score.score for score in self.scores if score.score is not None]
        return round(sum(given) / len(given), 1) if given else None

    @property
    def rationale(self) -> str:
        """The judge's reason, or how many criteria passed."""
        if len(self.scores) == 1:
            return self.scores[0].rationale
        met = sum(score.passed for score in self.scores)
        if not self.scores or met == len(self.scores):
            return "All criteria passed." if self.scores else ""
        return f"{met} of {len(self.scores)} criteria passed." if met else "All criteria failed."

    def to_dict(self) -> dict[str, Json]:
        """Its JSON form."""
        return asdict(self) | {
            "status": None if self.status is None else str(self.status),
            "checks": list(self.checks),
            "scores": [asdict(score) | {"passed": score.passed} for score in self.scores],
            "score": self.score,
            "rationale": self.rationale,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> CaseResult:
        """The inverse of `to_dict`."""
        scores = [Score(**{name: each[name] for name in Score.__dataclass_fields__}) for each in data["scores"]]
        given = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(
            **given
            | {
                "status": Status(data["status"]) if data["status"] else None,
                "checks": tuple(data["checks"]),
                "scores": tuple(scores),
                "tokens": Usage(**data["tokens"]),
            }
        )


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """One run of a suite; `results` are in the order of its cases, those of a run that goes on as they came."""

    id: str
    suite: str
    state: RunState = "running"
    started_at: str = ""
    finished_at: str = ""
    results: tuple[CaseResult, ...] = field(default=())

    @property
    def passed(self) -> int:
        """Cases that passed."""
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        """Cases in which the agent did not do well."""
        return sum(not result.passed and not result.error for result in self.results)

    @property
    def errors(self) -> int:
        """Cases of which nothing can be told."""
        return sum(bool(result.error) for result in self.results)

    def to_dict(self) -> dict[str, Json]:
        """Its JSON form, with a summary."""
        summary = {"total": len(self.results), "passed": self.passed, "failed": self.failed, "errors": self.errors}
        return {
            "id": self.id,
            "suite": self.suite,
            "state": self.state,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "summary": summary,
            "results": [result.to_dict() for result in self.results],
        }


class EvalStore(Protocol):
    """Keeps runs of suites. A run whose process is gone is never `running`: it reads as `failed`."""

    async def start(self, run: SuiteRun) -> None:
        """Keeps a new run. Raises `InvalidInput` when its id is taken."""

    async def add(self, run_id: str, result: CaseResult) -> None:
        """Keeps the result of one case. Raises `UnknownSession` for an unknown run."""

    async def finish(self, run: SuiteRun) -> None:
        """Keeps the end of a run: state, time, and its results in order. Raises `UnknownSession`."""

    async def get(self, run_id: str) -> SuiteRun | None:
        """The run with its results, or None."""

    async def runs(self, suite: str = "", *, limit: int = 20) -> Sequence[SuiteRun]:
        """The newest runs first, of one suite or of all, at most `limit`."""

    async def aclose(self) -> None:
        """Lets everything go; may be called twice."""
