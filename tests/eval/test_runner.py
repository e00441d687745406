from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agentloop import Scripted
from agentloop.errors import ModelError, StoreError
from agentloop.eval import Attempt, Case, CaseResult, Criterion, Judge, MemoryEvalStore, Suite, SuiteRun, run_suite
from agentloop.guard.redact import Redactor
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.records import RunResult, Status, Usage


def result(**fields: Any) -> RunResult:
    return RunResult(**{"run_id": "r", "session_id": "s", "status": Status.COMPLETED, "final_text": "42"} | fields)


async def answering(case: Case) -> Attempt:
    return Attempt(result=result(), record="did")


async def play(*cases: Case, judge: Sequence[Any] | None = None, **options: Any) -> SuiteRun:
    given = None if judge is None else Judge(Scripted(judge))
    return await run_suite(Suite(name="s", cases=cases), **{"perform": answering, "judge": given} | options)


def case(name: str = "a", *, judged: bool = True, rubric: Sequence[Criterion] = ()) -> Case:
    return Case(name=name, task=f"do {name}", judged=judged, rubric=tuple(rubric))


TWO = (Criterion("first"), Criterion("second"))


async def test_one_rubric() -> None:
    run = await play(case(), judge=["Score: 9\nRationale: right"])
    [done] = run.results
    assert (done.passed, done.score, done.rationale, done.error) == (True, 9.0, "right", "")
    assert (run.state, run.passed, run.failed, run.errors) == ("completed", 1, 0, 0)
    assert run.started_at <= run.finished_at


async def test_each_criterion_has_its_own_minimum() -> None:
    [done] = (await play(case(rubric=TWO), judge=["Score: 9", "Score: 3"])).results
    assert (done.passed, done.score, done.rationale) == (False, 6.0, "1 of 2 criteria passed.")
    lenient = (Criterion("first"), Criterion("second", 3))
    [done] = (await play(case(rubric=lenient), judge=["Score: 9", "Score: 3"])).results
    assert (done.passed, done.rationale) == (True, "All criteria passed.")
    [done] = (await play(case(rubric=TWO), judge=["Score: 0", "Score: 6"])).results
    assert (done.passed, done.score, done.rationale) == (False, 3.0, "All criteria failed.")


async def test_a_score_that_is_none_is_an_error_and_loses_no_other() -> None:
    [done] = (await play(case(rubric=(*TWO, Criterion("third"))), judge=["Score: 9", "Score: 7.5", "Score: 8"])).results
    assert not done.passed and "7.5" in done.error
    assert [score.score for score in done.scores] == [9, None, 8]


async def test_a_judge_that_breaks_is_an_error_and_loses_no_other() -> None:
    class Breaking:
        name = "breaking"

        def __init__(self) -> None:
            self.calls = 0

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            self.calls += 1
            if self.calls == 2:
                raise RuntimeError("broken")
            return ModelReply(content="Score: 9")

    suite = Suite(name="s", cases=(case(rubric=TWO),))
    [done] = (await run_suite(suite, perform=answering, judge=Judge(Breaking()))).results
    assert [score.score for score in done.scores] == [9, None]
    assert done.error == "RuntimeError: broken" and done.answer == "42"


async def test_without_a_judge() -> None:
    wanting, content = (await play(case("wanting"), case("content", judged=False))).results
    assert not wanting.passed and wanting.error.startswith("there is no judge")
    assert content.passed and not content.error


async def test_an_error_stays_with_its_case() -> None:
    async def perform(case: Case) -> Attempt:
        if case.name == "b":
            raise ModelError("unreachable")
        return Attempt(result=result())

    run = await play(*(case(name, judged=False) for name in "abc"), perform=perform)
    assert [(done.case, done.passed, done.error) for done in run.results] == [
        ("a", True, ""),
        ("b", False, "unreachable"),
        ("c", True, ""),
    ]


