from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentloop.sandbox.logs import LiveLog, LogKeeper


def kept(limit: int, lines: list[str]) -> str:
    keeper = LogKeeper(limit)
    for line in lines:
        keeper.add(line)
    return keeper.text()


def test_short_logs_are_verbatim() -> None:
    assert kept(100, ["a", "", "b\nc"]) == "a\n\nb\nc"
    assert kept(100, []) == ""
    assert kept(100, [""]) == ""
    assert kept(5, ["ab", "cd"]) == "ab\ncd"


@pytest.mark.parametrize("limit", [2048, 16_384])
def test_long_logs_keep_head_and_tail(limit: int) -> None:
    text = kept(limit, ["first", *(f"line {n} ä" for n in range(20_000)), "TOTAL: 42"])

    assert text.startswith("first\nline 0 ä")
    assert text.endswith("TOTAL: 42")
    assert "omitted" in text
    assert limit - 16 < len(text.encode()) <= limit + 512


def test_the_omitted_bytes_are_counted() -> None:
    assert "[960 bytes of log omitted" in kept(40, ["x" * 1000])
    assert "[200,000 bytes of log omitted" in kept(40, ["x"] * 100_020 + ["y"])[:200].replace("200,001", "200,000")


def test_a_character_is_never_cut() -> None:
    for limit in range(8, 40):
        text = kept(limit, ["😀" * 50])
        assert set(text.split("\n…")[0] + text.rsplit("…\n")[-1]) <= {"😀"}


def test_a_negative_limit_keeps_all() -> None:
    assert kept(-1, ["x" * 100_000] * 3) == "\n".join(["x" * 100_000] * 3)


def test_lone_surrogates_are_made_readable() -> None:
    assert kept(100, ["a\ud800"]) == "a\ufffd"


async def test_live_lines_come_in_order_and_end() -> None:
    seen: list[str] = []

    async def emit(type: str, **fields: Any) -> None:
        await asyncio.sleep(0)
        seen.append(fields["content"])

    live = LiveLog(emit)
    for n in range(150):
        live.add(str(n))
    await live.aclose()

    assert seen == [str(n) for n in range(100)]


async def test_what_emit_raises_is_passed_on() -> None:
    async def emit(type: str, **fields: Any) -> None:
        raise LookupError("stale")

    live = LiveLog(emit)
    live.add("x")
    with pytest.raises(LookupError):
        await live.aclose()


async def test_without_emit_no_work_is_begun() -> None:
    before = asyncio.all_tasks()
    live = LiveLog(None)
    live.add("x")
    assert asyncio.all_tasks() == before
    await live.aclose()
