"""The egress manifest: a file that says where runs sent something, and where they were stopped.

    {"version": 1, "runs": [{"run_id": "…", "session_id": "…", "since": "…", "resumed": false,
      "model": "api.example:443", "boundary": "proxy", "limits": {"bytes": 1073741824}, "caps_reached": [],
      "sent": 5120, "received": 90210,
      "contacted": [{"host": "shop.example", "port": 443, "door": "page", "rule": "start-url",
                     "requests": 12, "unanswered": 0, "sent": 5120, "received": 90210}],
      "refused": [{"host": "tracker.example", "port": 443, "door": "page", "rule": "not-allowed",
                   "requests": 3, "reason": "…"}]}]}

`door` is "page" or "fetch"; a tunnel (https of pages) counts as one request; bytes are those of connections to
servers. `model` is where the model is asked, which nothing filters; null when it is asked nowhere. Host "*" stands
for those beyond the first thousand. `boundary` is "proxy", "tcp-only" (UDP of pages may pass by), "unguarded", or
"none" when no browser of the library's was opened. There is never a path or a query in it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from agentloop.artifacts.folder import FolderArtifacts
from agentloop.errors import InvalidInput, StoreError
from agentloop.records import Json

__all__ = ["MANIFEST_NAME", "EgressManifest", "manifest_text"]

MANIFEST_NAME = "egress.json"
"""What it is called among a run's artifacts."""

_VERSION = 1


def manifest_text(runs: Iterable[Mapping[str, Json]]) -> bytes:
    """The manifest of these runs as it stands in a file."""
    return json.dumps({"version": _VERSION, "runs": list(runs)}, indent=1, ensure_ascii=False).encode() + b"\n"


class EgressManifest:
    """A file for the runs of one command or program, the newest `runs` of them; made by `begin`."""

    def __init__(self, file: Path, *, runs: int) -> None:
        self._file = file
        self._most = runs
        self._folder = FolderArtifacts(file.parent)
        self._runs: dict[str, Mapping[str, Json]] = {}

    @classmethod
    async def begin(cls, path: str | os.PathLike[str], *, runs: int = 1000) -> EgressManifest:
        """Writes it without any run, over what was there; only its owner can read it.

        Raises `InvalidInput` for a place that cannot be written, so that no run begins for nothing.
        """
        manifest = cls(await asyncio.to_thread(_file, path), runs=runs)
        try:
            await manifest._write()
        except StoreError as error:
            raise InvalidInput(f"the egress manifest cannot be kept: {error}") from None
        return manifest

    @property
    def location(self) -> str:
        """The absolute path of the file."""
        return str(self._file)

    async def keep(self, run: Mapping[str, Json]) -> None:
        """Writes what is known of a run, in place of what was told of it before. Raises `StoreError`."""
        self._runs[run["run_id"]] = run
        while len(self._runs) > self._most:
            del self._runs[next(iter(self._runs))]
        await self._write()

    async def _write(self) -> None:
        await self._folder.write(self._file.name, manifest_text(self._runs.values()))


def _file(path: str | os.PathLike[str]) -> Path:
    try:
        file = Path(path).expanduser().resolve()
        # What is replaced must be a file: a device of that name would be gone.
        if file.exists() and not file.is_file():
            raise InvalidInput(f"{path} is no ordinary file: name one for the egress manifest")
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(f"{path} is no place for the egress manifest: {error}") from None
    return file
