"""The part of the contract about sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentloop.errors import UnknownSession
from agentloop.guard.grants import Grant
from agentloop.records import Session, Status
from agentloop.stores.base import Store
from agentloop.testing.stores.rows import UTC_TEXT, new_id, new_run, new_step

__all__ = ["SessionsContract"]


class SessionsContract:
    """What a session keeps."""

    async def test_an_unknown_session_is_none_and_stays_unknown(self, store: Store) -> None:
        unknown = new_id()
        assert await store.get_session(unknown) is None
        assert await store.last_steps(unknown, 10) == ()
        assert await store.load_state(unknown) is None
        assert await store.runs(unknown) == ()
        assert await store.grants(unknown) == ()
        assert await store.get_session(unknown) is None

    async def test_writing_to_an_unknown_session_is_an_error_and_creates_none(self, store: Store) -> None:
        unknown = new_id()
        for write in (
            store.save_carry(unknown, "{}"),
            store.set_session_status(unknown, Status.COMPLETED),
            store.save_state(unknown, b"state"),
        ):
            with pytest.raises(UnknownSession):
                await write
        assert await store.get_session(unknown) is None

    async def test_a_session_keeps_every_field_and_is_stamped(self, store: Store) -> None:
        session = Session(
            session_id=new_id(), model="m", persona="p", message_id="i", enabled=("a", "b"), carry='{"a":1}'
        )
        created = await store.create_session(session)
        assert UTC_TEXT.fullmatch(created.created_at) and UTC_TEXT.fullmatch(created.updated_at)
        assert replace(created, created_at="", updated_at="") == session
        assert await store.get_session(session.session_id) == created

    async def test_nothing_enabled_differs_from_everything(self, store: Store) -> None:
        nothing = await store.create_session(Session(session_id=new_id(), enabled=()))
        everything = await store.create_session(Session(session_id=new_id()))
        assert (await store.get_session(nothing.session_id) or everything).enabled == ()
        assert (await store.get_session(everything.session_id) or nothing).enabled is None

    async def test_creating_a_session_again_leaves_it_as_it_is(self, store: Store) -> None:
        first = await store.create_session(Session(session_id=new_id(), model="first"))
        again = await store.create_session(Session(session_id=first.session_id, model="second"))
        assert again == first == await store.get_session(first.session_id)

    async def test_the_latest_carry_is_kept_byte_for_byte_and_may_be_none(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id()))
        for carry in ('{"b": 2,  "a": "\\u00e9é\\ud83d\\ude00"}', '"\ud83d"', None, "[1]"):
            await store.save_carry(session.session_id, carry)
            known = await store.get_session(session.session_id)
            assert known is not None and known.carry == carry

    async def test_a_status_leaves_the_carry_and_may_be_set_again(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id(), carry="1"))
        for status in (Status.RUNNING, Status.COMPLETED, Status.ERROR):
            await store.set_session_status(session.session_id, status)
            known = await store.get_session(session.session_id)
            assert known is not None and (known.status, known.carry) == (status, "1")

    async def test_the_browser_state_is_bytes(self, store: Store) -> None:
        session = await store.create_session(Session(session_id=new_id()))
        assert await store.load_state(session.session_id) is None
        await store.save_state(session.session_id, b"first")
        await store.save_state(session.session_id, b"\x00\xff")
        assert await store.load_state(session.session_id) == b"\x00\xff"

    async def test_sessions_do_not_see_each_other(self, store: Store) -> None:
        one, other = await new_run(store), await new_run(store)
        await store.append_step(new_step(one))
        await store.save_carry(one.session_id, "1")
        await store.save_state(one.session_id, b"1")
        await store.add_grant(one.session_id, Grant(kind="host", subject="a"))
        known = await store.get_session(other.session_id)
        assert known is not None and known.carry is None
        assert await store.last_steps(other.session_id, 0) == ()
        assert await store.load_state(other.session_id) is None
        assert await store.grants(other.session_id) == ()
        assert await store.runs(other.session_id) == (other,)