async def test_an_error_of_the_surroundings_names_its_cause() -> None:
    async def perform(case: Case) -> Attempt:
        ended = result(status=Status.ERROR, reason="page_down")
        return Attempt(result=ended, trouble="http://127.0.0.1:9/: connect failed")

    [done] = (await play(case(), perform=perform, judge=[])).results
    assert done.error == "failed: the start page could not be opened: http://127.0.0.1:9/: connect failed"


@pytest.mark.parametrize(
    ("status", "reason", "is_error"),
    [
        (Status.CHECK_FAILED, "answer=1", False),
        (Status.MAX_ITERATIONS, "", False),
        (Status.BUDGET, "cost", False),
        (Status.TIMEOUT, "wall", False),
        (Status.REFUSED, "boundary", False),
        (Status.ERROR, "task_failed", False),
        (Status.ERROR, "no_progress", False),
        (Status.ERROR, "page_down", True),
        (Status.ERROR, "store", True),
        (Status.ERROR, "internal", True),
        (Status.MODEL_ERROR, "auth", True),
        (Status.BROWSER_LOST, "", True),
        (Status.CANCELLED, "api", True),
    ],
)
async def test_which_ends_are_the_agents_own(status: Status, reason: str, is_error: bool) -> None:
    """None of them is judged."""

    async def perform(case: Case) -> Attempt:
        return Attempt(result=result(status=status, reason=reason, tokens=Usage(prompt=1)))

    run = await play(case(), perform=perform, judge=[])
    [done] = run.results
    assert not done.passed and bool(done.error) is is_error
    assert (run.errors, run.failed) == ((1, 0) if is_error else (0, 1))
    assert done.tokens.prompt == 1


async def test_cases_run_side_by_side_and_come_back_in_order() -> None:
    """Three cases, two at a time: the first ends only once the second has begun."""
    begun = [asyncio.Event() for _ in range(3)]
    running = most = 0

    async def perform(case: Case) -> Attempt:
        nonlocal running, most
        running += 1
        most = max(most, running)
        begun[int(case.name)].set()
        if case.name == "0":
            await begun[1].wait()
            await begun[2].wait()
        running -= 1
        return Attempt(result=result(final_text=case.name))

    seen: list[CaseResult] = []
    run = await play(*(case(str(n), judged=False) for n in range(3)), perform=perform, jobs=2, on_result=seen.append)
    assert most == 2
    assert [done.answer for done in run.results] == ["0", "1", "2"]
    assert seen[-1].case == "0"


async def test_secrets_are_in_no_result() -> None:
    secret = "tr0ub4dor"

    async def perform(case: Case) -> Attempt:
        if case.name == "b":
            raise ModelError(f"bad key {secret}")
        checks = ({"check": f"text={secret}", "passed": True, "seen": secret},)
        return Attempt(result=result(final_text=secret, reason=secret, checks=checks), record=secret)

    store = MemoryEvalStore()
    redactor = Redactor.from_secrets({"key": secret})
    judge = Judge(Scripted([f"Score: {secret}"]), redactor=redactor)
    suite = Suite(name="s", cases=(case("a"), case("b")))
    run = await run_suite(suite, perform=perform, judge=judge, store=store, redactor=redactor)
    assert secret not in repr(run) and secret not in repr(await store.get(run.id))
    assert run.results[0].answer == "[redacted:secret.key]"


class Failing(MemoryEvalStore):
    async def add(self, run_id: str, result: CaseResult) -> None:
        raise StoreError("disk full")


async def test_a_store_that_fails_ends_the_run_and_it_does_not_stay_running() -> None:
    store = Failing()
    with pytest.raises(StoreError, match="disk full"):
        await play(case(judged=False), store=store)
    assert [run.state for run in await store.runs()] == ["failed"]


async def test_a_cancelled_run_does_not_stay_running() -> None:
    store, begun = MemoryEvalStore(), asyncio.Event()

    async def perform(case: Case) -> Attempt:
        if case.name == "b":
            begun.set()
            await asyncio.Event().wait()
        return Attempt(result=result())

    task = asyncio.create_task(play(case("a", judged=False), case("b"), perform=perform, store=store))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [run] = await store.runs()
    assert run.state == "cancelled" and run.finished_at
    assert [done.case for done in run.results] == ["a"]
