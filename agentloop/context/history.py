"""What was said so far, as the model is to read it next. Pure functions: the record itself only grows."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from agentloop.context.feedback import say
from agentloop.llm.base import Image, Message, Role, Text
from agentloop.records import Step, StepType

__all__ = ["HISTORY_WINDOW", "Entry", "EntryKind", "outgoing", "rehydrate"]

EntryKind = Literal["user", "script", "result", "answer"]

HISTORY_WINDOW = 80
"""Steps of earlier runs that a new run reads."""

_KINDS: Mapping[StepType, EntryKind] = MappingProxyType(
    {"user": "user", "execute_js": "script", "execute_js_result": "result", "response": "answer"}
)
_FENCE_LINE = re.compile(r"^\s*(`{3,})", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One thing said: a request, a bare script, a result without its label (or, after no script, any other
    feedback), or an answer."""

    kind: EntryKind
    content: str
    run_id: str


def rehydrate(steps: Sequence[Step], *, window: int = HISTORY_WINDOW) -> tuple[Entry, ...]:
    """The newest `window` steps (not positive: the default) as entries; errors and summaries are skipped.

    A result whose script fell out of the window is left out. A script without a result, left by a
    process that died, gets one that says so: it is never run again.
    """
    entries: list[Entry] = []
    for step in steps[-(window if window > 0 else HISTORY_WINDOW) :]:
        kind = _KINDS.get(step.type)
        if kind is None or (kind == "result" and not _awaits_result(entries)):
            continue
        if kind != "result":
            _settle(entries, "nothing_logged" if kind == "answer" else "interrupted")
        entries.append(Entry(kind, step.content, step.run_id))
    _settle(entries, "interrupted")
    return tuple(entries)


def _awaits_result(entries: Sequence[Entry]) -> bool:
    return bool(entries) and entries[-1].kind == "script"


def _settle(entries: list[Entry], phrase: Literal["nothing_logged", "interrupted"]) -> None:
    if _awaits_result(entries):
        entries.append(Entry("result", say(phrase), entries[-1].run_id))


def outgoing(
    entries: Sequence[Entry],
    *,
    run_id: str,
    keep_scripts: int,
    system: str,
    examples: Sequence[Message] = (),
    tail: str = "",
    drop: Container[int] = (),
) -> list[Message]:
    """The messages of one call: system prompt, worked pair, history, `tail` at the end of the last user message.

    Of the scripts of `run_id` the newest `keep_scripts` (at least 1) stay; those before them, and the
    entries whose positions are in `drop`, are left out, and one line says how many. Scripts and
    answers of earlier runs stay. User and assistant alternate.
    """
    hidden = _hidden(entries, run_id, max(1, keep_scripts), drop)
    messages = [*examples, *_told(entries, hidden, drop)]
    if tail:
        messages.append(Message("user", tail))
    return [Message("system", system), *_alternating(messages)]


def _hidden(entries: Sequence[Entry], run_id: str, keep: int, drop: Container[int]) -> frozenset[int]:
    """Positions of the scripts that are not sent."""
    own = [at for at, entry in enumerate(entries) if entry.kind == "script" and entry.run_id == run_id]
    dropped = {at for at in own if at in drop}
    kept = [at for at in own if at not in dropped][-keep:]
    return frozenset(own) - frozenset(kept)


def _told(entries: Sequence[Entry], hidden: frozenset[int], drop: Container[int]) -> Iterator[Message]:
    if entries and _role(entries[0]) == "assistant":
        yield Message("user", say("earlier_left_out"))
    # The note stands below the last result concerned: above it, its count would change the text
    # before all of them on every call, and a server's prefix cache would lose the whole history.
    note_at = _end_of(entries, max(hidden)) if hidden else -1
    for at, entry in enumerate(entries):
        if at not in hidden and not (entry.kind == "result" and at in drop):
            yield _message(entry, labelled=at > 0 and entries[at - 1].kind == "script")
        if at == note_at:
            yield Message("user", say("scripts_left_out", count=len(hidden)))


def _end_of(entries: Sequence[Entry], script: int) -> int:
    has_result = script + 1 < len(entries) and entries[script + 1].kind == "result"
    return script + 1 if has_result else script


def _role(entry: Entry) -> Role:
    return "assistant" if entry.kind in ("script", "answer") else "user"


def _message(entry: Entry, *, labelled: bool) -> Message:
    content = entry.content
    if entry.kind == "script":
        content = _fenced(content)
    elif entry.kind == "result" and labelled:
        content = f"{say('result_label')}\n{content}"
    return Message(_role(entry), content)


def _fenced(script: str) -> str:
    longest = max((len(fence) for fence in _FENCE_LINE.findall(script)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}javascript\n{script}\n{fence}"


def _alternating(messages: Iterable[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    return merged


def _joined(first: Message, second: Message) -> Message:
    if isinstance(first.content, str) and isinstance(second.content, str):
        return Message(first.role, f"{first.content}\n\n{second.content}")
    return Message(first.role, (*_parts(first), *_parts(second)))


def _parts(message: Message) -> tuple[Text | Image, ...]:
    return (Text(message.content),) if isinstance(message.content, str) else message.content
