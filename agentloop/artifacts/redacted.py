"""A run's files without its secrets: texts are redacted before they are written."""

from __future__ import annotations

import asyncio

from agentloop.artifacts.base import Artifacts
from agentloop.guard.redact import Redactor

__all__ = ["RedactedArtifacts"]


class RedactedArtifacts:
    """Implements `Artifacts` over another: names and texts pass through `redactor`, and JSON stays JSON.

    What is no UTF-8 text is written as it is: who makes pictures covers the secrets in them.
    """

    def __init__(self, inner: Artifacts, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor

    @property
    def location(self) -> str:
        """That of the artifacts inside."""
        return self._inner.location

    async def write(self, name: str, data: bytes) -> str:
        """See `Artifacts.write`."""
        if self._redactor:
            name, data = self._redactor.text(name), await asyncio.to_thread(self._redacted, data)
        return await self._inner.write(name, data)

    def _redacted(self, data: bytes) -> bytes:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        return data if "\0" in text else self._redactor.document(text).encode("utf-8")
