"""Files of a run: pictures, downloads, reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.artifacts.base import Artifacts

if TYPE_CHECKING:
    from agentloop.artifacts.folder import FolderArtifacts
    from agentloop.artifacts.redacted import RedactedArtifacts
    from agentloop.artifacts.scan import Leak, Scanner, ScanReport

__all__ = ["Artifacts", "FolderArtifacts", "Leak", "RedactedArtifacts", "ScanReport", "Scanner"]

_LAZY = {
    "FolderArtifacts": "agentloop.artifacts.folder",
    "Leak": "agentloop.artifacts.scan",
    "RedactedArtifacts": "agentloop.artifacts.redacted",
    "ScanReport": "agentloop.artifacts.scan",
    "Scanner": "agentloop.artifacts.scan",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
