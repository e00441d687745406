"""An API as functions for scripts, from its OpenAPI document.

`pack` is its face; `document` and `node` read, `operations` understands, `request`, `styles` and `bodies` write what
goes over the wire, `typescript` and `guide` say how to call it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.packs.openapi.pack import openapi_capability, openapi_pack
    from agentloop.packs.openapi.reading import read_api

__all__ = ["openapi_capability", "openapi_pack", "read_api"]

_LAZY = {
    "openapi_capability": "agentloop.packs.openapi.pack",
    "openapi_pack": "agentloop.packs.openapi.pack",
    "read_api": "agentloop.packs.openapi.reading",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
