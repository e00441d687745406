"""Runs the cases of a suite side by side, and has their answers judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from agentloop.clock import utc_now
from agentloop.errors import AgentLoopError, StoreError
from agentloop.eval.base import Case, CaseResult, Criterion, EvalStore, RunState, Score, Suite, SuiteRun
from agentloop.eval.judge import Judge
from agentloop.eval.memory import MemoryEvalStore
from agentloop.guard.redact import Redactor
from agentloop.records import RunResult, Status
from agentloop.report.verdict import describe
from agentloop.run.opening import new_id

__all__ = ["Attempt", "OnResult", "Perform", "run_suite"]

_FINISH_S = 20.0
"""Seconds that writing the end of a run may take."""

_OWN_FAULTS = frozenset({"", "no_progress", "empty_reply", "task_failed", "blocked"})
"""Reasons of an `error` that tell of the agent; others tell of its surroundings, and so nothing of it."""

_STATUSES_OF_THE_AGENT = frozenset(
    {Status.COMPLETED, Status.CHECK_FAILED, Status.MAX_ITERATIONS, Status.BUDGET, Status.TIMEOUT, Status.REFUSED}
)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What the agent did with a case: the run's result, its checks judged, and the record that the judge reads.

    `trouble` says in words what ended a run that did not end well.
    """

    result: RunResult
    record: str = ""
    trouble: str = ""


Perform: TypeAlias = Callable[[Case], Awaitable[Attempt]]
"""Does one case, in a session of its own."""

OnResult: TypeAlias = Callable[[CaseResult], None]
"""Called with each result as it comes; must not block."""


async def run_suite(
    suite: Suite,
    *,
    perform: Perform,
    judge: Callable[[Case], Judge] | Judge | None = None,
    store: EvalStore | None = None,
    jobs: int = 1,
    redactor: Redactor | None = None,
    on_result: OnResult | None = None,
) -> SuiteRun:
    """Runs every case, at most `jobs` at a time, and keeps each result as it comes.

    Whatever goes wrong in a case is that case's error. A store that fails ends the run, as does cancellation; both
    are raised, and the run is closed as `failed` or `cancelled` first.
    """
    shown = redactor or Redactor()
    keeper = _Keeper(store or MemoryEvalStore(), suite)
    await keeper.start()
    slots = asyncio.Semaphore(max(1, jobs))

    async def one(case: Case) -> None:
        async with slots:
            result = _redacted(await _examine(case, perform, judge(case) if callable(judge) else judge), shown)
        await keeper.add(result)
        if on_result is not None:
            on_result(result)

    try:
        async with asyncio.TaskGroup() as group:
            for case in suite.cases:
                group.create_task(one(case))
    except BaseExceptionGroup as errors:
        await keeper.finish("failed")
        raise errors.exceptions[0] from None
    except BaseException:
        await keeper.finish("cancelled")
        raise
    return await keeper.finish("completed")


class _Keeper:
    """The run as it grows."""

    def __init__(self, store: EvalStore, suite: Suite) -> None:
        self._store = store
        self._names = [case.name for case in suite.cases]
        self._run = SuiteRun(id=new_id(), suite=suite.name, started_at=utc_now())

    async def start(self) -> None:
        await self._store.start(self._run)

    async def add(self, result: CaseResult) -> None:
        await self._store.add(self._run.id, result)
        self._run = replace(self._run, results=(*self._run.results, result))

    async def finish(self, state: RunState) -> SuiteRun:
        """Writes the end on a deadline of its own; also while its caller is being cancelled."""
        ordered = sorted(self._run.results, key=lambda result: self._names.index(result.case))
        self._run = replace(self._run, state=state, finished_at=utc_now(), results=tuple(ordered))
        writing = asyncio.ensure_future(self._store.finish(self._run))
        try:
            async with asyncio.timeout(_FINISH_S):
                await asyncio.shield(writing)
        except TimeoutError:
            raise StoreError(f"the end of the run could not be written within {_FINISH_S:g} s") from None
        except asyncio.CancelledError:
            await asyncio.wait([writing], timeout=_FINISH_S)
            raise
        return self._run


async def _examine(case: Case, perform: Perform, judge: Judge | None) -> CaseResult:
    try:
        attempt = await perform(case)
    except Exception as error:  # the border: a case is foreign code and data, and the others go on
        return CaseResult(case=case.name, error=_worded(error))
    result = _outcome(case, attempt.result, attempt.trouble)
    if result.error or result.status is not Status.COMPLETED or not case.judged:
        return replace(result, passed=not result.error and result.status is Status.COMPLETED)
    if judge is None:
        return replace(result, error="there is no judge: give a model for it, or turn the case's judge off")
    scores = [await _score(judge, each, case, attempt) for each in case.rubric or (Criterion(""),)]
    failures = "; ".join(score.error for score in scores if score.error)
    return replace(result, scores=tuple(scores), error=failures, passed=all(score.passed for score in scores))


async def _score(judge: Judge, criterion: Criterion, case: Case, attempt: Attempt) -> Score:
    try:
        return await judge.score(criterion, task=case.task, answer=attempt.result.final_text, record=attempt.record)
    except Exception as error:  # the border: a judge's client is foreign code; what it said before counts on
        return Score(criterion=criterion.text, min=criterion.min, error=_worded(error))


def _worded(error: Exception) -> str:
    """An error of the engine's own says what to do; any other is named by its class."""
    return str(error) if isinstance(error, AgentLoopError) and str(error) else f"{type(error).__name__}: {error}"


def _outcome(case: Case, run: RunResult, trouble: str) -> CaseResult:
    own = run.status in _STATUSES_OF_THE_AGENT or (run.status is Status.ERROR and run.reason in _OWN_FAULTS)
    return CaseResult(
        case=case.name,
        error="" if own else ": ".join(filter(None, (describe(run.status, run.reason), trouble))),
        status=run.status,
        reason=run.reason,
        answer=run.final_text,
        checks=run.checks,
        run_id=run.run_id,
        steps=run.steps,
        tokens=run.tokens,
        cost=run.cost,
        duration_ms=run.duration_ms,
    )


def _redacted(result: CaseResult, redactor: Redactor) -> CaseResult:
    checks: tuple[Mapping[str, object], ...] = tuple(redactor.json(check) for check in result.checks)
    return replace(
        result,
        answer=redactor.text(result.answer),
        error=redactor.text(result.error),
        scores=tuple(replace(score, error=redactor.text(score.error)) for score in result.scores),
        reason=redactor.text(result.reason),
        checks=checks,
    )
