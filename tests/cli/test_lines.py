from __future__ import annotations

import asyncio
import os
import pty
import tty
from collections.abc import Iterator

import pytest

from agentloop.cli.lines import StdinLines
from agentloop.errors import InvalidInput


@pytest.fixture
def pipe() -> Iterator[tuple[StdinLines, int]]:
    """A reader, and where to write what it reads."""
    theirs, mine = os.pipe()
    yield StdinLines(theirs), mine
    os.close(theirs)
    try:
        os.close(mine)
    except OSError:
        pass  # the test closed it


async def test_lines_come_one_by_one_without_their_ends(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe
    os.write(mine, "first\r\n\nsécond\nrest".encode())
    assert [await lines.next() for _ in range(3)] == ["first", "", "sécond"]
    os.close(mine)
    assert await lines.next() == "rest"
    assert await lines.next() is None
    assert await lines.next() is None


async def test_a_line_may_come_in_pieces(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe
    waiting = asyncio.create_task(lines.next())
    for piece in (b"a", b"b", b"\n"):
        os.write(mine, piece)
        await asyncio.sleep(0)
    assert await waiting == "ab"


async def test_a_line_after_a_wait_that_was_given_up_goes_to_the_next_who_asks(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe
    waiting = asyncio.create_task(lines.next())
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    os.write(mine, b"later\n")
    assert await lines.next() == "later"


async def test_bytes_that_are_no_text_break_nothing(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe
    os.write(mine, b"\xff\xfe\n")
    assert await lines.next() == "\ufffd\ufffd"


async def test_a_line_without_end_is_refused(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe

    def fill() -> None:
        for _ in range(17):
            os.write(mine, b"x" * 65_536)

    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(fill))
        with pytest.raises(InvalidInput, match="longer than"):
            await lines.next()


async def test_a_pipe_is_not_typed_ahead(pipe: tuple[StdinLines, int]) -> None:
    lines, mine = pipe
    os.write(mine, b"a\nb\n")
    assert await lines.next() == "a"
    lines.discard()
    assert await lines.next() == "b"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A person's end of a pseudo-terminal, and the program's."""
    mine, theirs = pty.openpty()
    yield mine, theirs
    os.close(mine)
    os.close(theirs)


@pytest.mark.parametrize("raw", [False, True], ids=["a line at a read", "all at once"])
async def test_what_was_typed_ahead_at_a_terminal_answers_nothing(terminal: tuple[int, int], raw: bool) -> None:
    mine, theirs = terminal
    if raw:
        tty.setraw(theirs)
    lines = StdinLines(theirs)
    os.write(mine, b"y\ny\n")
    assert await lines.next() == "y"
    lines.discard()
    os.write(mine, b"n\n")
    assert await lines.next() == "n"


async def test_what_was_read_for_one_who_gave_up_answers_no_later_question(terminal: tuple[int, int]) -> None:
    mine, theirs = terminal
    lines = StdinLines(theirs)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await lines.next()
    os.write(mine, b"y\n")
    async with asyncio.timeout(5):
        while not lines.ready:  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0)
    lines.discard()
    os.write(mine, b"n\n")
    assert await lines.next() == "n"
