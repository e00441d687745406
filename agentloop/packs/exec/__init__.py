"""Programs for scripts; `pack` is its face, `supervisor` a program of its own, the other modules its parts."""

from __future__ import annotations

from agentloop.packs.exec.pack import ExecLimits, exec_capability, exec_pack

__all__ = ["ExecLimits", "exec_capability", "exec_pack"]
