"""What a finished run means to the world: exit codes, words, and later checks and reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.report.verdict import describe, exit_code

__all__ = ["describe", "exit_code"]

_LAZY = {"describe": "agentloop.report.verdict", "exit_code": "agentloop.report.verdict"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
