"""Runs one script of a turn and writes down what it did."""

from __future__ import annotations

from dataclasses import replace

from agentloop.context import feedback
from agentloop.context.prompt import Prompt
from agentloop.context.reply import Script
from agentloop.errors import EndRun, EndTurn
from agentloop.guard.redact import Redactor
from agentloop.records import Status, Usage
from agentloop.run.context import RunContext
from agentloop.run.conversation import Conversation
from agentloop.sandbox.base import Outcome
from agentloop.tracing import Span

__all__ = ["execute"]

LAST_MOMENT_S = 0.5
"""A script is interrupted a little before the run's own deadline; with less than this left, the run is over."""


async def execute(
    context: RunContext, said: Conversation, script: Script, *, carry: str | None, prompt: Prompt, usage: Usage
) -> tuple[Outcome, tuple[str, ...]]:
    """The script's outcome and the receipts of its acts; both steps are kept, the script's before it runs.

    The script runs as it was written, on the carry as it is; what is kept of both and said of them is redacted,
    `value_json` excepted, which the next script gets as it is.
    Raises `EndRun` when the script answered, a primitive ended the run, or the run's calls are used up.
    """
    redactor = context.journal.redactor
    await context.journal.step("execute_js", script.code, tokens=usage)
    said.add("script", redactor.text(script.code))
    context.in_script = True
    ended: EndRun | EndTurn | None = None
    try:
        with context.trace.script() as span:
            outcome = await context.sandbox.run(
                script.code, carry or "{}", wall_s=context.seconds_left, calls=context.spending.calls_left
            )
            _report(span, outcome)
    except (EndRun, EndTurn) as raised:
        ended, outcome = raised, raised.outcome or Outcome()
    context.spending.calls += outcome.calls
    context.trace.ran(duration_ms=outcome.duration_ms, failed=outcome.error is not None)
    outcome = _redacted(outcome, redactor)
    receipts = tuple(map(redactor.text, context.receipts()))
    text = feedback.result_text(
        outcome,
        receipts=receipts,
        notes=[*script.notes, *_feedback_of(ended)],
        carried=carry is not None,
        log_chars=prompt.log_chars,
    )
    context.in_script = False
    said.add("result", redactor.text(text))
    await context.journal.step(
        "execute_js_result",
        text,
        args={"error": outcome.error.name} if outcome.error else {},
        duration_ms=outcome.duration_ms,
    )
    _raise_end(context, outcome, ended)
    return outcome, receipts


def _report(span: Span, outcome: Outcome) -> None:
    span.set({"agentloop.primitive_calls": outcome.calls})
    if outcome.error is not None:
        span.failed(outcome.error.name, outcome.error.message)


def _redacted(outcome: Outcome, redactor: Redactor) -> Outcome:
    """Before anything is cut to size: half a secret would not be recognised."""
    if not redactor:
        return outcome
    error = outcome.error
    return replace(
        outcome,
        logs=redactor.text(outcome.logs),
        answer=None if outcome.answer is None else redactor.text(outcome.answer),
        error=None if error is None else replace(error, message=redactor.text(error.message)),
        warnings=tuple(map(redactor.text, outcome.warnings)),
    )


def _feedback_of(ended: EndRun | EndTurn | None) -> list[str]:
    return [str(ended.data or ended.reason)] if isinstance(ended, EndTurn) else []


def _raise_end(context: RunContext, outcome: Outcome, ended: EndRun | EndTurn | None) -> None:
    if isinstance(ended, EndRun):
        raise ended
    if outcome.answer is not None:
        raise EndRun(Status.COMPLETED, data=outcome.answer)
    error = outcome.error
    if error is None:
        return
    if error.where == "timeout" and context.seconds_left < LAST_MOMENT_S:
        raise EndRun(Status.TIMEOUT, "wall", error.message)
    if error.where == "limit" and context.spending.calls_left <= 0:
        raise EndRun(Status.BUDGET, "primitive_calls", error.message)
