"""What to install, where a module of this room needs a package that an installation may lack."""

from __future__ import annotations

__all__ = ["needs"]


def needs(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error for a package of this extra that is not there."""
    where = f"pip install 'agentloop-engine[{extra}]', or '.[{extra}]' in a clone"
    return ModuleNotFoundError(f"this part of agentloop.testing needs {error.name}: {where}", name=error.name)
