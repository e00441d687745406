"""How a run ends: one status, its last steps, and exactly one `done` event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agentloop.context import feedback
from agentloop.errors import (
    AgentLoopError,
    BrowserLost,
    CallerError,
    ContextOverflow,
    EndRun,
    ModelAuthError,
    ModelError,
    Refused,
    RepliesUsedUp,
    SandboxError,
    StoreError,
)
from agentloop.guard.logs import logger
from agentloop.records import Json, RunRecord, RunResult, Status
from agentloop.run.context import RunContext
from agentloop.run.keeping import record, save_state
from agentloop.run.leaks import tell_leaks

__all__ = ["FINISH_S", "Judge", "end_of", "expected", "finish", "result_of"]

_LOG = logger(__name__)

FINISH_S = 20.0
"""Seconds that writing a run's end may take, whatever ended it."""

Judge: TypeAlias = Callable[[], Awaitable[Sequence[Mapping[str, Json]]]]
"""Checks a finished run while its page is open; each verdict has `check` and `passed`."""

_ENDINGS: tuple[tuple[type[BaseException], Status, str], ...] = (
    (ModelAuthError, Status.MODEL_ERROR, "auth"),
    (ContextOverflow, Status.MODEL_ERROR, "context_overflow"),
    (RepliesUsedUp, Status.MODEL_ERROR, "replies_used_up"),
    (ModelError, Status.MODEL_ERROR, "endpoint"),
    (StoreError, Status.ERROR, "store"),
    (SandboxError, Status.ERROR, "script"),
    (BrowserLost, Status.BROWSER_LOST, ""),
    (Refused, Status.REFUSED, ""),
    (CallerError, Status.ERROR, "setup"),
    (asyncio.CancelledError, Status.CANCELLED, "api"),
)


def end_of(error: BaseException) -> EndRun:
    """The end that an error reaching the loop means."""
    if isinstance(error, EndRun):
        return error
    for kind, status, reason in _ENDINGS:
        if isinstance(error, kind):
            return EndRun(status, reason, str(error))
    return EndRun(Status.ERROR, "internal", f"{type(error).__name__}: {error}")


def expected(error: BaseException) -> bool:
    """True for what the world does: the run's status tells it, so it is not raised as well."""
    return isinstance(error, (AgentLoopError, EndRun))


async def finish(context: RunContext, end: EndRun, *, system_prompt: str, judge: Judge | None) -> RunResult:
    """Writes the end on a deadline of its own, to its last line even when the caller is cancelled meanwhile.

    When the store fails, or anything else, the live events and the result still say how the run ended.
    """
    work = asyncio.create_task(_write(context, end, system_prompt, judge))
    try:
        async with asyncio.timeout(FINISH_S):
            return await asyncio.shield(work)
    except (StoreError, TimeoutError) as error:
        return _unwritten(context, system_prompt, str(error) or "writing the end took too long")
    except Exception as error:  # the last border: store and listener are foreign code, and every run has an end
        _LOG.exception("the end of run %s could not be told", context.run.run_id)
        return _unwritten(context, system_prompt, f"{type(error).__name__}: {error}", reason="internal")
    except asyncio.CancelledError:
        await asyncio.wait([work], timeout=FINISH_S)
        raise
    finally:
        if not work.done():
            work.cancel()


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    status: Status
    reason: str = ""
    final_text: str = ""
    checks: tuple[Mapping[str, Json], ...] = ()


async def _write(context: RunContext, end: EndRun, system_prompt: str, judge: Judge | None) -> RunResult:
    try:
        verdict = await _last_steps(context, end, judge)
        await save_state(context)
    finally:
        await context.stop()
    result = _result(context, verdict, system_prompt)
    await _save(context, result)
    await tell_leaks(context)
    await context.journal.emit(
        "done", content=str(result.status), args={"reason": result.reason}, summary=_summary(result)
    )
    context.trace.end(result, str(end.data or ""))
    return result


