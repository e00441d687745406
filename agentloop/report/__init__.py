"""What a finished run means to the world: exit codes, words, checks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.report.checks import Check, DriverPage, judge
    from agentloop.report.verdict import describe, exit_code

__all__ = ["Check", "DriverPage", "describe", "exit_code", "judge"]

_LAZY = {
    "Check": "agentloop.report.checks",
    "DriverPage": "agentloop.report.checks",
    "describe": "agentloop.report.verdict",
    "exit_code": "agentloop.report.verdict",
    "judge": "agentloop.report.checks",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
