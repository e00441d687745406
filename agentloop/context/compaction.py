"""A long history made short: its older part summarised, its newest part as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from importlib.resources import files
from typing import Protocol

from agentloop.context.budget import ContextBudget
from agentloop.context.history import Entry
from agentloop.context.transcript import Piece, cut, framed, noted, packed, parts_of, pieces_of, shortened
from agentloop.errors import InvalidInput, ModelError
from agentloop.llm.base import LLM, Message, ModelRequest

__all__ = ["HOSTED", "Compaction", "Compactor", "SummarizingCompactor", "compact_prompt", "merge_prompt"]

HOSTED = ContextBudget(54_096, reserve=4_096)
"""One summarising call without a budget of its own: 50,000 tokens of transcript, prompt included."""

_LEAST_ROOM = 64
_PROGRESS = 0.9
_WORDS_PER_TOKEN = 0.6


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """What is to be sent instead of a history.

    `summary`, when not empty, is kept in the session as it stands and replaces, in later runs too, the entries before
    position `retained_from`; empty holds for this run only.
    """

    entries: tuple[Entry, ...]
    summary: str = ""
    retained_from: int = 0


class Compactor(Protocol):
    """Shortens what a session said before this run, once, before the run's first model call.

    `llm` is the client it wants to use, None for the run's own. `compact` is given that client so that what it uses is
    counted for the run, and, where it is the run's own, the run's `model`; it must use no other. It returns
    the entries as they are when nothing is to be done. Whatever it raises becomes a warning, and the run goes on with
    the full history; only a spent budget ends the run.
    """

    @property
    def llm(self) -> LLM | None: ...

    async def compact(self, entries: Sequence[Entry], *, llm: LLM, model: str = "") -> Compaction: ...


def compact_prompt() -> str:
    """The words that ask for a summary; `{words}` is how long it may be."""
    return files("agentloop.context").joinpath("prompts", "compact.md").read_text("utf-8")


def merge_prompt() -> str:
    """The words that ask for one summary of several; `{words}` is how long it may be."""
    return files("agentloop.context").joinpath("prompts", "merge.md").read_text("utf-8")


@dataclass(frozen=True)
class SummarizingCompactor:
    """Past `trigger` entries, a model sums up all but the newest `keep`. Nothing is left out on the way.

    What does not fit one call of `budget` (None: `HOSTED`) is summarised in portions whose summaries are merged,
    longer messages in stretches. A failing or empty call fails the whole. `llm` None uses the run's client,
    `model` "" its default; `budget` must fit the model that is used. `keep` >= `trigger` counts as half of it.
    Raises `InvalidInput` for figures below 2 and 1.
    """

    llm: LLM | None = None
    _: KW_ONLY
    trigger: int = 60
    keep: int = 20
    model: str = ""
    budget: ContextBudget | None = None
    prompt: str = field(default_factory=compact_prompt, repr=False)
    merge_prompt: str = field(default_factory=merge_prompt, repr=False)

    def __post_init__(self) -> None:
        if self.trigger < 2 or self.keep < 1:
            raise InvalidInput(f"trigger must be at least 2 and keep at least 1, not {self.trigger} and {self.keep}")

    async def compact(self, entries: Sequence[Entry], *, llm: LLM, model: str = "") -> Compaction:
        """See `Compactor.compact`. Raises `ModelError`, and `InvalidInput` when the budget holds no portion."""
        split = self._split(entries)
        if split == 0:
            return Compaction(entries=tuple(entries))
        calls = _Calls(
            llm=llm,
            model=self.model or model,
            budget=self.budget or HOSTED,
            prompt=self.prompt,
            merge_prompt=self.merge_prompt,
        )
        summary = noted(await calls.summary(pieces_of(entries[:split])), split)
        first = Entry("summary", summary, entries[split - 1].run_id)
        return Compaction(entries=(first, *entries[split:]), summary=summary, retained_from=split)

    def _split(self, entries: Sequence[Entry]) -> int:
        """How many entries are summed up; 0 = none. A result stays with its script."""
        if len(entries) <= self.trigger:
            return 0
        split = len(entries) - (self.keep if self.keep < self.trigger else self.trigger // 2)
        if entries[split].kind == "result" and entries[split - 1].kind == "script":
            split -= 1
        alone = split == 1 and entries[0].kind == "summary"
        return 0 if alone else split


@dataclass(frozen=True, kw_only=True)
class _Calls:
    """The calls of one compaction, one after the other: a local server does not serve two at a time."""

    llm: LLM
    model: str
    budget: ContextBudget
    prompt: str
    merge_prompt: str

    async def summary(self, pieces: Sequence[Piece]) -> str:
        room, estimate = self._room(self.prompt), self.budget.estimate
        portions = packed(cut(pieces, room, estimate), room, estimate)
        parts = [
            await self._ask(self.prompt, framed(portion, number=number, count=len(portions)))
            for number, portion in enumerate(portions, 1)
        ]
        while len(parts) > 1:
            parts = await self._merged(parts)
        return parts[0]

    async def _merged(self, parts: Sequence[str]) -> list[str]:
        """Fewer parts, or shorter ones. A part that stands alone is passed on and not paid for again."""
        room, estimate = self._room(self.merge_prompt), self.budget.estimate
        # No piece is larger than half the room, so that two always fit together.
        groups = packed(cut(parts_of(parts), room // 2, estimate), room, estimate)
        merged = [
            group[0].text if len(group) == 1 else await self._ask(self.merge_prompt, framed(group)) for group in groups
        ]
        shorter = sum(map(estimate, merged)) <= _PROGRESS * sum(map(estimate, parts))
        if len(merged) >= len(parts) and not shorter:
            raise ModelError("the summaries do not get shorter when they are merged: give the compactor a larger model")
        return merged

    async def _ask(self, prompt: str, text: str) -> str:
        request = ModelRequest(messages=self._messages(prompt, text), model=self.model, max_tokens=self.budget.reserved)
        reply = await self.llm.complete(request)
        summary = reply.content.strip()
        if not summary or reply.finish_reason == "content_filter":
            raise ModelError("the summariser gave no summary")
        return shortened(summary) if reply.finish_reason == "length" else summary

    def _messages(self, prompt: str, text: str) -> list[Message]:
        words = int(self.budget.reserved * _WORDS_PER_TOKEN)
        return [Message("system", prompt.strip().replace("{words}", str(words))), Message("user", text)]

    def _room(self, prompt: str) -> int:
        """Tokens of transcript that fit beside the prompt and the marks."""
        room = self.budget.allowance - self.budget.size(self._messages(prompt, framed((), number=9999, count=9999)))
        if room < _LEAST_ROOM:
            raise InvalidInput(
                f"a window of {self.budget.max_tokens} tokens holds the summariser's prompt and no transcript: "
                "give the compactor a shorter prompt or a larger budget"
            )
        return room
