"""How good an agent is: suites of cases, checks and a judge, and what came of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.eval.base import Case, CaseResult, Criterion, EvalStore, RunState, Score, Suite, SuiteRun

if TYPE_CHECKING:
    from agentloop.eval.judge import Judge
    from agentloop.eval.memory import MemoryEvalStore
    from agentloop.eval.runner import Attempt, run_suite
    from agentloop.eval.sqlite import SQLiteEvalStore
    from agentloop.eval.suite import load_suite, read_suite

__all__ = [
    "Attempt",
    "Case",
    "CaseResult",
    "Criterion",
    "EvalStore",
    "Judge",
    "MemoryEvalStore",
    "RunState",
    "SQLiteEvalStore",
    "Score",
    "Suite",
    "SuiteRun",
    "load_suite",
    "read_suite",
    "run_suite",
]

_LAZY = {
    "Attempt": "agentloop.eval.runner",
    "Judge": "agentloop.eval.judge",
    "MemoryEvalStore": "agentloop.eval.memory",
    "SQLiteEvalStore": "agentloop.eval.sqlite",
    "load_suite": "agentloop.eval.suite",
    "read_suite": "agentloop.eval.suite",
    "run_suite": "agentloop.eval.runner",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
