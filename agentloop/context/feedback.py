"""Every sentence said back to the model; the words are in `prompts/feedback.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from agentloop.context.words import fill, sections
from agentloop.guard.fence import fence, one_line
from agentloop.sandbox.base import Outcome, ScriptError

__all__ = ["LOG_CHARS", "Phrase", "args_shape", "result_text", "say"]

Phrase = Literal[
    "acts_done",
    "acts_left_out",
    "args_kept",
    "bare",
    "earlier_left_out",
    "empty",
    "error",
    "error_at",
    "hint_deadline",
    "hint_died",
    "hint_name",
    "hint_syntax",
    "hint_value",
    "interrupted",
    "log_cut",
    "messages_left_out",
    "no_code",
    "no_progress",
    "no_progress_again",
    "nothing_logged",
    "nothing_returned",
    "observe_failed",
    "result_label",
    "scripts_left_out",
    "shape",
    "took_too_long",
    "truncated",
    "turns_left",
    "warning",
    "warnings_left_out",
]

LOG_CHARS = 2_000
"""Characters of a turn's logs that go into its result."""

_ERROR_CHARS = 1_000
_RECEIPTS = 12
_RECEIPT_CHARS = 120
_WARNINGS = 8
_WARNING_CHARS = 200
_DEADLINE = re.compile(r"deadline|timed? ?out|cancel+ed", re.IGNORECASE)
_VALUE = re.compile(r"undefined|null|not iterable", re.IGNORECASE)


def say(phrase: Phrase, /, **values: object) -> str:
    """One text with its values. Raises `InvalidInput` when a value is missing or has no place."""
    return fill(sections("feedback.md")[phrase], **values)


def args_shape(shape: str) -> str:
    """The digest of the carry with its label; "" stays ""."""
    return say("shape", shape=shape) if shape else ""


def result_text(
    outcome: Outcome,
    *,
    receipts: Sequence[str] = (),
    notes: Sequence[str] = (),
    carried: bool = False,
    log_chars: int = LOG_CHARS,
    nonce: str | None = None,
) -> str:
    """What the model reads about its script: acts, logs, warnings, error, hint, then `notes`.

    `receipts` has a line for each act done, `carried` tells whether args held anything before. Logs are
    cut in their middle to `log_chars` characters. What a tainted script logged or threw is fenced with
    `nonce` (None: a new one).
    """
    lines = [*_receipt_lines(receipts), *_told_by_script(outcome, log_chars, nonce), *_warning_lines(outcome.warnings)]
    if outcome.error is not None:
        lines += _after_error(outcome.error, acted=bool(receipts))
    elif not lines:
        lines.append(say("nothing_logged"))
    if _returned_nothing(outcome) and (carried or not receipts):
        lines.append(say("nothing_returned"))
    return "\n".join([*lines, *notes])


def _returned_nothing(outcome: Outcome) -> bool:
    return outcome.value_json is None and outcome.error is None and outcome.answer is None


def _receipt_lines(receipts: Sequence[str]) -> list[str]:
    lines = [one_line(receipt, _RECEIPT_CHARS) for receipt in receipts]
    if len(lines) <= _RECEIPTS:
        return lines
    # The newest acts matter most: they made the page that is there now.
    left_out = say("acts_left_out", count=len(lines) - _RECEIPTS)
    return [*lines[:2], left_out, *lines[2 - _RECEIPTS :]]


def _told_by_script(outcome: Outcome, log_chars: int, nonce: str | None) -> list[str]:
    told = [_middle_cut(outcome.logs.strip("\n"), log_chars)] if outcome.logs.strip() else []
    if outcome.error is not None:
        told.append(_error_line(outcome.error))
    if not told or not outcome.untrusted:
        return told
    return [fence("\n".join(told), nonce)]


def _error_line(error: ScriptError) -> str:
    message = _middle_cut(error.message.strip(), _ERROR_CHARS)
    if error.line <= 0:
        return say("error", name=error.name, message=message)
    return say("error_at", name=error.name, message=message, line=error.line, column=error.column)


def _after_error(error: ScriptError, *, acted: bool) -> Iterator[str]:
    if acted:
        yield say("acts_done")
    hint = _hint(error)
    if hint is not None:
        yield say(hint)
    yield say("args_kept")


def _hint(error: ScriptError) -> Phrase | None:
    if error.where == "died" or "out of memory" in error.message or "stack overflow" in error.message:
        return "hint_died"
    if error.where == "timeout" or _DEADLINE.search(f"{error.name} {error.message}"):
        return "hint_deadline"
    if error.name == "SyntaxError":
        return "hint_syntax"
    if error.name == "ReferenceError" or (error.name == "TypeError" and "not a function" in error.message):
        return "hint_name"
    if error.name == "TypeError" and _VALUE.search(error.message):
        return "hint_value"
    return None


def _warning_lines(warnings: Sequence[str]) -> Iterator[str]:
    for warning in warnings[:_WARNINGS]:
        yield say("warning", text=one_line(warning, _WARNING_CHARS))
    if len(warnings) > _WARNINGS:
        yield say("warnings_left_out", count=len(warnings) - _WARNINGS)


def _middle_cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = text[len(text) - (limit - head) :]
    return f"{text[:head]}\n{say('log_cut', count=len(text) - limit)}\n{tail}"
