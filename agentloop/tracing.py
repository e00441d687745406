"""Spans and figures of a run, in OpenTelemetry's terms. Every span, attribute and metric is named here.

    agentloop.run
    ├── agentloop.sandbox_build
    ├── agentloop.compact
    └── agentloop.turn                 each with the events agentloop.empty_reply, .truncated_reply, .no_code_reply
        ├── agentloop.llm_call         with the GenAI conventions' attributes (gen_ai.*)
        └── agentloop.execute_js       a script's error is here only: the turn goes on

Without a provider nothing is recorded and OpenTelemetry is not loaded.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from agentloop.errors import EndRun, EndTurn
from agentloop.guard.redact import Redactor
from agentloop.llm.base import ModelReply, ModelRequest
from agentloop.records import RunResult, Status, Usage

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer, TracerProvider

__all__ = ["Attribute", "RunTrace", "Span", "Tracing"]

Attribute: TypeAlias = str | bool | int | float | Sequence[str]
"""What a span can hold under a name."""

_SCOPE = "agentloop"


class Span(AbstractContextManager["Span"]):
    """A stretch of a run's work. This one is recorded nowhere."""

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """Adds attributes; their text is redacted."""

    def event(self, name: str, attributes: Mapping[str, Attribute] | None = None) -> None:
        """Notes that something happened now."""

    def failed(self, kind: str, message: str, *, stack: str = "") -> None:
        """Marks the span as an error; an exception that leaves its block does so by itself."""

    def replied(self, reply: ModelReply) -> None:
        """What a model call brought; for `RunTrace.model_call`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the span."""


_NO_SPAN = Span()


class RunTrace:
    """The spans and figures of one run. This one reports nothing."""

    def sandbox_build(self) -> Span:
        """Building packs and sandbox."""
        return _NO_SPAN

    def compact(self, *, messages_before: int) -> Span:
        """Summarising a history; set `agentloop.compact.messages_after` and `.retain_from_step` once known."""
        return _NO_SPAN

    def turn(self, iteration: int) -> Span:
        """One turn; what opens inside it is its child."""
        return _NO_SPAN

    def model_call(self, request: ModelRequest, *, provider: str) -> Span:
        """One call of the run's model."""
        return _NO_SPAN

    def script(self) -> Span:
        """One script."""
        return _NO_SPAN

    def note(self, name: str, attributes: Mapping[str, Attribute] | None = None) -> None:
        """An event of the turn, or of the run outside of any."""

    def describe(self, attributes: Mapping[str, Attribute]) -> None:
        """Attributes of the turn, or of the run outside of any."""

    def ran(self, *, duration_ms: int, failed: bool) -> None:
        """A script ended."""

    def used(self, usage: Usage) -> None:
        """A model call, whoever made it, used tokens."""

    def end(self, result: RunResult, why: str) -> None:
        """The run is over; `why` says more of an end that is no success."""


class Tracing:
    """Where a loop's runs report to: a tracer, a meter, both or, without providers, nowhere."""

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self._off = tracer_provider is None and meter_provider is None
        if self._off:
            return
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import NoOpTracerProvider

        self._tracer = (tracer_provider or NoOpTracerProvider()).get_tracer(_SCOPE)
        self._figures = _Figures(meter_provider or NoOpMeterProvider())

    def run(self, *, run_id: str, session_id: str, redactor: Redactor) -> RunTrace:
        """Opens the run's span, a child of the current one; `RunTrace.end` closes it."""
        if self._off:
            return _NO_TRACE
        return _RecordedRun(self._tracer, self._figures, run_id=run_id, session_id=session_id, redactor=redactor)


_NO_TRACE = RunTrace()


class _Figures:
    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter(_SCOPE)
        self.runs = meter.create_counter("agentloop.runs", unit="{run}", description="Runs that ended")
        self.turns = meter.create_counter("agentloop.turns", unit="{turn}", description="Turns begun")
        self.tokens = meter.create_counter("agentloop.tokens", unit="{token}", description="Tokens used by runs")
        self.script = meter.create_histogram("agentloop.script.duration", unit="s", description="Time of a script")
        self.model = meter.create_histogram("agentloop.model.duration", unit="s", description="Time of a model call")


