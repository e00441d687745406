"""Files of one folder for scripts; `pack` is its face, `root` what keeps it inside, the other modules its verbs."""

from __future__ import annotations

from agentloop.packs.workspace.pack import WorkspaceLimits, workspace_capability, workspace_pack
from agentloop.packs.workspace.root import Root

__all__ = ["Root", "WorkspaceLimits", "workspace_capability", "workspace_pack"]
