"""The engine's heart: ask the model, run its script, thread what it returned.

`Loop` holds the collaborators, `RunHandle` one run. `RunHandle.turn` is the door that `run`, `stream` and
every queue are built on; read it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from agentloop.artifacts.base import Artifacts
from agentloop.capabilities import Capability
from agentloop.context import feedback
from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import Compactor
from agentloop.context.reply import Answer, Empty, Script, Truncated, parse_reply
from agentloop.context.settings import LoopSettings
from agentloop.errors import EndRun
from agentloop.events import RunEvent
from agentloop.guard.grants import OnAsk
from agentloop.guard.logs import redacting
from agentloop.guard.policy import DefaultPolicy, Policy
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret, Secrets
from agentloop.journal import OnEvent
from agentloop.llm.base import LLM, Message, ModelReply
from agentloop.records import Json, RunLimits, RunRequest, RunResult, Status, TurnOutcome, Usage
from agentloop.run.context import RunContext
from agentloop.run.conversation import Conversation
from agentloop.run.ending import end_of, expected, finish, result_of
from agentloop.run.keeping import save_turn
from agentloop.run.model_call import ask
from agentloop.run.opening import Collaborators, begin, open_run, resume_run, start
from agentloop.run.present import present
from agentloop.run.script import execute
from agentloop.run.streaming import streamed
from agentloop.run.window import ContextWindow
from agentloop.sandbox.base import Outcome
from agentloop.sandbox.builder import CapabilityBuilder, SandboxBuilder
from agentloop.stores.base import Store
from agentloop.tracing import Tracing

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["EMPTY_RETRIES", "Loop", "RunHandle", "Verify"]

EMPTY_RETRIES = 2
"""Empty replies in a row that are sent back; the next one ends the run."""

Verify = Callable[["RunHandle"], Awaitable[Sequence[Mapping[str, Json]]]]
"""Judges a finished run while its page is still open; each verdict has `check` and `passed`."""


class RunHandle:
    """One run. Made by `Loop.open`; call `turn` until it says done, then `result` is set. Close it always."""

    def __init__(self, loop: Loop, context: RunContext) -> None:
        self._loop = loop
        self._context = context
        self._journal = context.journal
        self._said = Conversation(
            context.steps,
            run_id=context.run.run_id,
            window=loop.settings.steps_replayed,
            request=context.request.message,
        )
        self._window = ContextWindow(context, loop.settings, model=loop.model or "")
        self._empties = 0
        self._cancelled: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.system_prompt = ""
        self.final_text = context.run.final_text
        self.result: RunResult | None = result_of(context.run) if context.run.status.terminal else None

    @property
    def context(self) -> RunContext:
        """What the run stands on: its packs and sandbox once the first turn has begun."""
        return self._context

    # The turn ---------------------------------------------------------------------------------------

    async def turn(self) -> TurnOutcome:
        """Asks the model once and does what it says. Never raises for what model, script or page did: those
        end the run with a status. Cancellation ends the run as `cancelled` and is passed on."""
        if self.result is None:
            with redacting(self._journal.redactor):
                await self._turn_or_end()
        return TurnOutcome(done=self.result is not None, status=self.result.status if self.result else Status.RUNNING)

    async def run(self) -> RunResult:
        """Turns until the run is over."""
        while not (await self.turn()).done:
            pass
        assert self.result is not None
        return self.result

    async def _turn_or_end(self) -> None:
        try:
            await self._context.bounded(self._turn(), self._cancelled)
        except BaseException as error:  # whatever it was, the story gets its last line
            await self._finish(end_of(error))
            if not expected(error):
                if (shown := self._journal.redactor.error(error)) is not error:
                    raise shown from None
                raise

    async def _turn(self) -> None:
        if not self._context.started:
            await self._begin()
        self._context.spending.begin_iteration()
        self._journal.turn += 1
        with self._context.trace.turn(self._journal.turn):
            await self._follow(await self._ask())
        await save_turn(self._context)

    async def _follow(self, reply: ModelReply) -> None:
        match parse_reply(reply.content, reply.finish_reason):
            case Answer(text=text) if self._loop.settings.prompt.prose_answers:
                raise EndRun(Status.COMPLETED, data=text)
            case Answer():
                await self._say_back("no_code", reply.usage)
            case Script() as script:
                await self._execute(script, reply.usage)
            case Truncated(reason=reason):
                await self._say_back("truncated", reply.usage, reason)
            case Empty():
                await self._count_empty(reply.usage)

    async def _begin(self) -> None:
        context = self._context
        if not context.resumed:
            await begin(context, self._said, self._window)
        self.system_prompt = await start(context, self._loop.builder, self._loop.settings.prompt)
        if context.answered is not None:
            raise EndRun(Status.COMPLETED, data=context.answered)

    async def _ask(self) -> ModelReply:
        with self._context.spending.counting_calls():
            return await ask(
                self._context,
                await self._messages(),
                model=self._loop.model or "",
                max_tokens=self._window.max_tokens,
                streams=self._loop.settings.prompt.prose_answers,
            )

    async def _messages(self) -> list[Message]:
        prompt, tail = self._loop.settings.prompt, await present(self._context)
        return await self._window.fit(self._said.draft(prompt, system=self.system_prompt, tail=tail))

    # A script ---------------------------------------------------------------------------------------

    async def _execute(self, script: Script, usage: Usage) -> None:
        self._empties = 0
        outcome, receipts = await execute(
            self._context, self._said, script, prompt=self._loop.settings.prompt, usage=usage
        )
        await self._watch_progress(script.code, outcome, receipts)

    async def _watch_progress(self, code: str, outcome: Outcome, receipts: Sequence[str]) -> None:
        verdict, hint = self._said.judge_progress(code, outcome, [*receipts, *self._context.observed])
        if verdict == "end":
            raise EndRun(Status.ERROR, "no_progress", "the same script came four times in a row with the same outcome")
        if hint:
            await self._journal.emit("warning", content=hint)

    # Replies that are neither script nor answer -----------------------------------------------------------

    async def _count_empty(self, usage: Usage) -> None:
        self._empties += 1
        if self._empties > EMPTY_RETRIES:
            raise EndRun(Status.ERROR, "empty_reply", f"the model sent {self._empties} empty replies in a row")
        await self._say_back("empty", usage)

    async def _say_back(self, phrase: Literal["empty", "truncated", "no_code"], usage: Usage, why: str = "") -> None:
        text = feedback.say(phrase)
        tokens = {"prompt": usage.prompt, "completion": usage.completion}
        self._context.trace.note(f"agentloop.{phrase}_reply")
        await self._journal.emit("warning", content=text, args={"reason": why or phrase, "tokens": tokens})
        self._said.add("result", text)

    # The end ----------------------------------------------------------------------------------------

    def cancel(self, reason: str = "api") -> None:
        """Ends the run as `cancelled` at the next await of its turn; may be called from a signal handler."""
        if not self._cancelled.done():
            self._cancelled.set_result(reason)

    async def close(self, status: Status = Status.CANCELLED, reason: str = "api") -> None:
        """Ends the run with `status` if it is not over, and lets everything go. May be called twice."""
        if self.result is None:
            with redacting(self._journal.redactor):
                await self._finish(EndRun(status, reason))

    async def _finish(self, end: EndRun) -> None:
        verify = self._loop.verify
        judge = None if verify is None else lambda: verify(self)
        if end.status is Status.COMPLETED:
            self.final_text = "" if end.data is None else self._journal.redactor.text(str(end.data))
        self.result = await finish(self._context, end, system_prompt=self.system_prompt, judge=judge)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Loop:
    """The engine: a model, a store and what scripts may call. Serves any number of runs, one per session at a time.

    Give either `capabilities` or a `sandbox_builder`. `secrets` are bound for all its runs and taken out of all that
    they keep and show; `packs.secret.secret_capability()` lets scripts use them. `settings` replaces
    `limits`, `history_window`, `compactor` and `context_budget`.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        store: Store,
        capabilities: Sequence[Capability] = (),
        sandbox_builder: SandboxBuilder | None = None,
        policy: Policy | None = None,
        model: str | None = None,
        limits: RunLimits | None = None,
        history_window: int | None = None,
        compactor: Compactor | None = None,
        context_budget: ContextBudget | None = None,
        settings: LoopSettings | None = None,
        on_ask: OnAsk | None = None,
        verify: Verify | None = None,
        artifacts: Artifacts | None = None,
        redactor: Redactor | None = None,
        secrets: Iterable[Secret] = (),
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        if capabilities and sandbox_builder is not None:
            raise TypeError("give Loop either capabilities or a sandbox_builder, not both")
        self.store, self.model, self.verify = store, model, verify
        self.builder: SandboxBuilder = sandbox_builder or CapabilityBuilder(capabilities)
        self.settings = LoopSettings.of(limits, history_window, compactor, context_budget, settings=settings)
        self._given = Collaborators(
            store=store,
            llm=llm,
            settings=self.settings,
            policy=policy or DefaultPolicy(),
            on_ask=on_ask,
            artifacts=artifacts,
            secrets=(bound := Secrets(secrets)),
            redactor=bound.extend(redactor or Redactor()),
            tracing=Tracing(tracer_provider=tracer_provider, meter_provider=meter_provider),
        )

    async def open(self, request: RunRequest | str, *, on_event: OnEvent | None = None) -> RunHandle:
        """A new run, kept in the store and not yet begun; or, given a session's id, its last run taken up again.

        A run that is over comes back with its `result`. Raises `StoreError`, `InvalidInput`, `UnknownSession`,
        and `RunOwned` while a living process has a run in the session.
        """
        if isinstance(request, str):
            return RunHandle(self, await resume_run(request, self._given, on_event=on_event))
        return RunHandle(self, await open_run(request, self._given, on_event=on_event))

    async def run(self, request: RunRequest, *, on_event: OnEvent | None = None) -> RunResult:
        """Runs to the end. Every way a run can end is a status of the result, not an exception."""
        async with await self.open(request, on_event=on_event) as handle:
            return await handle.run()

    def stream(self, request: RunRequest) -> AsyncIterator[RunEvent]:
        """The run's events as they happen, `done` last. Leaving the loop early cancels the run."""
        return streamed(lambda on_event: self.run(request, on_event=on_event))

    def run_sync(self, request: RunRequest) -> RunResult:
        """`run` for code without an event loop; opens and closes one of its own."""

        async def main() -> RunResult:
            async with self:
                return await self.run(request)

        return asyncio.run(main())

    async def aclose(self) -> None:
        """Closes the store."""
        await self.store.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
