"""When an act is over, told by signals alone: no browser, no clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agentloop.browser.settle import Quiet, RequestHabits, Settle, SettleLimits
from agentloop.errors import DriverError

FAST = SettleLimits(total_s=0.3, navigation_s=0.3, load_s=0.05, document_s=0.2, grace_s=0.02, chain_s=0.02)


async def still() -> Quiet:
    return Quiet()


def later(seconds: float, *does: Callable[[], object]) -> None:
    for do in does:
        asyncio.get_running_loop().call_later(seconds, do)


def started(settle: Settle, request: str, kind: str = "fetch", *, navigation: bool = False) -> bool:
    return settle.request_started(request, key=f"GET /{request}", kind=kind, navigation=navigation)


async def test_nothing_happened() -> None:
    settled = await Settle(still).wait()
    assert (settled.requests, settled.changes, settled.navigated, settled.timed_out) == (0, 0, False, False)


async def test_changes_are_those_of_the_last_look() -> None:
    async def look() -> Quiet:
        return Quiet(changes=3)

    assert (await Settle(look).wait()).changes == 3


async def test_a_request_of_the_act_is_waited_for() -> None:
    settle = Settle(still)
    ended: list[str] = []
    assert started(settle, "a")
    later(0.05, lambda: ended.append("a"), lambda: settle.request_ended("a"))
    settled = await settle.wait()
    assert ended == ["a"]
    assert (settled.requests, settled.timed_out) == (1, False)


async def test_what_a_request_sets_off_is_waited_for() -> None:
    settle = Settle(still)
    ended: list[str] = []

    def next_one() -> None:
        settle.request_ended("a")
        assert started(settle, "b")
        later(0.05, lambda: ended.append("b"), lambda: settle.request_ended("b"))

    started(settle, "a")
    later(0.05, next_one)
    assert (await settle.wait()).requests == 2
    assert ended == ["b"]


async def test_a_request_that_never_ends_ends_the_wait() -> None:
    settle = Settle(still, limits=FAST)
    started(settle, "a")
    assert (await settle.wait()).timed_out


@pytest.mark.parametrize("kind", ["image", "font", "media", "eventsource", "websocket", "ping", "other"])
async def test_kinds_that_stay_open_are_not_counted(kind: str) -> None:
    settle = Settle(still)
    assert not started(settle, "a", kind)
    assert (await settle.wait()).requests == 0


async def test_what_begins_long_after_the_act_is_not_counted() -> None:
    now = 100.0
    settle = Settle(still, now=lambda: now)
    await settle.wait()
    now += 1
    assert not started(settle, "late")


async def test_a_request_that_is_told_late_is_counted_while_the_page_is_looked_at() -> None:
    now = 100.0
    counted: list[bool] = []

    async def slow() -> Quiet:
        nonlocal now
        if not counted:
            now += 1
            counted.append(started(settle, "a"))
            later(0.02, lambda: settle.request_ended("a"))
        return Quiet()

    settle = Settle(slow, now=lambda: now)
    assert (await settle.wait()).requests == 1
    assert counted == [True]


async def test_what_the_page_asks_for_by_itself_is_not_counted() -> None:
    habits = RequestHabits()
    for at in (1.0, 2.0):
        habits.note("GET /poll", at)
    settle = Settle(still, habits=habits, now=lambda: 3.0)
    assert not started(settle, "poll")
    assert started(settle, "other")


async def test_a_habit_is_forgotten() -> None:
    habits = RequestHabits(lately_s=15, keep=2)
    for at in (1.0, 2.0):
        habits.note("a", at)
    assert habits.polled("a", 3.0)
    assert not habits.polled("a", 30.0)
    habits.note("b", 3.0)
    habits.note("c", 3.0)
    assert not habits.polled("a", 3.0)


async def test_polling_that_begins_with_the_act_is_not_followed_for_ever() -> None:
    settle = Settle(still)
    counted = []
    for _ in range(5):
        counted.append(started(settle, "poll"))
        settle.request_ended("poll")
    assert counted == [True, True, False, False, False]


async def test_a_navigation_is_followed_to_its_document() -> None:
    settle = Settle(still)
    steps: list[str] = []

    started(settle, "page", "document", navigation=True)
    later(0.03, lambda: steps.append("committed"), settle.document_committed)
    later(0.06, lambda: steps.append("parsed"), settle.document_parsed)
    later(0.09, lambda: steps.append("loaded"), settle.document_loaded)
    settled = await settle.wait()
    assert steps == ["committed", "parsed", "loaded"]
    assert settled.navigated and not settled.timed_out


async def test_a_load_event_that_never_comes_is_not_waited_for() -> None:
    settle = Settle(still, limits=FAST)
    started(settle, "page", "document", navigation=True)
    settle.document_committed()
    settle.document_parsed()
    settled = await settle.wait()
    assert settled.navigated and not settled.timed_out


async def test_a_navigation_without_a_document_changes_nothing() -> None:
    settle = Settle(still)
    started(settle, "file", "document", navigation=True)
    later(0.03, lambda: settle.request_ended("file", failed=True))
    settled = await settle.wait()
    assert not settled.navigated and not settled.timed_out


async def test_a_navigation_that_never_answers_ends_the_wait() -> None:
    settle = Settle(still, limits=FAST)
    started(settle, "page", "document", navigation=True)
    assert (await settle.wait()).timed_out


async def test_requests_of_the_old_document_go_with_it() -> None:
    settle = Settle(still, limits=FAST)
    started(settle, "hangs")
    started(settle, "page", "document", navigation=True)
    settle.document_committed()
    settle.document_parsed()
    settle.document_loaded()
    assert not (await settle.wait()).timed_out


async def test_a_document_that_goes_while_it_is_looked_at_is_no_error() -> None:
    async def gone() -> Quiet:
        raise DriverError("the document went")

    assert not (await Settle(gone).wait()).timed_out


async def test_cancelling_ends_the_wait_at_once() -> None:
    settle = Settle(still)
    started(settle, "a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await settle.wait()
