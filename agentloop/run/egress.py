"""Keeps a run's part of the egress manifest, among its artifacts and wherever else it is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentloop.artifacts.base import Artifacts
from agentloop.artifacts.egress import MANIFEST_NAME, EgressManifest, manifest_text
from agentloop.errors import AgentLoopError
from agentloop.guard.network.egress import Egress
from agentloop.guard.network.url import parse_url
from agentloop.guard.redact import Redactor
from agentloop.journal import Journal
from agentloop.llm.base import LLM, Served
from agentloop.records import Json

__all__ = ["WRITE_S", "EgressKeeper", "model_place"]

WRITE_S = 5.0
"""Seconds that one writing may take."""


@dataclass(kw_only=True)
class EgressKeeper:
    """What is written of one run, and where; `about` says which run it is."""

    log: Egress
    about: Mapping[str, Json]
    redactor: Redactor
    artifacts: Artifacts | None = None
    manifest: EgressManifest | None = None
    _written: Mapping[str, Json] = field(default_factory=dict)
    _failed: bool = False

    async def save(self, journal: Journal) -> None:
        """Writes what has changed since the last time. A failure is one warning: it ends no run."""
        run = self.redactor.json({**self.about, **self.log.to_dict()})
        if run == self._written:
            return
        try:
            async with asyncio.timeout(WRITE_S):
                await self._write(run)
            self._written = run
        except Exception as error:  # the border: artifacts may be foreign code, and a full disk ends no run
            if not self._failed:
                self._failed = True
                why = str(error) or type(error).__name__
                await journal.emit("warning", content=f"the egress manifest was not written: {why}")

    def summary(self) -> dict[str, Json]:
        """For the run's result: how pages were held, in numbers what passed, and where the manifest is."""
        shown: dict[str, Json] = self.redactor.json({**self.log.summary(), "manifest": self._place()})
        return shown

    async def _write(self, run: Mapping[str, Json]) -> None:
        if self.artifacts is not None:
            await self.artifacts.write(MANIFEST_NAME, manifest_text([run]))
        if self.manifest is not None:
            await self.manifest.keep(run)

    def _place(self) -> str | None:
        if self.manifest is not None:
            return self.manifest.location
        return None if self.artifacts is None else f"{self.artifacts.location}/{MANIFEST_NAME}"


def model_place(llm: LLM) -> str | None:
    """host:port of where a model is asked; None for one that is asked nowhere, or who knows where."""
    if not isinstance(llm, Served):
        return None
    try:
        url = parse_url(llm.address)
    except AgentLoopError:
        return None
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port}"
