from __future__ import annotations

import pytest

from agentloop.errors import Closed, InvalidInput
from agentloop.guard.grants import Question
from agentloop.records import Session
from agentloop.stores import MemoryStore, Store
from agentloop.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


async def test_it_closes_at_the_end_of_its_block() -> None:
    async with MemoryStore() as store:
        await store.create_session(Session(session_id="s"))
    with pytest.raises(Closed):
        await store.get_session("s")


async def test_a_question_asked_twice_under_one_id_does_not_lose_its_answer() -> None:
    store = MemoryStore()
    question = Question(id="q", session_id="s", run_id="r", kind="confirm", message="May I?")
    await store.add_question(question)
    await store.answer_question("q", False)
    with pytest.raises(InvalidInput):
        await store.add_question(question)
    known = await store.get_question("q")
    assert known is not None and known.answer is False


def test_the_room_offers_it_by_name() -> None:
    import agentloop.stores

    assert agentloop.stores.MemoryStore is MemoryStore
    with pytest.raises(AttributeError, match="NoStore"):
        agentloop.stores.NoStore  # noqa: B018
