"""What was said in a session so far, read back from its steps. The record itself only grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from agentloop.context.checkpoint import Checkpoint, newest_checkpoint
from agentloop.context.feedback import say
from agentloop.records import Step, StepType

__all__ = ["HISTORY_WINDOW", "LOOK_BACK", "Entry", "EntryKind", "rehydrate"]

EntryKind = Literal["user", "script", "result", "answer", "summary"]

HISTORY_WINDOW = 80
"""Steps of earlier runs that a new run reads, counted from the newest checkpoint on."""

LOOK_BACK = 4_000
"""Steps behind the newest checkpoint that are read at most."""

_KINDS: Mapping[StepType, EntryKind] = MappingProxyType(
    {"user": "user", "execute_js": "script", "execute_js_result": "result", "response": "answer"}
)


@dataclass(frozen=True)
class Entry:
    """One thing said: a request, a bare script, a result without its label (or, after no script, any other
    feedback), an answer, or the summary of what came before. `step` is the index of the step it came from, -1 for
    what this run said."""

    kind: EntryKind
    content: str
    run_id: str
    step: int = field(default=-1, compare=False)


def rehydrate(steps: Sequence[Step], *, window: int = HISTORY_WINDOW) -> tuple[Entry, ...]:
    """The newest checkpoint and the newest `window` steps (not positive: the default) that it does not stand for.

    Errors and older summaries are skipped. A result whose script fell out of the window is left out. A
    script without a result, left by a process that died, gets one that says so: it is never run again.
    """
    checkpoint = newest_checkpoint(steps)
    since = checkpoint.retain_from if checkpoint else -1
    later = [step for step in steps if step.type != "summary" and step.index >= since]
    told = later[-(window if window > 0 else HISTORY_WINDOW) :]
    entries = [_summary(checkpoint, steps, told)] if checkpoint else []
    for step in told:
        kind = _KINDS.get(step.type)
        if kind is None or (kind == "result" and not _awaits_result(entries)):
            continue
        if kind != "result":
            _settle(entries, "nothing_logged" if kind == "answer" else "interrupted")
        entries.append(Entry(kind, step.content, step.run_id, step.index))
    _settle(entries, "interrupted")
    return tuple(entries)


def _summary(checkpoint: Checkpoint, steps: Sequence[Step], told: Sequence[Step]) -> Entry:
    step, content = checkpoint.step, checkpoint.step.content
    if told and _gap(checkpoint.retain_from, steps, told[0].index):
        content = f"{content}\n\n{say('earlier_left_out')}"
    return Entry("summary", content, step.run_id, step.index)


def _gap(start: int, steps: Sequence[Step], end: int) -> bool:
    """True when steps other than summaries lie between the two indexes."""
    summaries = sum(step.type == "summary" and start <= step.index < end for step in steps)
    return end - start > summaries


def _awaits_result(entries: Sequence[Entry]) -> bool:
    return bool(entries) and entries[-1].kind == "script"


def _settle(entries: list[Entry], phrase: Literal["nothing_logged", "interrupted"]) -> None:
    if _awaits_result(entries):
        script = entries[-1]
        entries.append(Entry("result", say(phrase), script.run_id, script.step))
