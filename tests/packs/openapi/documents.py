"""Small documents, made of what a test is about."""

from __future__ import annotations

from typing import Any

from agentloop.packs.openapi import read_api
from agentloop.packs.openapi.model import Operation

__all__ = ["BASE", "document", "operation"]

BASE = "https://api.example/v1"


def document(
    *,
    path: str = "/things",
    method: str = "get",
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    body_required: bool = False,
    schemas: dict[str, Any] | None = None,
    version: str = "3.1.0",
    **more: Any,
) -> dict[str, Any]:
    """A document with one operation; `body` are the content types that it takes. `more` goes to its root."""
    call: dict[str, Any] = {"operationId": "call", "parameters": parameters or [], "responses": {}}
    if body is not None:
        call["requestBody"] = {"required": body_required, "content": body}
    return {
        "openapi": version,
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": BASE}],
        "paths": {path: {method: call}},
        "components": {"schemas": schemas or {}},
        **more,
    }


def operation(**parts: Any) -> Operation:
    """The one operation of such a document."""
    return read_api(document(**parts)).operations["call"]