def _unwritten(context: RunContext, system_prompt: str, why: str, *, reason: str = "store") -> RunResult:
    context.journal.live("error", why)
    context.journal.live("done", str(Status.ERROR))
    result = _result(context, _Verdict(status=Status.ERROR, reason=reason), system_prompt)
    context.trace.end(result, why)
    return result


async def _last_steps(context: RunContext, end: EndRun, judge: Judge | None) -> _Verdict:
    journal = context.journal
    if context.in_script:
        await journal.step("execute_js_result", feedback.say("interrupted"))
    if end.status is Status.BUDGET:
        await journal.emit("budget_spent", content=str(end.data or end.reason), args={"reason": end.reason})
    if end.status is not Status.COMPLETED:
        await journal.step("error", _told(end), args={"reason": end.reason})
        return _Verdict(status=end.status, reason=end.reason)
    text = "" if end.data is None else str(end.data)
    await journal.step("response", text)
    return await _judged(context, text, judge)


def _told(end: EndRun) -> str:
    if not end.data and end.status is Status.CANCELLED:
        return "ended by a signal" if end.reason == "signal" else "cancelled"
    return str(end.data or end.reason or end.status)


async def _judged(context: RunContext, text: str, judge: Judge | None) -> _Verdict:
    try:
        checks = tuple([dict(check) for check in await judge()]) if judge else ()
    except Exception as error:  # the border: who judges is foreign code, and the run must get its end
        end = end_of(error)
        await context.journal.step("error", f"the run could not be judged: {end.data or end.reason}")
        return _Verdict(status=end.status, reason=end.reason or "verify", final_text=text)
    for check in checks:
        await context.journal.emit("check", content=str(check.get("check", "")), args=check)
    failed = [str(check.get("check", "")) for check in checks if not check.get("passed")]
    status = Status.CHECK_FAILED if failed else Status.COMPLETED
    return _Verdict(status=status, reason=", ".join(failed), final_text=text, checks=checks)


def _result(context: RunContext, verdict: _Verdict, system_prompt: str) -> RunResult:
    spent = context.spending
    artifacts = context.build.artifacts
    shown = context.journal.redactor
    return RunResult(
        run_id=context.run.run_id,
        session_id=context.run.session_id,
        status=verdict.status,
        reason=shown.text(verdict.reason),
        final_text=shown.text(verdict.final_text),
        turns=spent.iterations,
        steps=context.journal.steps,
        tokens=spent.tokens,
        cost=spent.cost,
        duration_ms=round(context.clock.now() * 1000),
        data_bytes_carried=spent.data_bytes_carried,
        system_prompt=shown.text(system_prompt),
        artifacts=artifacts.location if artifacts else None,
        checks=tuple(shown.json(check) for check in verdict.checks),
        egress=context.egress.summary(),
    )


async def _save(context: RunContext, result: RunResult) -> None:
    context.run = record(context, status=result.status, reason=result.reason, final_text=result.final_text)
    await context.store.save_run(context.run)
    await context.store.set_session_status(context.run.session_id, result.status)


def result_of(run: RunRecord) -> RunResult:
    """The result of a run that is over, from its row."""
    return RunResult(
        run_id=run.run_id,
        session_id=run.session_id,
        status=run.status,
        reason=run.reason,
        final_text=run.final_text,
        turns=run.iterations,
        steps=run.steps,
        tokens=run.tokens,
        cost=run.cost,
        duration_ms=run.active_ms,
        data_bytes_carried=run.data_bytes_carried,
    )


def _summary(result: RunResult) -> dict[str, Json]:
    return {
        "status": str(result.status),
        "reason": result.reason,
        "session_id": result.session_id,
        "steps": result.steps,
        "tokens": {"prompt": result.tokens.prompt, "completion": result.tokens.completion},
        "cost": result.cost,
        "data_bytes_carried": result.data_bytes_carried,
        "duration_ms": result.duration_ms,
    }
