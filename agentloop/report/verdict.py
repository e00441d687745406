"""From a run's status to an exit code and to words: the one table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentloop.records import Status

__all__ = ["EXIT_ERROR", "EXIT_INTERRUPTED", "EXIT_SETUP", "describe", "exit_code"]

EXIT_ERROR = 1
"""A run failed, or the program itself."""

EXIT_SETUP = 3
"""There was no run: usage, set-up, no browser, no key."""

EXIT_INTERRUPTED = 130
"""Ended by a signal."""

_CODES: Mapping[Status, int] = MappingProxyType(
    {
        Status.COMPLETED: 0,
        Status.ERROR: 1,
        Status.MAX_ITERATIONS: 2,
        Status.CHECK_FAILED: 4,
        Status.BUDGET: 5,
        Status.TIMEOUT: 5,
        Status.REFUSED: 6,
        Status.BROWSER_LOST: 7,
        Status.MODEL_ERROR: 8,
        Status.DIVERGED: 9,
        Status.CANCELLED: 1,
    }
)

_STATUS_WORDS: Mapping[Status, str] = MappingProxyType(
    {
        Status.COMPLETED: "completed",
        Status.ERROR: "failed",
        Status.MAX_ITERATIONS: "out of turns",
        Status.CHECK_FAILED: "a check failed",
        Status.BUDGET: "out of budget",
        Status.TIMEOUT: "out of time",
        Status.REFUSED: "refused",
        Status.BROWSER_LOST: "the browser was lost",
        Status.MODEL_ERROR: "the model failed",
        Status.DIVERGED: "diverged from the recording",
        Status.CANCELLED: "cancelled",
    }
)

_REASON_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "no_progress": "the same step over and over",
        "empty_reply": "the model said nothing",
        "script": "the sandbox failed",
        "store": "the store failed",
        "page_down": "the start page could not be opened",
        "blocked": "the task is blocked",
        "task_failed": "the task cannot be done",
        "prompt_tokens": "prompt tokens",
        "completion_tokens": "completion tokens",
        "carry_bytes": "carried data",
        "primitive_calls": "calls",
        "wall": "",
        "endpoint": "its server",
        "auth": "its key was refused",
        "replies_used_up": "the scripted replies are used up",
        "context_overflow": "the prompt is longer than its window",
        "signal": "by a signal",
        "api": "",
    }
)


def exit_code(status: Status, reason: str = "") -> int:
    """The process's exit code for a run that ended so; 1 for a status that is no end."""
    if status is Status.CANCELLED and reason == "signal":
        return EXIT_INTERRUPTED
    return _CODES.get(status, 1)


def describe(status: Status, reason: str = "") -> str:
    """A few words for people: `out of budget: prompt tokens`."""
    words = _STATUS_WORDS.get(status, str(status))
    because = _REASON_WORDS.get(reason, reason)
    return f"{words}: {because}" if because else words
