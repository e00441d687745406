"""Model clients: one call, messages in, a reply out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.llm.base import LLM, FinishReason, Image, Message, ModelReply, ModelRequest, OnChunk, Role, Text

if TYPE_CHECKING:
    from agentloop.llm.metered import Metered
    from agentloop.llm.openai import OpenAI
    from agentloop.llm.scripted import Scripted

__all__ = [
    "LLM",
    "FinishReason",
    "Image",
    "Message",
    "Metered",
    "ModelReply",
    "ModelRequest",
    "OnChunk",
    "OpenAI",
    "Role",
    "Scripted",
    "Text",
]

_LAZY = {
    "Metered": "agentloop.llm.metered",
    "OpenAI": "agentloop.llm.openai",
    "Scripted": "agentloop.llm.scripted",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
