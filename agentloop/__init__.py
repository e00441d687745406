"""agentloop: a model thinks in JavaScript, a sandbox runs it, a real browser does it.

The names below are the front door; everything else is imported from its room (`agentloop.browser`,
`agentloop.drivers`, `agentloop.sandbox`, …). Importing this module loads none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.browsing import BrowseOptions, browse, open_browse
    from agentloop.build import default_capabilities
    from agentloop.capabilities import BuildContext, Capability
    from agentloop.context.settings import LoopSettings
    from agentloop.errors import AgentLoopError, EndRun
    from agentloop.events import RunEvent
    from agentloop.llm.openai import OpenAI
    from agentloop.llm.scripted import Scripted
    from agentloop.loop import Loop, RunHandle
    from agentloop.packs.base import Pack, Primitive
    from agentloop.records import RunLimits, RunRequest, RunResult, Status
    from agentloop.stores.memory import MemoryStore
    from agentloop.stores.sqlite.store import SQLiteStore

__version__ = "0.1.0"

__all__ = [
    "AgentLoopError",
    "BrowseOptions",
    "BuildContext",
    "Capability",
    "EndRun",
    "Loop",
    "LoopSettings",
    "MemoryStore",
    "OpenAI",
    "Pack",
    "Primitive",
    "RunEvent",
    "RunHandle",
    "RunLimits",
    "RunRequest",
    "RunResult",
    "SQLiteStore",
    "Scripted",
    "Status",
    "browse",
    "default_capabilities",
    "open_browse",
]

_LAZY = {
    "AgentLoopError": "agentloop.errors",
    "BrowseOptions": "agentloop.browsing",
    "BuildContext": "agentloop.capabilities",
    "Capability": "agentloop.capabilities",
    "EndRun": "agentloop.errors",
    "Loop": "agentloop.loop",
    "LoopSettings": "agentloop.context.settings",
    "MemoryStore": "agentloop.stores.memory",
    "OpenAI": "agentloop.llm.openai",
    "Pack": "agentloop.packs.base",
    "Primitive": "agentloop.packs.base",
    "RunEvent": "agentloop.events",
    "RunHandle": "agentloop.loop",
    "RunLimits": "agentloop.records",
    "RunRequest": "agentloop.records",
    "RunResult": "agentloop.records",
    "SQLiteStore": "agentloop.stores",
    "Scripted": "agentloop.llm.scripted",
    "Status": "agentloop.records",
    "browse": "agentloop.browsing",
    "default_capabilities": "agentloop.build",
    "open_browse": "agentloop.browsing",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
