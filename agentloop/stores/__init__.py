"""What is kept: sessions, steps, events, runs, grants, questions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.stores.base import EventStore, GrantStore, QuestionStore, RunStore, SessionStore, StepStore, Store

if TYPE_CHECKING:
    from agentloop.stores.memory import MemoryStore

__all__ = [
    "EventStore",
    "GrantStore",
    "MemoryStore",
    "QuestionStore",
    "RunStore",
    "SessionStore",
    "StepStore",
    "Store",
]

_LAZY = {"MemoryStore": "agentloop.stores.memory"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
