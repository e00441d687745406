"""Runs one script of a turn and writes down what it did."""

from __future__ import annotations

from dataclasses import replace

from agentloop.context import feedback
from agentloop.context.digest import shape
from agentloop.context.prompt import Prompt
from agentloop.context.reply import Script
from agentloop.errors import EndRun, EndTurn
from agentloop.guard.fence import neutralized_message
from agentloop.guard.redact import Redactor
from agentloop.records import Json, Status, Usage
from agentloop.run.context import RunContext
from agentloop.run.conversation import Conversation
from agentloop.sandbox.base import Outcome
from agentloop.tracing import Span

__all__ = ["LAST_MOMENT_S", "execute"]

LAST_MOMENT_S = 0.5
"""A script is interrupted a little before the run's own deadline; with less than this left, the run is over."""


_MESSAGE_CHARS = 500


async def execute(
    context: RunContext, said: Conversation, script: Script, *, prompt: Prompt, usage: Usage
) -> tuple[Outcome, tuple[str, ...]]:
    """The script's outcome and the receipts of its acts; both steps are kept, the script's before it runs.

    The script runs as it was written, on the carry as it is, and what it returned becomes the carry; what is kept
    of them and said of them is redacted. The carry is kept before the result: a process that dies between the two
    leaves a script that "may have half happened", never one that is told as done and has lost its data.
    Raises `EndRun` when the script answered, a primitive ended the run, or the run's calls are used up.
    """
    redactor = context.journal.redactor
    carried = context.carry is not None
    await context.journal.step("execute_js", script.code, tokens=usage)
    said.add("script", redactor.text(script.code))
    context.in_script = True
    ended: EndRun | EndTurn | None = None
    try:
        with context.trace.script() as span:
            outcome = await context.sandbox.run(
                script.code, context.carry or "{}", wall_s=context.seconds_left, calls=context.spending.calls_left
            )
            _report(span, outcome)
    except (EndRun, EndTurn) as raised:
        ended, outcome = raised, raised.outcome or Outcome()
    context.spending.calls += outcome.calls
    context.trace.ran(duration_ms=outcome.duration_ms, failed=outcome.error is not None)
    # A script that only reads its args logs what strangers wrote as well as one that asks for it.
    outcome = replace(outcome, untrusted=outcome.untrusted or context.tainted)
    over_budget = await _thread(context, outcome)
    outcome = _redacted(outcome, redactor)
    receipts = tuple(map(redactor.text, context.receipts()))
    text = feedback.result_text(
        outcome,
        receipts=receipts,
        notes=[*script.notes, *_reproach(script, prompt), *_feedback_of(ended)],
        carried=carried,
        log_chars=prompt.log_chars,
    )
    context.in_script = False
    said.add("result", redactor.text(text))
    await context.journal.step(
        "execute_js_result",
        text,
        args=_result_args(outcome),
        duration_ms=outcome.duration_ms,
    )
    if outcome.value_json is not None and over_budget is None:
        size = len(outcome.value_json)
        await context.journal.emit("data_update", content=context.shape, args={"bytes": size})
    _raise_end(context, outcome, ended or over_budget)
    return outcome, receipts


async def _thread(context: RunContext, outcome: Outcome) -> EndRun | None:
    if outcome.value_json is None:
        return None
    try:
        context.spending.check_carry(outcome.value_json)
    except EndRun as end:
        return end
    context.carry = None if outcome.value_json == "null" else outcome.value_json
    context.tainted = outcome.untrusted and context.carry is not None
    kept = context.carry and context.journal.redactor.document(context.carry)
    context.shape = shape(kept)
    # A process that lost the run must not write its carry over the new owner's.
    await context.store.heartbeat(context.run.run_id, context.run.epoch)
    await context.store.save_carry(context.run.session_id, kept)
    return None


def _result_args(outcome: Outcome) -> dict[str, Json]:
    args: dict[str, Json] = {}
    if outcome.error is not None:
        line = next(iter(outcome.error.message.strip().splitlines()), "")
        args = {"error": outcome.error.name, "message": line[:_MESSAGE_CHARS]}
    return args if outcome.answer is None else args | {"answer": outcome.answer}


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


def _reproach(script: Script, prompt: Prompt) -> list[str]:
    # Where a reply may also be prose, a script that only calls answer() at its top is a good one.
    return [feedback.say("bare")] if script.bare and not prompt.prose_answers else []


def _feedback_of(ended: EndRun | EndTurn | None) -> list[str]:
    return [neutralized_message(str(ended.data or ended.reason))] if isinstance(ended, EndTurn) else []


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
