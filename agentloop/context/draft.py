"""One call to the model in parts that stay together, and the messages made of them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentloop.context.feedback import say
from agentloop.context.history import Entry, EntryKind
from agentloop.guard.fence import neutralized_message
from agentloop.llm.base import Image, Message, Role, Text

__all__ = ["Block", "Draft", "draft", "earlier_left_out", "messages_left_out", "scripts_left_out"]

_FENCE_LINE = re.compile(r"^\s*(`{3,})", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """What is sent together or not at all: a script with its result, or any other entry alone.

    It has no messages when the run repeated itself in vain there. `hides`: its script is not among them.
    """

    messages: tuple[Message, ...]
    kind: EntryKind
    hides: bool = False
    pinned: bool = False


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One call in parts. A pinned block may not be left out: the run's request, its newest script, the last word."""

    system: str
    examples: tuple[Message, ...] = ()
    blocks: tuple[Block, ...] = ()
    tail: str = ""

    def messages(self, *, without: Container[int] = (), examples: bool = True) -> list[Message]:
        """User and assistant in turn. Blocks whose positions are in `without` are left out, and one line counts
        the messages missing."""
        told = list(self._told(without))
        if self.begins_with_reply(without):
            told.insert(0, earlier_left_out())
        if self.tail:
            told.append(Message("user", self.tail))
        return [Message("system", self.system), *_alternating([*(self.examples if examples else ()), *told])]

    def begins_with_reply(self, without: Container[int] = ()) -> bool:
        """True when the first block sent is the model's own words: a line stands before it then."""
        first = next(self._told(without), None)
        return first is not None and first.role == "assistant"

    def _told(self, without: Container[int]) -> Iterator[Message]:
        gone = [at for at in range(len(self.blocks)) if at in without]
        hiding = [at for at, block in enumerate(self.blocks) if block.hides and at not in without]
        for at, block in enumerate(self.blocks):
            if at not in without:
                yield from block.messages
            if gone and at == gone[-1]:
                yield messages_left_out(sum(len(self.blocks[missing].messages) for missing in gone))
            # The note stands below the last result concerned: above it, its count would change the text
            # before all of them on every call, and a server's prefix cache would lose the whole history.
            if hiding and at == hiding[-1]:
                yield scripts_left_out(len(hiding))


def earlier_left_out() -> Message:
    """What stands before a history that begins with the model's own words."""
    return Message("user", say("earlier_left_out"))


def messages_left_out(count: int) -> Message:
    """What stands where the budget left messages out."""
    return Message("user", say("messages_left_out", count=count))


def scripts_left_out(count: int) -> Message:
    """What stands below the results of scripts that are not sent any more."""
    return Message("user", say("scripts_left_out", count=count))


def draft(
    entries: Sequence[Entry],
    *,
    run_id: str,
    keep_scripts: int,
    system: str,
    examples: Sequence[Message] = (),
    tail: str = "",
    drop: Container[int] = (),
) -> Draft:
    """One call: system prompt, worked pair, history, `tail` at the end of the last user message.

    Of the scripts of `run_id` the newest `keep_scripts` (at least 1) stay; those before them, and the
    entries whose positions are in `drop`, are left out, and one line says how many. Scripts and
    answers of earlier runs stay.
    """
    hidden = _hidden(entries, run_id, max(1, keep_scripts), drop)
    silent = hidden | {at for at, entry in enumerate(entries) if entry.kind == "result" and at in drop}
    groups = list(_groups(entries))
    pinned = _pinned(entries, groups, run_id)
    blocks = tuple(
        Block(
            messages=tuple(_message(entries, at) for at in group if at not in silent),
            kind=entries[group[0]].kind,
            hides=group[0] in hidden,
            pinned=number in pinned,
        )
        for number, group in enumerate(groups)
    )
    return Draft(system=system, examples=tuple(examples), blocks=blocks, tail=tail)


def _groups(entries: Sequence[Entry]) -> Iterator[range]:
    """The positions of each block."""
    at = 0
    while at < len(entries):
        has_result = entries[at].kind == "script" and at + 1 < len(entries) and entries[at + 1].kind == "result"
        yield range(at, at + 1 + has_result)
        at += 1 + has_result


def _pinned(entries: Sequence[Entry], groups: Sequence[range], run_id: str) -> frozenset[int]:
    kinds = [entries[group[0]].kind for group in groups]
    own = [at for at, group in enumerate(groups) if kinds[at] == "user" and entries[group[0]].run_id == run_id]
    requests = own or [at for at, kind in enumerate(kinds) if kind == "user"]
    scripts = [at for at, kind in enumerate(kinds) if kind == "script"]
    return frozenset([*requests[-1:], *scripts[-1:], *range(len(groups))[-1:]])


def _hidden(entries: Sequence[Entry], run_id: str, keep: int, drop: Container[int]) -> frozenset[int]:
    """Positions of the scripts that are not sent."""
    own = [at for at, entry in enumerate(entries) if entry.kind == "script" and entry.run_id == run_id]
    dropped = {at for at in own if at in drop}
    kept = [at for at in own if at not in dropped][-keep:]
    return frozenset(own) - frozenset(kept)


def _role(entry: Entry) -> Role:
    return "assistant" if entry.kind in ("script", "answer") else "user"


def _message(entries: Sequence[Entry], at: int) -> Message:
    entry, labelled = entries[at], at > 0 and entries[at - 1].kind == "script"
    content = entry.content
    if entry.kind == "script":
        content = _fenced(content)
    elif entry.kind == "answer":
        # Maybe with strangers' words, which must not bring in lines that only the host writes.
        content = neutralized_message(content)
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
