"""What a run has spent, and the one place that says stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentloop.errors import EndRun, RepliesUsedUp
from agentloop.llm.base import LLM
from agentloop.llm.metered import Metered
from agentloop.records import RunLimits, RunRecord, Status, Usage
from agentloop.tracing import RunTrace

__all__ = ["Spending", "metered"]


class Spending:
    """Counts iterations, tokens, cost and calls of a run against its limits, on from where its record stands."""

    def __init__(self, limits: RunLimits, run: RunRecord) -> None:
        self.limits = limits
        self.iterations = run.iterations
        self.tokens = run.tokens
        self.calls = run.primitive_calls
        self.data_bytes_carried = run.data_bytes_carried

    @property
    def cost(self) -> float:
        """What the tokens so far cost at the limits' prices."""
        return self.limits.prices.cost(self.tokens)

    @property
    def iterations_left(self) -> int:
        """Model calls that may still be made."""
        return self.limits.iterations - self.iterations

    @property
    def calls_left(self) -> int:
        """Primitive calls that scripts may still make."""
        return max(0, self.limits.primitive_calls - self.calls)

    def add(self, usage: Usage) -> None:
        """Adds what one model call used."""
        self.tokens = self.tokens + usage

    def begin_iteration(self) -> None:
        """Counts one; raises `EndRun` when none is left."""
        if self.iterations_left <= 0:
            raise EndRun(Status.MAX_ITERATIONS, "", f"no answer after {_turns(self.limits.iterations)}")
        self.iterations += 1

    @contextmanager
    def counting_calls(self) -> Iterator[None]:
        """Counts the iteration out again when the block ends before its model call was made."""
        try:
            yield
        except (EndRun, RepliesUsedUp):  # nothing was asked: the budget, or the script, was used up before
            self.iterations -= 1
            raise

    def check(self) -> None:
        """Raises `EndRun(budget)` when tokens or cost are used up; called before each model call."""
        limits = self.limits
        spent = (
            ("prompt_tokens", self.tokens.prompt, limits.prompt_tokens),
            ("completion_tokens", self.tokens.completion, limits.completion_tokens),
            ("cost", self.cost, limits.cost),
        )
        for name, used, limit in spent:
            if limit is not None and used >= limit:
                raise EndRun(Status.BUDGET, name, f"the budget of {limit} {name.replace('_', ' ')} is spent: {used}")

    def check_carry(self, carry: str) -> None:
        """Raises `EndRun(budget)` when the carry is larger than allowed."""
        size = len(carry.encode("utf-8", "surrogatepass"))
        if size > self.limits.carry_bytes:
            raise EndRun(
                Status.BUDGET,
                "carry_bytes",
                f"run() returned {size} bytes; the carry may hold {self.limits.carry_bytes}",
            )


def _turns(count: int) -> str:
    return f"{count} turn" if count == 1 else f"{count} turns"


def metered(llm: LLM, spending: Spending, trace: RunTrace) -> LLM:
    """`llm` with each call counted for the run, and refused (`EndRun`) once its budget is spent."""

    def count(usage: Usage) -> None:
        spending.add(usage)
        trace.used(usage)

    return Metered(llm, on_usage=count, before=spending.check)
