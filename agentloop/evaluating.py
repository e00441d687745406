"""A suite against a model: each case in a browser of its own, or without one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentloop.browsing import BrowseOptions, open_browse
from agentloop.build import default_capabilities, loop_settings, named_capabilities
from agentloop.capabilities import Capability
from agentloop.eval.base import Case, EvalStore, Suite, SuiteRun
from agentloop.eval.judge import Judge
from agentloop.eval.record import Record
from agentloop.eval.runner import Attempt, OnResult, run_suite
from agentloop.eval.suite import load_suite
from agentloop.guard.network.base import OwnPorts
from agentloop.guard.redact import Redactor
from agentloop.llm.base import LLM
from agentloop.loop import Loop, RunHandle
from agentloop.records import Json, RunRequest
from agentloop.report.checks import Check, judge
from agentloop.stores.memory import MemoryStore

__all__ = ["EvaluateOptions", "ModelFor", "evaluate"]

ModelFor: TypeAlias = LLM | Callable[[Case], LLM]
"""One client for all cases, or what gives each case its own: a scripted model that begins anew, say."""


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """How the cases of a suite are run. `judge_model` "" leaves it to the suite, and then to the judge's client."""

    model: str | None = None
    judge_model: str = ""
    jobs: int = 1
    allow_private: bool = False
    headless: bool = True
    browser_sandbox: Literal["auto", "on", "off"] = "auto"
    redactor: Redactor | None = None


async def evaluate(
    suite: Suite | str | os.PathLike[str],
    *,
    llm: ModelFor,
    judge_llm: ModelFor | None = None,
    options: EvaluateOptions | None = None,
    store: EvalStore | None = None,
    on_result: OnResult | None = None,
) -> SuiteRun:
    """Runs a suite, given or read from a file, and returns what came of it.

    Without `judge_llm` cases that want a judge are errors. Raises `InvalidInput` for a suite that cannot be used;
    whatever happens to a case is in its result.
    """
    how = options or EvaluateOptions()
    chosen = suite if isinstance(suite, Suite) else load_suite(suite)
    for case in chosen.cases:
        named_capabilities(case.packs)

    def judge_of(case: Case) -> Judge:
        assert judge_llm is not None
        model = how.judge_model or chosen.judge_model
        return Judge(_model_for(judge_llm, case), model=model, redactor=how.redactor)

    ports = OwnPorts()

    async def perform(case: Case) -> Attempt:
        record = Record()
        async with _opened(case, _model_for(llm, case), how, record, ports) as handle:
            result = await handle.run()
        return Attempt(result=result, record=record.text, trouble=record.trouble)

    return await run_suite(
        chosen,
        perform=perform,
        judge=None if judge_llm is None else judge_of,
        store=store,
        jobs=how.jobs,
        redactor=how.redactor,
        on_result=on_result,
    )


def _model_for(llm: ModelFor, case: Case) -> LLM:
    return llm(case) if callable(llm) else llm


def _opened(
    case: Case, llm: LLM, how: EvaluateOptions, record: Record, own_ports: OwnPorts
) -> AbstractAsyncContextManager[RunHandle]:
    if case.url is None:
        return _open_without_browser(case, llm, how, record, own_ports)
    options = BrowseOptions(
        url=case.url,
        allow=case.allow,
        allow_private=how.allow_private,
        headless=how.headless,
        browser_sandbox=how.browser_sandbox,
        model=how.model,
        limits=case.limits,
        expect=case.expect,
        redactor=how.redactor,
        capabilities=_packs(case, how),
        own_ports=own_ports,
    )
    return open_browse(case.task, options, llm=llm, on_event=record.event)


def _packs(case: Case, how: EvaluateOptions) -> list[Capability]:
    """What the case names; without a browser, besides what every run has."""
    standing = () if case.url else default_capabilities(allow=case.allow, allow_private=how.allow_private)
    known = {capability.name for capability in standing} | ({"browser", "markdown"} if case.url else set())
    more = [name for name in case.packs if name not in known]
    return [*standing, *named_capabilities(more, allow=case.allow, allow_private=how.allow_private)]


@asynccontextmanager
async def _open_without_browser(
    case: Case, llm: LLM, how: EvaluateOptions, record: Record, own_ports: OwnPorts
) -> AsyncIterator[RunHandle]:
    checks = [Check.parse(text) for text in case.expect]

    async def verify(handle: RunHandle) -> Sequence[Mapping[str, Json]]:
        return await judge(checks, answer=handle.final_text)

    loop = Loop(
        llm=llm,
        store=MemoryStore(),
        capabilities=_packs(case, how),
        model=how.model,
        settings=loop_settings(limits=case.limits, own_ports=own_ports),
        verify=verify if checks else None,
        redactor=how.redactor,
    )
    async with loop, await loop.open(RunRequest(case.task), on_event=record.event) as handle:
        yield handle
