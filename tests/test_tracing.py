"""Spans and figures of whole runs, read back from OpenTelemetry's own in-memory exporters."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode, set_tracer_provider

from agentloop import (
    BuildContext,
    Capability,
    Loop,
    MemoryStore,
    Pack,
    Primitive,
    RunLimits,
    RunRequest,
    RunResult,
    Scripted,
    Status,
)
from agentloop.errors import ModelAuthError
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.records import Usage
from agentloop.tracing import RunTrace, Tracing
from tests.source import ROOT


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


class Recorded:
    """Runs with both providers, and what they saw."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader])

    async def play(self, replies: Sequence[Any], *, llm: Any = None, **options: Any) -> RunResult:
        loop = Loop(
            llm=llm or Scripted(replies),
            store=MemoryStore(),
            tracer_provider=self.tracers,
            meter_provider=self.meters,
            model="tiny",
            **options,
        )
        return await loop.run(RunRequest("go", session="s"))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == f"agentloop.{name}"]

    def tree(self) -> str:
        """The spans, children under their parents in the order they began, with events and errors."""

        def lines(parent: int | None, depth: int) -> list[str]:
            found = [span for span in self.spans if (span.parent.span_id if span.parent else None) == parent]
            told: list[str] = []
            for span in sorted(found, key=lambda span: span.start_time or 0):
                failed = " !" if span.status.status_code is StatusCode.ERROR else ""
                told.append(f"{'  ' * depth}{span.name}{failed}")
                told += [f"{'  ' * depth}  * {event.name}" for event in span.events]
                told += lines(span.context.span_id, depth + 1)
            return told

        return "\n".join(lines(None, 0))

    def figures(self) -> dict[str, dict[tuple[Any, ...], Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: {tuple((point.attributes or {}).values()): point for point in metric.data.data_points}
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


A_THROW_AND_A_RETRY = [js("throw new TypeError('not so')"), "", js("return {n: 1}"), js("answer('done')")]


async def test_the_tree_of_a_run_with_a_throw_and_a_retry(recorded: Recorded) -> None:
    result = await recorded.play(A_THROW_AND_A_RETRY)
    assert result.status is Status.COMPLETED
    assert recorded.tree() == (
        "agentloop.run\n"
        "  agentloop.sandbox_build\n"
        "  agentloop.turn\n"
        "    agentloop.llm_call\n"
        "    agentloop.execute_js !\n"
        "      * exception\n"
        "  agentloop.turn\n"
        "    * agentloop.empty_reply\n"
        "    agentloop.llm_call\n"
        "  agentloop.turn\n"
        "    agentloop.llm_call\n"
        "    agentloop.execute_js\n"
        "  agentloop.turn\n"
        "    agentloop.llm_call\n"
        "    agentloop.execute_js"
    )


async def test_what_the_spans_say(recorded: Recorded) -> None:
    result = await recorded.play(A_THROW_AND_A_RETRY)
    [run] = recorded.named("run")
    assert dict(run.attributes or {}) == {
        "agentloop.run_id": result.run_id,
        "agentloop.session_id": "s",
        "agentloop.status": "completed",
        "agentloop.reason": "",
        "agentloop.steps": result.steps,
        "agentloop.tokens.prompt": result.tokens.prompt,
        "agentloop.tokens.completion": result.tokens.completion,
        "agentloop.cost": 0.0,
    }
    turns = sorted(recorded.named("turn"), key=lambda span: span.start_time or 0)
    assert [(turn.attributes or {})["agentloop.iteration"] for turn in turns] == [1, 2, 3, 4]
    failed = recorded.named("execute_js")[0]
    event = failed.events[0].attributes or {}
    assert (event["exception.type"], event["exception.message"]) == ("TypeError", "not so")
    assert failed.status.description == "not so"


async def test_model_calls_follow_the_conventions(recorded: Recorded) -> None:
    reply = ModelReply(content=js("answer(1)"), usage=Usage(prompt=11, completion=7), model="tiny-2")
    await recorded.play([reply])
    [call] = recorded.named("llm_call")
    names = gen_ai_attributes
    assert call.kind is SpanKind.CLIENT
    assert dict(call.attributes or {}) == {
        names.GEN_AI_OPERATION_NAME: "chat",
        names.GEN_AI_PROVIDER_NAME: "scripted",
        names.GEN_AI_CONVERSATION_ID: "s",
        names.GEN_AI_REQUEST_MODEL: "tiny",
        names.GEN_AI_RESPONSE_MODEL: "tiny-2",
        names.GEN_AI_RESPONSE_FINISH_REASONS: ("stop",),
        names.GEN_AI_USAGE_INPUT_TOKENS: 11,
        names.GEN_AI_USAGE_OUTPUT_TOKENS: 7,
        "agentloop.model": "tiny",
        "agentloop.tokens.prompt": 11,
        "agentloop.tokens.completion": 7,
    }


async def test_a_failed_model_call_fails_its_turn_and_the_run(recorded: Recorded) -> None:
    class Refusing:
        name = "refusing"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            raise ModelAuthError("no such key", status=401)

    await recorded.play([], llm=Refusing())
    assert recorded.tree() == (
        "agentloop.run !\n"
        "  * exception\n"
        "  agentloop.sandbox_build\n"
        "  agentloop.turn !\n"
        "    * exception\n"
        "    agentloop.llm_call !\n"
        "      * exception"
    )
    [call] = recorded.named("llm_call")
    assert (call.attributes or {})["error.type"] == "ModelAuthError"
    assert "Traceback" in str((call.events[0].attributes or {})["exception.stacktrace"])


async def test_a_run_out_of_time_fails_with_its_spans_closed(recorded: Recorded) -> None:
    await recorded.play([js("sleep(30000)")], limits=RunLimits(wall_s=4))
    assert {span.name for span in recorded.spans} >= {"agentloop.run", "agentloop.turn", "agentloop.execute_js"}
    [run] = recorded.named("run")
    assert (run.attributes or {})["agentloop.status"] == "timeout"
    assert run.status.status_code is StatusCode.ERROR


async def test_spans_of_the_host_program_hang_together_with_ours(recorded: Recorded) -> None:
    """The run is a child of what was current when it was opened, a pack's own span a child of the script."""
    tracer = recorded.tracers.get_tracer("host")

    async def build(context: BuildContext) -> Sequence[Pack]:
        async def look() -> None:
            with tracer.start_as_current_span("host.look"):
                await asyncio.sleep(0)

        return [Pack(name="p", description="", primitives={"look": Primitive(look)})]

    with tracer.start_as_current_span("host.request"):
        await recorded.play([js("look(); answer(1)")], capabilities=[Capability(name="p", description="", build=build)])
    spans = {span.name: span for span in recorded.spans}
    parents = {name: span.parent and span.parent.span_id for name, span in spans.items()}
    assert parents["agentloop.run"] == spans["host.request"].context.span_id
    assert parents["host.look"] == spans["agentloop.execute_js"].context.span_id


async def test_figures(recorded: Recorded) -> None:
    replies = [ModelReply(content=text, usage=Usage(prompt=10, completion=2)) for text in A_THROW_AND_A_RETRY]
    await recorded.play(replies)
    await recorded.play([], limits=RunLimits(iterations=1))
    figures = recorded.figures()
    assert {key: point.value for key, point in figures["agentloop.runs"].items()} == {
        ("completed",): 1,
        ("model_error",): 1,
    }
    assert [point.value for point in figures["agentloop.turns"].values()] == [5]
    assert {key: point.value for key, point in figures["agentloop.tokens"].items()} == {("input",): 40, ("output",): 8}
    assert {key: point.count for key, point in figures["agentloop.script.duration"].items()} == {
        (False,): 2,
        (True,): 1,
    }
    assert {key: point.count for key, point in figures["agentloop.model.duration"].items()} == {
        (): 4,
        ("RepliesUsedUp",): 1,
    }


async def test_either_provider_will_do() -> None:
    recorded = Recorded()
    await Loop(llm=Scripted([js("answer(1)")]), store=MemoryStore(), tracer_provider=recorded.tracers).run(
        RunRequest("go")
    )
    assert len(recorded.spans) == 5 and recorded.reader.get_metrics_data() is None
    await Loop(llm=Scripted([js("answer(1)")]), store=MemoryStore(), meter_provider=recorded.meters).run(
        RunRequest("go")
    )
    assert len(recorded.spans) == 5 and "agentloop.runs" in recorded.figures()


# Without a provider ---------------------------------------------------------------------------------


async def test_without_a_provider_nothing_is_recorded() -> None:
    """Not even where the program has set one up for itself: tracing is asked for, never guessed."""
    recorded = Recorded()
    set_tracer_provider(recorded.tracers)
    result = await Loop(llm=Scripted(A_THROW_AND_A_RETRY), store=MemoryStore()).run(RunRequest("go"))
    assert result.status is Status.COMPLETED
    assert recorded.spans == ()


def test_without_a_provider_opentelemetry_is_not_loaded() -> None:
    code = (
        "import asyncio, sys; from agentloop import Loop, MemoryStore, RunRequest, Scripted;"
        "asyncio.run(Loop(llm=Scripted(['```js\\nanswer(1)\\n```']), store=MemoryStore()).run(RunRequest('go')));"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_a_provider_all_spans_are_one() -> None:
    trace = Tracing().run(run_id="r", session_id="s", redactor=None)  # type: ignore[arg-type]
    request = ModelRequest(messages=[])
    spans = [trace.sandbox_build(), trace.turn(1), trace.script(), trace.model_call(request, provider="x")]
    assert len({id(span) for span in [*spans, RunTrace().turn(1)]}) == 1
