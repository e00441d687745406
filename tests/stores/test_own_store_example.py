from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop.stores import JoinedStore, SQLiteStore, Store
from agentloop.testing.store_contract import StoreContract
from examples.own_store import JsonLines


class TestTheStoreOfTheExample(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with JoinedStore(steps=JsonLines(tmp_path), rest=SQLiteStore(tmp_path / "rest.db")) as store:
            yield store
