"""Runs model-written JavaScript in a process of its own."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.sandbox.base import Isolation, Limits, Outcome, Sandbox, ScriptError, Where

if TYPE_CHECKING:
    from agentloop.sandbox.builder import BuiltSandbox, CapabilityBuilder, SandboxBuilder
    from agentloop.sandbox.function_code import validate_module_code
    from agentloop.sandbox.host import open_sandbox
    from agentloop.sandbox.pool import SandboxPool

__all__ = [
    "BuiltSandbox",
    "CapabilityBuilder",
    "Isolation",
    "Limits",
    "Outcome",
    "Sandbox",
    "SandboxBuilder",
    "SandboxPool",
    "ScriptError",
    "Where",
    "open_sandbox",
    "validate_module_code",
]

_LAZY = {
    "BuiltSandbox": "agentloop.sandbox.builder",
    "CapabilityBuilder": "agentloop.sandbox.builder",
    "SandboxBuilder": "agentloop.sandbox.builder",
    "SandboxPool": "agentloop.sandbox.pool",
    "open_sandbox": "agentloop.sandbox.host",
    "validate_module_code": "agentloop.sandbox.function_code",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
