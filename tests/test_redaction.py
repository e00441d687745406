"""A secret that a run meets is in nothing that is kept or shown."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentloop import BuildContext, Capability, Loop, Pack, Primitive, RunEvent, RunRequest, RunResult, Scripted, Status
from agentloop.cli.ndjson import JsonView
from agentloop.errors import AgentLoopError, EndRun, ModelError
from agentloop.guard.grants import Answer, Question
from agentloop.guard.redact import Redactor
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.packs.ai import ai_capability
from agentloop.packs.base import Call, Observation
from agentloop.stores.sqlite import SQLiteStore

SECRET = 'tr0ub"4dor/&3 \n"é'
PLACE = "[redacted:secret.key]"
FORMS = (
    SECRET,
    json.dumps(SECRET)[1:-1],
    json.dumps(json.dumps(SECRET))[3:-3],
    quote(SECRET, safe=""),
    base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1],
    "tr0ub",
)


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


class Talkative:
    """A pack with the secret in it: returned, thrown, shown, asked about, ending the run."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def capability(self) -> Capability:
        async def build(context: BuildContext) -> Sequence[Pack]:
            async def ask(what: str) -> Answer:
                assert context.ask is not None
                return await context.ask(f"May I use {what}?", options=[f"yes {what}", "no"])

            calls: dict[str, Call] = {
                "secret": self.secret,
                "boom": self.boom,
                "keep": self.keep,
                "end": self.end,
                "ask": ask,
            }
            return [
                Pack(
                    name="talkative",
                    description="",
                    declarations=f"// the key is {SECRET}",
                    primitives={name: Primitive(call) for name, call in calls.items()},
                    observe=self.observe,
                    receipts=lambda: (f"sent {SECRET}",),
                )
            ]

        return Capability(name="talkative", description="", build=build)

    async def secret(self) -> str:
        return SECRET

    async def boom(self) -> None:
        raise ModelError(f"401 for {SECRET}")

    async def keep(self, value: Any) -> None:
        self.got.append(value)

    async def end(self) -> None:
        raise EndRun(Status.REFUSED, f"because {SECRET}", f"the data is {SECRET}")

    async def observe(self) -> Observation:
        return Observation(text=f"the page shows {SECRET}")


class Told:
    """Everything that one run leaves behind, as text."""

    def __init__(self, path: Path) -> None:
        self.path = path / "told.db"
        self.events: list[RunEvent] = []
        self.lines: list[str] = []
        self.asked: list[Question] = []
        self.spans = InMemorySpanExporter()
        self.llm = Scripted([])
        self.pack = Talkative()

    async def play(
        self, replies: Sequence[Any], request: RunRequest | None = None, *, llm: Any = None, **options: Any
    ) -> RunResult:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        view = JsonView(self.lines.append, chunks=True)
        self.llm = Scripted(replies)

        def on_event(event: RunEvent) -> None:
            self.events.append(event)
            view.event(event)

        async def on_ask(question: Question) -> Answer:
            self.asked.append(question)
            return question.options[0]

        loop = Loop(
            llm=llm or self.llm,
            store=SQLiteStore(self.path),
            capabilities=[self.pack.capability(), ai_capability()],
            redactor=Redactor.from_secrets({"key": SECRET}),
            tracer_provider=provider,
            on_ask=on_ask,
            **options,
        )
        async with loop:
            result = await loop.run(request or RunRequest("go", session="s"), on_event=on_event)
        view.result(result)
        return result

    def everything(self) -> dict[str, str]:
        stored = b"".join(file.read_bytes() for file in sorted(self.path.parent.glob("told.db*")))
        return {
            "events": repr(self.events),
            "lines": "\n".join(self.lines),
            "spans": "\n".join(span.to_json() for span in self.spans.get_finished_spans()),
            "requests": repr([message.content for request in self.llm.requests for message in request.messages]),
            "questions": repr(self.asked),
            "database": stored.decode("utf-8", "replace"),
        }

    def check(self, result: RunResult | None, *, expected: Sequence[str]) -> None:
        """No form of the secret is anywhere; where it was, in `expected`, the placeholder is."""
        told = self.everything() | {"result": repr(result)}
        leaks = [(place, form) for place, text in told.items() for form in FORMS if form in text]
        assert not leaks
        assert [place for place in expected if PLACE not in told[place]] == []


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


async def test_logged_in_every_form(told: Told) -> None:
    script = """const key = secret();
      log("plain " + key); log({key, [key]: 1}); log(btoa(unescape(encodeURIComponent("user:" + key))));
      log(encodeURIComponent(key)); log(JSON.stringify(JSON.stringify({key})));"""
    result = await told.play([js(script), js('answer("done")')])
    told.check(result, expected=["events", "lines", "requests", "database"])
    logged = next(event.content for event in told.events if event.type == "execute_js_result")
    assert logged.count(PLACE) >= 7


async def test_thrown(told: Told) -> None:
    result = await told.play([js("throw new Error('no ' + secret())"), js("boom()"), js('answer("done")')])
    told.check(result, expected=["events", "lines", "spans", "requests", "database"])


