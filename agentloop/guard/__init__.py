"""What may happen, and what may leave: policies, questions and grants, and the network boundary."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.guard.grants import Answer, Ask, Grant, OnAsk, Question, QuestionKind
from agentloop.guard.network.base import Checked, DecisionCount, Gate, NetworkDecision, OwnPorts, ProxyLimits
from agentloop.guard.policy import (
    AllowAll,
    Decision,
    DefaultPolicy,
    MultiPolicy,
    Policy,
    ToolCall,
    URLAllowlistPolicy,
)

if TYPE_CHECKING:
    from agentloop.guard.network.client import ClientLimits, GuardedClient, Reply
    from agentloop.guard.network.egress import Egress, EgressLimits
    from agentloop.guard.network.guard import Boundary
    from agentloop.guard.network.pattern import Pattern
    from agentloop.guard.network.proxy import FilteringProxy, RefusingProxy
    from agentloop.guard.network.transport import GuardedTransport
    from agentloop.guard.network.url import Url, parse_url
    from agentloop.guard.redact import Redactor, StreamRedactor
    from agentloop.guard.secrets import Secret, Secrets

__all__ = [
    "AllowAll",
    "Answer",
    "Ask",
    "Boundary",
    "Checked",
    "ClientLimits",
    "Decision",
    "DecisionCount",
    "DefaultPolicy",
    "Egress",
    "EgressLimits",
    "FilteringProxy",
    "Gate",
    "Grant",
    "GuardedClient",
    "GuardedTransport",
    "MultiPolicy",
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
    "Reply",
    "Secret",
    "Secrets",
    "StreamRedactor",
    "ToolCall",
    "URLAllowlistPolicy",
    "Url",
    "parse_url",
]

_LAZY = {
    "Boundary": "agentloop.guard.network.guard",
    "ClientLimits": "agentloop.guard.network.client",
    "Egress": "agentloop.guard.network.egress",
    "EgressLimits": "agentloop.guard.network.egress",
    "FilteringProxy": "agentloop.guard.network.proxy",
    "GuardedClient": "agentloop.guard.network.client",
    "GuardedTransport": "agentloop.guard.network.transport",
    "Pattern": "agentloop.guard.network.pattern",
    "Redactor": "agentloop.guard.redact",
    "RefusingProxy": "agentloop.guard.network.proxy",
    "Reply": "agentloop.guard.network.client",
    "Secret": "agentloop.guard.secrets",
    "Secrets": "agentloop.guard.secrets",
    "StreamRedactor": "agentloop.guard.redact",
    "Url": "agentloop.guard.network.url",
    "parse_url": "agentloop.guard.network.url",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
