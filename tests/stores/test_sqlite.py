from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.stores import SQLiteStore, Store
from agentloop.testing.store_contract import StoreContract


class TestSQLiteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with SQLiteStore(tmp_path / "sessions.db") as store:
            yield store


class TestSQLiteStoreInMemory(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with SQLiteStore(":memory:") as store:
            yield store
