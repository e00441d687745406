"""Which capabilities a run gets. The only place that knows them all by name."""

from __future__ import annotations

from collections.abc import Sequence

from agentloop.capabilities import Capability
from agentloop.errors import InvalidInput

__all__ = ["default_capabilities", "named_capabilities"]

NAMED: dict[str, str] = {}
"""Names that `--with` takes, to the function that builds each, as "module:function"."""


def default_capabilities() -> tuple[Capability, ...]:
    """What every run can do beyond the core functions of the sandbox."""
    return ()


def named_capabilities(names: Sequence[str]) -> tuple[Capability, ...]:
    """The capabilities of these names. Raises `InvalidInput` for an unknown one, naming those there are."""
    unknown = [name for name in names if name not in NAMED]
    if unknown:
        known = ", ".join(sorted(NAMED)) or "none yet"
        raise InvalidInput(f"no pack is called {unknown[0]!r}; there are: {known}")
    return ()
