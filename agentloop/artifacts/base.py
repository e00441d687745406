"""Where a run's files go: pictures, downloads, reports."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Artifacts"]


class Artifacts(Protocol):
    """A place for one run's files."""

    @property
    def location(self) -> str:
        """Where they are, for people: a folder or an address."""

    async def write(self, name: str, data: bytes) -> str:
        """Keeps a file under a relative name ("turn-003.png") and returns where it is.

        Raises `InvalidInput` for a name that leaves the run's place.
        """