async def test_answered(told: Told) -> None:
    result = await told.play([js("answer('it is ' + secret())")])
    assert result.final_text == f"it is {PLACE}"
    told.check(result, expected=["events", "lines", "database", "result"])


async def test_asked_for_with_the_secret_in_the_request(told: Told) -> None:
    setup = {"flags": [f"--header=key: {SECRET}"]}
    request = RunRequest(f"log in with {SECRET}", context=f"the key: {SECRET}", session="s", setup=setup)
    result = await told.play([js(f"log({json.dumps(SECRET)}.length)"), js('answer("done")')], request)
    assert PLACE in result.system_prompt
    told.check(result, expected=["events", "lines", "requests", "database", "result"])


async def test_carried(told: Told) -> None:
    """The next script has the value itself, what is kept of it does not; the next run starts from what was kept."""
    replies = [js("return {key: secret(), [secret()]: [1]}"), js("keep(args.key)"), js("answer('done')")]
    result = await told.play(replies)
    assert told.pack.got == [SECRET]
    told.check(result, expected=["events", "requests", "database"])
    await told.play([js("keep(args.key); answer('done')")])
    assert told.pack.got == [SECRET, PLACE]


async def test_a_model_that_a_script_asks_reads_it_no_more_than_the_runs_own(told: Told) -> None:
    script = "const key = secret(); return [ai('say ' + key, {system: key}), aiJSON('say it', {const: key})]"
    await told.play([js(script), "said", "nothing", json.dumps("nothing"), js('answer("done")')])
    asked = [repr([message.content for message in request.messages]) for request in told.llm.requests[1:4]]
    assert len(asked) == 3 and all(PLACE in words for words in asked)
    told.check(None, expected=["requests"])


async def test_a_run_ended_by_a_primitive(told: Told) -> None:
    result = await told.play([js("end()")])
    assert (result.status, result.reason) == (Status.REFUSED, f"because {PLACE}")
    told.check(result, expected=["events", "lines", "spans", "database", "result"])


async def test_asked_of_a_person(told: Told) -> None:
    result = await told.play([js("keep(ask(secret()))"), js("answer('done')")])
    assert told.pack.got == [f"yes {SECRET}"]
    told.check(result, expected=["questions", "events", "database"])


async def test_seen_by_a_check(told: Told) -> None:
    async def verify(handle: Any) -> Sequence[Mapping[str, Any]]:
        return [{"check": f"text={SECRET}", "passed": False, "seen": {"text": SECRET}}]

    result = await told.play([js("answer('done')")], verify=verify)
    assert result.reason == f"text={PLACE}"
    told.check(result, expected=["events", "lines", "database", "result"])


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_streamed_across_chunks(told: Told, size: int) -> None:
    answer = f"DONE\nThe key is {SECRET}, as you asked. " + "And more of the answer. " * 20

    class Streaming:
        name = "streaming"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            for at in range(0, len(answer), size):
                assert on_chunk is not None
                on_chunk(answer[at : at + size])
                await asyncio.sleep(0)
            return ModelReply(content=answer)

    result = await told.play([], llm=Streaming())
    chunks = [event.content for event in told.events if event.type == "response_chunk"]
    assert len(chunks) > 20
    assert "".join(chunks).strip() == result.final_text.strip()
    told.check(result, expected=["events", "lines", "database", "result"])


async def test_the_model_failed_with_it(told: Told) -> None:
    class Failing:
        name = "failing"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            raise ModelError(f"401: bad key {SECRET}")

    result = await told.play([], llm=Failing())
    assert result.status is Status.MODEL_ERROR
    told.check(result, expected=["events", "lines", "spans", "database"])


@pytest.mark.parametrize("kind", [RuntimeError, KeyError])
async def test_an_error_that_comes_back_to_the_caller(told: Told, kind: type[Exception]) -> None:
    class Broken:
        name = "broken"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            try:
                raise ValueError(f"cause {SECRET}")
            except ValueError as error:
                raise kind(f"bad key {SECRET}") from error

    with pytest.raises(kind) as raised:
        await told.play([], llm=Broken())
    assert PLACE in str(raised.value) and PLACE in str(raised.value.__cause__)
    told.check(None, expected=["events", "lines", "spans", "database"])


async def test_an_error_of_fixed_words_is_replaced(told: Told) -> None:
    class Fixed(Exception):
        def __str__(self) -> str:
            return f"fixed {SECRET}"

    class Broken:
        name = "broken"

        async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
            raise Fixed

    with pytest.raises(AgentLoopError, match="Fixed: fixed") as raised:
        await told.play([], llm=Broken())
    assert PLACE in str(raised.value)


async def test_without_a_redactor_nothing_is_changed(tmp_path: Path) -> None:
    pack = Talkative()
    events: list[RunEvent] = []
    loop = Loop(
        llm=Scripted([js("answer('it is ' + secret())")]),
        store=SQLiteStore(tmp_path / "plain.db"),
        capabilities=[pack.capability()],
    )
    async with loop:
        result = await loop.run(RunRequest("go"), on_event=events.append)
    assert result.final_text == f"it is {SECRET}"
    assert any(SECRET in event.content for event in events)
