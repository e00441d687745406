"""What spans cost a turn: nothing without a provider, and how much with OpenTelemetry's in-memory exporter.

    python -m benchmarks.tracing

A turn opens three spans and counts its tokens. Its cost is compared with a whole turn of a scripted model in a real
sandbox with the memory store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentloop import Loop, MemoryStore, RunLimits, RunRequest, Scripted
from agentloop.guard.redact import Redactor
from agentloop.llm.base import ModelReply, ModelRequest
from agentloop.records import Usage
from agentloop.tracing import RunTrace, Tracing

TURNS = 40
SCRIPT = "```javascript\nfunction run(args) { return {n: (args.n || 0) + 1}; }\n```"
ANSWER = "```javascript\nanswer('done')\n```"


def spans_of_a_turn(trace: RunTrace) -> None:
    """What one turn asks of the trace."""
    reply = ModelReply(content="", usage=Usage(prompt=10, completion=2))
    with trace.turn(1):
        with trace.model_call(ModelRequest(messages=[], model="m"), provider="p") as call:
            call.replied(reply)
        trace.used(reply.usage)
        with trace.script() as script:
            script.set({"agentloop.primitive_calls": 0})
        trace.ran(duration_ms=1, failed=False)


def microseconds(work: Callable[[], None], rounds: int) -> float:
    """The best of five averages."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(rounds):
            work()
        best = min(best, (time.perf_counter() - began) / rounds)
    return best * 1e6


async def whole_turn() -> float:
    """Microseconds of a turn of a run without providers, the best of three runs."""
    best = float("inf")
    for _ in range(3):
        replies = [*(SCRIPT.replace("+ 1", f"+ {n}") for n in range(1, TURNS)), ANSWER]
        loop = Loop(llm=Scripted(replies), store=MemoryStore(), limits=RunLimits(iterations=TURNS))
        began = time.perf_counter()
        await loop.run(RunRequest("go"))
        best = min(best, (time.perf_counter() - began) / TURNS)
    return best * 1e6


def traced() -> RunTrace:
    """A run whose spans are kept in memory."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    return Tracing(tracer_provider=provider).run(run_id="r", session_id="s", redactor=Redactor())


def main() -> None:
    """Prints the costs and their share of a turn."""
    off = Tracing().run(run_id="r", session_id="s", redactor=Redactor())
    on = traced()
    turn = asyncio.run(whole_turn())
    print(f"a whole turn, memory store, no browser: {turn:8.1f} µs")
    for name, trace, rounds in (("without a provider", off, 20_000), ("in-memory exporter", on, 500)):
        cost = microseconds(partial(spans_of_a_turn, trace), rounds)
        print(f"spans of a turn, {name}:  {cost:8.2f} µs = {cost / turn:7.3%} of a turn")


if __name__ == "__main__":
    main()
