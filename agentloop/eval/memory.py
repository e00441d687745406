"""Runs of suites for as long as the process lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentloop.errors import InvalidInput, UnknownSession
from agentloop.eval.base import CaseResult, SuiteRun

__all__ = ["MemoryEvalStore"]


class MemoryEvalStore:
    """Implements `EvalStore`."""

    def __init__(self) -> None:
        self._runs: dict[str, SuiteRun] = {}

    async def start(self, run: SuiteRun) -> None:
        """See `EvalStore.start`."""
        if run.id in self._runs:
            raise InvalidInput(f"there is a run {run.id!r} already; give it another id")
        self._runs[run.id] = run

    async def add(self, run_id: str, result: CaseResult) -> None:
        """See `EvalStore.add`."""
        run = self._known(run_id)
        self._runs[run_id] = replace(run, results=(*run.results, result))

    async def finish(self, run: SuiteRun) -> None:
        """See `EvalStore.finish`."""
        self._known(run.id)
        self._runs[run.id] = run

    async def get(self, run_id: str) -> SuiteRun | None:
        """See `EvalStore.get`."""
        return self._runs.get(run_id)

    async def runs(self, suite: str = "", *, limit: int = 20) -> Sequence[SuiteRun]:
        """See `EvalStore.runs`."""
        newest = reversed(self._runs.values())
        return tuple(run for run in newest if suite in ("", run.suite))[:limit]

    async def aclose(self) -> None:
        """Nothing is open."""

    def _known(self, run_id: str) -> SuiteRun:
        if run_id not in self._runs:
            raise UnknownSession(f"there is no run {run_id!r} of a suite")
        return self._runs[run_id]
