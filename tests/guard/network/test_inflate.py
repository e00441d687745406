from __future__ import annotations

import gzip
import tracemalloc

from agentloop.guard.network.inflate import Inflater

LIMIT = 1000
MEBIBYTE = 1024 * 1024


def test_what_a_bomb_would_become_never_stands_in_memory() -> None:
    bomb = gzip.compress(b"\0" * (64 * MEBIBYTE))
    inflater = Inflater("gzip", limit=LIMIT)
    tracemalloc.start()
    try:
        inflater.feed(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert inflater.full
    assert inflater.taken() == (b"\0" * LIMIT, True)
    assert peak < MEBIBYTE


def test_many_empty_members_are_nothing() -> None:
    inflater = Inflater("gzip", limit=LIMIT)
    inflater.feed(gzip.compress(b"") * 1000 + gzip.compress(b"end"))

    assert inflater.taken() == (b"end", False)


def test_a_body_may_come_byte_by_byte() -> None:
    inflater = Inflater("gzip", limit=LIMIT)
    for byte in gzip.compress(b"slowly") + gzip.compress(b", it came"):
        inflater.feed(bytes([byte]))

    assert inflater.taken() == (b"slowly, it came", False)
