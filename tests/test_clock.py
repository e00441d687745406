"""The clock that stands still while a person is asked."""

from __future__ import annotations

import asyncio

import pytest

from agentloop.clock import Clock, utc_text


class Hand:
    """A time source moved by hand, in seconds."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_pauses_do_not_count_and_nest() -> None:
    hand = Hand()
    clock = Clock(hand)
    hand.at += 2
    with clock.pause():
        hand.at += 5
        assert clock.now() == 2
        with clock.pause():
            hand.at += 5
        assert clock.now() == 2
    hand.at += 1
    assert clock.now() == 3


async def test_until_waits_for_the_end_of_a_pause() -> None:
    hand = Hand()
    clock = Clock(hand)
    with clock.pause():
        hand.at += 50
        waiting = asyncio.create_task(clock.until(1.0))
        await asyncio.sleep(0)
        assert not waiting.done()
        clock_at = clock.now()
    assert clock_at == 0
    hand.at += 1
    await asyncio.wait_for(waiting, 5)


def test_times_sort_as_text() -> None:
    moments = [0.1, 0.12, 1.000001, 1.9, 1_800_000_000.5]
    texts = [utc_text(moment) for moment in moments]
    assert texts == sorted(texts)
    assert texts[1] == "1970-01-01T00:00:00.120000Z"


async def test_a_bound_ends_its_block() -> None:
    with pytest.raises(TimeoutError):
        async with Clock().timeout(0.001):
            await asyncio.Event().wait()


async def test_a_bound_stands_still_while_paused_and_goes_on_with_what_was_left() -> None:
    hand = Hand()
    clock = Clock(hand)
    now = asyncio.get_running_loop().time()
    async with clock.timeout(5) as bound:
        hand.at += 2
        with clock.pause():
            assert bound.when() is None
            hand.at += 600
        when = bound.when()
        assert when is not None and 2.9 <= when - now < 5
    with clock.pause():
        async with clock.timeout(5) as late:
            assert late.when() is None


async def test_a_pause_does_not_wake_a_bound_that_is_over() -> None:
    clock = Clock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            try:
                await asyncio.Event().wait()
            finally:
                with clock.pause():
                    pass
    async with clock.timeout(60):
        pass
