"""Questions to a person, their answers, and what an approval covers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from agentloop.errors import InvalidInput, refuse_text

__all__ = [
    "CONFIRMABLE",
    "ONCE",
    "Answer",
    "Ask",
    "Grant",
    "OnAsk",
    "Question",
    "QuestionKind",
    "confirmable",
    "covers",
    "unambiguous",
]

QuestionKind = Literal["confirm", "choice", "text"]

Answer: TypeAlias = bool | str
"""True or False to a `confirm`, or one of its options, or `ONCE`; the option of a `choice`, the text of a `text`."""

ONCE: Final = "once"
"""A yes to a `confirm` that is kept for nobody: the next time the question is asked again."""

CONFIRMABLE: Final = ("submit", "download", "upload", "new-host")
"""Acts of a browser that a person can be asked about before they happen."""

_ENCODED: Final = re.compile(r"%(25)*(2f|5c|2e)|\\|(^|/)\.\.?(;[^/]*)?(/|$)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What an approval covers. `kind` is host, path, command or action; `subject` its exact scope.

    A subject of kind path or host that ends with "/" covers all that lies under it; a host's without a path covers
    all its paths. Raises `InvalidInput` for a subject with characters that do not print: no text may pass for another.
    """

    kind: str
    subject: str
    granted_at: str = ""

    def __post_init__(self) -> None:
        if not self.subject.isprintable():
            raise InvalidInput(f"what a grant covers has characters that do not print: {self.subject[:80]!r}")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something only a person can decide. It is a row in the store before anybody sees it.

    `grant` is what a yes will cover; `expires_at` is UTC text, after which the answer is no. A `confirm` may have
    one option: a yes of another scope, which whoever answers gives by returning its text.
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
"""`await ask(message, kind="confirm", options=(), grant=None)`: the one seam every pack asks through.

`need` is what must be covered where that is less than what a yes covers; `other` maps the text of an option of a
`confirm` to what that covers instead.
"""


def confirmable(actions: Collection[str]) -> frozenset[str]:
    """The actions as a set. Raises `InvalidInput` for one that is none of `CONFIRMABLE`."""
    refuse_text("confirm", actions, of="actions")
    for action in actions:
        if action not in CONFIRMABLE:
            raise InvalidInput(f"confirm: there is no action {action!r}; there are: {', '.join(CONFIRMABLE)}")
    return frozenset(actions)


def covers(known: Grant, wanted: Grant) -> bool:
    """Whether what was approved covers what is wanted: the same, or something under it, by whole segments."""
    if known.kind != wanted.kind:
        return False
    if known.subject == wanted.subject:
        return True
    whole_host = known.kind == "host" and "/" not in known.subject
    if known.kind not in ("host", "path") or not (whole_host or known.subject.endswith("/")):
        return False
    start = known.subject.rstrip("/") + "/"
    rest = wanted.subject[len(start) :]
    return wanted.subject.startswith(start) and (whole_host or not _ENCODED.search(rest))


def unambiguous(text: str) -> str:
    """The text as it is, or, where something in it does not print, as `$'…'` with codes: two texts never look alike."""
    if text.isprintable() and not text.startswith("$'"):
        return text
    written = "".join(_code(char) for char in text)
    return f"$'{written}'"


def _code(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode()
