"""What can go wrong at a model's endpoint, and how it looks on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from aiohttp import web

__all__ = ["Fault", "FaultKind", "cut_off", "refusal"]

FaultKind = Literal[
    "none",
    "rate_limit",
    "server_error",
    "not_implemented",
    "auth",
    "bad_request",
    "context_overflow",
    "drop",
    "cut",
    "ended",
    "error_frame",
    "malformed",
    "slow",
    "linger",
    "truncated",
    "plain",
]
"""What can go wrong. Up to `drop` the call gets no reply: an error status, or a connection closed without a word.

Within a stream: the connection lost, the body ended too early, an error object, unreadable frames (the reply goes
on), pauses, a connection kept open behind the end. At last finish reason "length", and an ordinary body
although a stream was asked for.
"""

_BODIES: Mapping[str, tuple[int, Mapping[str, Any]]] = MappingProxyType(
    {
        "rate_limit": (429, {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}),
        "server_error": (500, {"message": "The server had an error", "type": "server_error", "code": None}),
        "not_implemented": (
            501,
            {"message": "This server does not support it", "type": "not_supported_error", "code": 501},
        ),
        "auth": (401, {"message": "Invalid API Key", "type": "authentication_error", "code": 401}),
        "bad_request": (400, {"message": "Invalid request", "type": "invalid_request_error", "code": 400}),
        "context_overflow": (
            400,
            {
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "code": 400,
                "n_prompt_tokens": 9000,
                "n_ctx": 8192,
            },
        ),
        "drop": (500, {"message": "connection closed"}),
    }
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault.

    `after`: pieces of 24 characters sent before it strikes. `delay_s`: seconds before each piece from there on,
    or before the refusal; None is 0.2 for "slow", 60 for "linger", else 0. `retry_after` and `message`: what
    header and error say.
    """

    kind: FaultKind
    after: int = 1
    delay_s: float | None = None
    retry_after: str | int | None = None
    message: str = ""

    @property
    def pause_s(self) -> float:
        """Seconds before each piece from `after` on, or before the refusal."""
        if self.delay_s is not None:
            return self.delay_s
        return {"slow": 0.2, "linger": 60.0}.get(self.kind, 0.0)

    @property
    def refuses(self) -> bool:
        """True when the call gets no reply at all."""
        return self.kind in _BODIES


def refusal(fault: Fault) -> web.Response:
    """The error response of a fault that refuses."""
    status, error = _BODIES[fault.kind]
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    body = {"error": {**error, "message": fault.message or error["message"]}}
    return web.json_response(body, status=status, headers=headers)


def cut_off(request: web.Request) -> None:
    """Drops the connection at once, without the end that the protocol asks for."""
    if request.transport is not None:
        request.transport.abort()
