"""What may happen, and what may leave: policies, questions and grants, and the network boundary."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.guard.grants import Answer, Ask, Grant, OnAsk, Question, QuestionKind
from agentloop.guard.network.base import Checked, DecisionCount, Gate, NetworkDecision, OwnPorts, ProxyLimits
from agentloop.guard.policy import AllowAll, Decision, DefaultPolicy, Policy, ToolCall

if TYPE_CHECKING:
    from agentloop.guard.network.guard import Boundary
    from agentloop.guard.network.pattern import Pattern
    from agentloop.guard.network.proxy import FilteringProxy, RefusingProxy
    from agentloop.guard.network.url import Url, parse_url
    from agentloop.guard.redact import Redactor, StreamRedactor

__all__ = [
    "AllowAll",
    "Answer",
    "Ask",
    "Boundary",
    "Checked",
    "Decision",
    "DecisionCount",
    "DefaultPolicy",
    "FilteringProxy",
    "Gate",
    "Grant",
    "NetworkDecision",
    "OnAsk",
    "OwnPorts",
    "Pattern",
    "Policy",
    "ProxyLimits",
    "Question",
    "QuestionKind",
    "Redactor",
    "RefusingProxy",
    "StreamRedactor",
    "ToolCall",
    "Url",
    "parse_url",
]

_LAZY = {
    "Boundary": "agentloop.guard.network.guard",
    "FilteringProxy": "agentloop.guard.network.proxy",
    "Pattern": "agentloop.guard.network.pattern",
    "Redactor": "agentloop.guard.redact",
    "RefusingProxy": "agentloop.guard.network.proxy",
    "StreamRedactor": "agentloop.guard.redact",
    "Url": "agentloop.guard.network.url",
    "parse_url": "agentloop.guard.network.url",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
