"""Questions to a person, their answers, and what an approval covers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Answer", "Ask", "Grant", "OnAsk", "Question", "QuestionKind"]

QuestionKind = Literal["confirm", "choice", "text"]

Answer: TypeAlias = bool | str
"""True or False to a `confirm`, the chosen option to a `choice`, the text to a `text`."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What an approval covers. `kind` is host, path, command or action; `subject` its exact scope."""

    kind: str
    subject: str
    granted_at: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something only a person can decide. It is a row in the store before anybody sees it.

    `grant` is what a yes will cover; `expires_at` is UTC text, after which the answer is no.
    """

    id: str
    session_id: str
    run_id: str
    kind: QuestionKind
    message: str
    options: tuple[str, ...] = ()
    grant: Grant | None = None
    asked_at: str = ""
    expires_at: str = ""
    answer: Answer | None = None


OnAsk: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Answers a question; None means that nobody did, which counts as a refusal."""

Ask: TypeAlias = Callable[..., Awaitable[Answer]]
"""`await ask(message, kind="confirm", options=(), grant=None)`: the one seam every pack asks through."""
