"""Where this machine keeps what agentloop keeps."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["data_directory"]


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The user's data directory; nothing is created.

    $XDG_DATA_HOME/agentloop where that is set to an absolute path, else the platform's place:
    ~/.local/share, ~/Library/Application Support, %LOCALAPPDATA%.
    """
    env = os.environ if environ is None else environ
    chosen = env.get("XDG_DATA_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "agentloop"
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "agentloop"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "agentloop"
    return home / ".local" / "share" / "agentloop"
