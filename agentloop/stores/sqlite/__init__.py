"""A store in one SQLite file: `store` is its face, `writer` its thread, the other modules its statements."""

from __future__ import annotations

from agentloop.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
