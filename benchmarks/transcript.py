"""What it costs to sum up a long session: a transcript of 242 KB, the same on every run.

`python -m benchmarks.transcript` runs a loop over it twice for each window and prints a table. The claims: one
summarising call in a window of 128k, 21 (give or take a tenth) in one of 4k, every fact of the transcript read by
the summariser, no call above its allowance, and none at all in the second run.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from agentloop import Loop, LoopSettings, MemoryStore, RunRequest
from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import SummarizingCompactor, compact_prompt, merge_prompt
from agentloop.context.profile import Profile
from agentloop.context.tokens import Estimator, estimate_tokens, message_tokens
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.llm.scripted import rough_tokens
from agentloop.records import RunRecord, Session, Status, Step, StepType

__all__ = ["BYTES", "CLAIMS", "SEED", "Measured", "Summariser", "kept", "measure", "transcript"]

BYTES = 242_000
SEED = 20_240_607
CLAIMS = {131_072: (1, 1), 4_096: (19, 23)}
"""Summarising calls by window: from, to."""

_GOODS = ("lamp", "mug", "chair", "shelf", "rug", "vase", "clock", "stool")
_STUFFS = ("glass", "oak", "brass", "linen", "cork", "slate", "birch", "wool")
_PROSE = (
    "the confirmation page shows a different total because delivery charges are calculated after the address has been "
    "entered and the customer explicitly requested the cheaper service although it arrives several days later than "
    "announced in the catalogue"
)
_WORDS = _PROSE.split(" ")
_REMARK: tuple[StepType, str] = ("user", "a remark")
_FACT = re.compile(r"fact-\d+")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One session in one window. `largest` is the largest summarising prompt, `missing` the facts nobody read."""

    window: int
    portions: int
    merges: int
    largest: int
    allowance: int
    missing: int
    second_run: int

    @property
    def calls(self) -> int:
        """Summarising calls of the first run."""
        return self.portions + self.merges


def transcript(size: int = BYTES, *, seed: int = SEED) -> list[tuple[StepType, str]]:
    """Steps whose contents are `size` bytes together: requests, scripts, results; each result names a fact."""
    chance = random.Random(seed)
    steps: list[tuple[StepType, str]] = []
    left = size
    for type, content in _turns(chance):
        steps.append((type, content[:left]))
        left -= len(steps[-1][1])
        if left <= 0:
            return steps
    raise AssertionError("turns never end")


def _turns(chance: random.Random) -> Iterator[tuple[StepType, str]]:
    turn = 0
    while True:
        turn += 1
        if turn % 12 == 1:
            yield "user", f"Find the cheapest {chance.choice(_GOODS)} below {chance.randint(20, 400)} EUR and order it."
        yield "execute_js", _script(chance)
        listing = chance.random() < 0.3
        yield "execute_js_result", f"fact-{turn} {_listing(chance) if listing else _prose(chance)}"


def _script(chance: random.Random) -> str:
    acts = (f'  click("Add to cart", {chance.randint(2, 90)});' for _ in range(chance.randint(1, 4)))
    return "\n".join(["function run(args) {", *acts, "  log(text());", "  return { ...args, seen: true };", "}"])


def _listing(chance: random.Random) -> str:
    rows = (
        f'- [{2 * n}] link "{chance.choice(_STUFFS)} {chance.choice(_GOODS)} {chance.randint(1, 99)}" | '
        f'{chance.randint(20, 400)} EUR | [{2 * n + 1}] button "Add to cart"'
        for n in range(3, chance.randint(12, 40))
    )
    return "\n".join(rows)


def _prose(chance: random.Random) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(200, 700)))


class Summariser:
    """Answers the task at once, and sums up in a fixed number of words; keeps what it was asked to sum up."""

    name = "summariser"

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    @property
    def merges(self) -> list[ModelRequest]:
        """The calls that merged summaries."""
        return [request for request in self.asked if _prompted(request, merge_prompt())]

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
        """A summary of eighty words, or the answer."""
        if not _prompted(request, compact_prompt()) and not _prompted(request, merge_prompt()):
            return ModelReply(content="Ordered.")
        self.asked.append(request)
        return ModelReply(content=f"Notes {len(self.asked)}: " + " ".join((_WORDS * 3)[:80]))


def _prompted(request: ModelRequest, prompt: str) -> bool:
    return request.messages[0].text[:80] == prompt[:80]


async def measure(window: int, *, estimate: Estimator = estimate_tokens, size: int = BYTES) -> Measured:
    """Two runs of one session whose first `size` bytes are to be summed up, in a window of so many tokens."""
    profile, steps = Profile.for_window(window), transcript(size)
    budget = ContextBudget(window, estimate=estimate)
    settings = LoopSettings(
        compactor=SummarizingCompactor(trigger=profile.trigger, keep=profile.keep, budget=budget),
        context_budget=budget,
        history_window=len(steps) + profile.keep,  # the profile's own would leave out what is to be measured
    )
    store, model = MemoryStore(), Summariser()
    await _fill(store, steps + [_REMARK] * profile.keep)
    loop = Loop(llm=model, store=store, settings=settings)
    for message in ("go on", "and now?"):
        first = list(model.asked)
        result = await loop.run(RunRequest(message, session="s"))
        assert result.status is Status.COMPLETED
    facts = {fact for _, content in steps for fact in _FACT.findall(content)}
    read = {fact for request in first for fact in _FACT.findall(request.messages[1].text)}
    return Measured(
        window=window,
        portions=len(first) - len(model.merges),
        merges=len(model.merges),
        largest=max(sum(message_tokens(message, estimate) for message in request.messages) for request in first),
        allowance=budget.allowance,
        missing=len(facts - read),
        second_run=len(model.asked) - len(first),
    )


async def _fill(store: MemoryStore, steps: list[tuple[StepType, str]]) -> None:
    await store.create_session(Session(session_id="s"))
    await store.create_run(RunRecord(run_id="r0", session_id="s", status=Status.COMPLETED))
    for type, content in steps:
        await store.append_step(Step(session_id="s", run_id="r0", type=type, content=content))


def kept(measured: Measured) -> bool:
    """True when the claims for this window hold."""
    least, most = CLAIMS.get(measured.window, (1, sys.maxsize))
    whole = measured.missing == 0 and measured.second_run == 0
    return whole and least <= measured.calls <= most and measured.largest <= measured.allowance


async def _main() -> int:
    print(f"{BYTES / 1000:.0f} KB in {len(transcript())} messages, seed {SEED}")
    print("estimator        window  calls = portions + merges   largest/allowance  facts missing  second run")
    wrong = 0
    for name, estimate in (("word pieces", estimate_tokens), ("bytes / 4", rough_tokens)):
        for window in (131_072, 32_768, 8_192, 4_096):
            got = await measure(window, estimate=estimate)
            wrong += not kept(got)
            print(
                f"{name:14} {got.window:8} {got.calls:6} = {got.portions:8} + {got.merges:6}   "
                f"{got.largest:8}/{got.allowance:<9} {got.missing:13} {got.second_run:11}",
                "" if kept(got) else "WRONG",
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