class _RecordedRun(RunTrace):
    def __init__(self, tracer: Tracer, figures: _Figures, *, run_id: str, session_id: str, redactor: Redactor) -> None:
        self._tracer = tracer
        self._figures = figures
        self._redactor = redactor
        self._session_id = session_id
        names = {"agentloop.run_id": run_id, "agentloop.session_id": session_id}
        self._root = _RecordedSpan(tracer.start_span("agentloop.run"), redactor)
        self._root.set(names)
        self._turn: _RecordedSpan | None = None

    def sandbox_build(self) -> Span:
        return self._child("agentloop.sandbox_build", of=self._root)

    def compact(self, *, messages_before: int) -> Span:
        span = self._child("agentloop.compact", of=self._root)
        span.set({"agentloop.compact.messages_before": messages_before})
        return span

    def turn(self, iteration: int) -> Span:
        self._figures.turns.add(1)
        self._turn = self._child("agentloop.turn", of=self._root)
        self._turn.set({"agentloop.iteration": iteration})
        return self._turn

    def model_call(self, request: ModelRequest, *, provider: str) -> Span:
        from opentelemetry.trace import SpanKind, set_span_in_context

        span = self._tracer.start_span(
            "agentloop.llm_call", context=set_span_in_context(self._here.otel), kind=SpanKind.CLIENT
        )
        call = _ModelCall(span, self._redactor, self._figures)
        call.set(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.conversation.id": self._session_id,
            }
        )
        if request.model:
            call.set({"gen_ai.request.model": request.model, "agentloop.model": request.model})
        if request.max_tokens is not None:
            call.set({"gen_ai.request.max_tokens": request.max_tokens})
        return call

    def script(self) -> Span:
        return self._child("agentloop.execute_js", of=self._here)

    def note(self, name: str, attributes: Mapping[str, Attribute] | None = None) -> None:
        self._here.event(name, attributes)

    def describe(self, attributes: Mapping[str, Attribute]) -> None:
        self._here.set(attributes)

    def ran(self, *, duration_ms: int, failed: bool) -> None:
        self._figures.script.record(duration_ms / 1000, {"agentloop.script.failed": failed})

    def used(self, usage: Usage) -> None:
        self._figures.tokens.add(usage.prompt, {"gen_ai.token.type": "input"})
        self._figures.tokens.add(usage.completion, {"gen_ai.token.type": "output"})

    def end(self, result: RunResult, why: str) -> None:
        self._figures.runs.add(1, {"agentloop.status": str(result.status)})
        self._root.set(
            {
                "agentloop.status": str(result.status),
                "agentloop.reason": result.reason,
                "agentloop.steps": result.steps,
                "agentloop.tokens.prompt": result.tokens.prompt,
                "agentloop.tokens.completion": result.tokens.completion,
                "agentloop.cost": result.cost,
            }
        )
        if result.status is not Status.COMPLETED:
            self._root.failed(str(result.status), why or result.reason)
        self._root.otel.end()

    @property
    def _here(self) -> _RecordedSpan:
        turn = self._turn
        return turn if turn is not None and turn.is_open else self._root

    def _child(self, name: str, *, of: _RecordedSpan) -> _RecordedSpan:
        return _RecordedSpan(self._tracer.start_span(name, context=_inside(of)), self._redactor)


def _inside(span: _RecordedSpan) -> Context:
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span.otel)


class _RecordedSpan(Span):
    def __init__(self, span: OtelSpan, redactor: Redactor) -> None:
        self.otel = span
        self.is_open = True
        self._redactor = redactor
        self._current: AbstractContextManager[OtelSpan] | None = None

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        self.otel.set_attributes(self._shown(attributes))

    def event(self, name: str, attributes: Mapping[str, Attribute] | None = None) -> None:
        self.otel.add_event(name, self._shown(attributes or {}))

    def failed(self, kind: str, message: str, *, stack: str = "") -> None:
        from opentelemetry.trace import Status as SpanStatus
        from opentelemetry.trace import StatusCode

        told = {"exception.type": kind, "exception.message": message}
        self.event("exception", told | ({"exception.stacktrace": stack} if stack else {}))
        self.set({"error.type": kind})
        self.otel.set_status(SpanStatus(StatusCode.ERROR, self._redactor.text(message)))

    def __enter__(self) -> Self:
        from opentelemetry.trace import use_span

        self._current = use_span(self.otel, record_exception=False, set_status_on_exception=False)
        self._current.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_open = False
        if error is not None:
            self._judge(error)
        if self._current is not None:
            self._current.__exit__(None, None, None)
        self.otel.end()

    def _judge(self, error: BaseException) -> None:
        """Ends that are no error go by as exceptions too."""
        if isinstance(error, EndTurn) or (isinstance(error, EndRun) and error.status is Status.COMPLETED):
            return
        if isinstance(error, EndRun):
            self.failed(str(error.status), ": ".join(str(part) for part in (error.reason, error.data) if part))
            return
        stack = "".join(traceback.format_exception(error))
        self.failed(type(error).__name__, str(error), stack=stack)

    def _shown(self, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
        return {name: self._redactor.json(value) for name, value in attributes.items()}


class _ModelCall(_RecordedSpan):
    def __init__(self, span: OtelSpan, redactor: Redactor, figures: _Figures) -> None:
        super().__init__(span, redactor)
        self._figures = figures
        self._began = time.perf_counter()

    def replied(self, reply: ModelReply) -> None:
        self.set(
            {
                "gen_ai.response.finish_reasons": [reply.finish_reason],
                "gen_ai.usage.input_tokens": reply.usage.prompt,
                "gen_ai.usage.output_tokens": reply.usage.completion,
                "agentloop.tokens.prompt": reply.usage.prompt,
                "agentloop.tokens.completion": reply.usage.completion,
            }
        )
        if reply.model:
            self.set({"gen_ai.response.model": reply.model})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took = time.perf_counter() - self._began
        self._figures.model.record(took, {"error.type": kind.__name__} if kind else {})
        super().__exit__(kind, error, trace)
