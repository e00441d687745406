"""What is kept: sessions, steps, events, runs, grants, questions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.stores.base import (
    EventStore,
    GrantStore,
    QuestionStore,
    RunStore,
    SessionCatalog,
    SessionStore,
    SessionSummary,
    StepStore,
    Store,
)

if TYPE_CHECKING:
    from agentloop.stores.joined import JoinedStore
    from agentloop.stores.memory import MemoryStore
    from agentloop.stores.sqlite import SQLiteStore

__all__ = [
    "EventStore",
    "GrantStore",
    "JoinedStore",
    "MemoryStore",
    "QuestionStore",
    "RunStore",
    "SQLiteStore",
    "SessionCatalog",
    "SessionStore",
    "SessionSummary",
    "StepStore",
    "Store",
]

_LAZY = {
    "JoinedStore": "agentloop.stores.joined",
    "MemoryStore": "agentloop.stores.memory",
    "SQLiteStore": "agentloop.stores.sqlite",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
