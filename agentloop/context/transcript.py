"""A conversation as text to be read by a summariser, in portions that fit one call each."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentloop.context.history import Entry
from agentloop.context.tokens import Estimator
from agentloop.context.words import fill, sections
from agentloop.guard.fence import neutralized_message

__all__ = ["Piece", "cut", "framed", "noted", "packed", "parts_of", "pieces_of", "shortened"]


@dataclass(frozen=True)
class Piece:
    """A labelled text; `text` is the whole of a message or a stretch of it."""

    label: str
    text: str

    def __str__(self) -> str:
        return f"{_say('piece', label=self.label, text=self.text)}\n\n"


def pieces_of(entries: Iterable[Entry]) -> list[Piece]:
    """Each entry under the name of its kind and a number that no entry can know, so that none forges another."""
    nonce = secrets.token_hex(4)
    return [Piece(f"{_say(entry.kind)} {nonce}", entry.content) for entry in entries]


def parts_of(summaries: Sequence[str]) -> list[Piece]:
    """Partial summaries, each under its number, and one that they cannot know."""
    count, nonce = len(summaries), secrets.token_hex(4)
    return [
        Piece(_say("part", number=number, count=count, nonce=nonce), text) for number, text in enumerate(summaries, 1)
    ]


def cut(pieces: Iterable[Piece], room: int, estimate: Estimator) -> Iterator[Piece]:
    """The same text in pieces of at most `room` tokens each, label included; nothing is left out.

    Text is cut behind a line where one ends in the second half of the room. A single character is never cut,
    whatever it counts.
    """
    for piece in pieces:
        label, rest = piece.label, piece.text
        while True:
            end = _fitting(rest, room - estimate(str(Piece(label, ""))), estimate)
            yield Piece(label, rest[:end])
            rest, label = rest[end:], _say("continued", label=piece.label)
            if not rest:
                break


def packed(pieces: Iterable[Piece], room: int, estimate: Estimator) -> list[list[Piece]]:
    """Consecutive pieces together, as many as fit into `room` tokens."""
    groups: list[list[Piece]] = []
    left = 0
    for piece in pieces:
        size = estimate(str(piece))
        if not groups or size > left:
            groups.append([])
            left = room
        groups[-1].append(piece)
        left -= size
    return groups


def framed(pieces: Sequence[Piece], *, number: int = 1, count: int = 1) -> str:
    """The pieces between two marks that no text can forge; of several portions also which one it is."""
    part = _say("frame_part", number=number, count=count) if count > 1 else ""
    text = "".join(str(piece) for piece in pieces).rstrip("\n")
    return _say("frame", nonce=secrets.token_hex(4), part=part, text=text)


def noted(summary: str, count: int) -> str:
    """A summary as it is sent and kept in place of `count` messages, with an end that it cannot forge."""
    return _say("note", summary=neutralized_message(summary), count=count, nonce=secrets.token_hex(4))


def shortened(summary: str) -> str:
    """A summary that its model could not finish, saying so."""
    return f"{summary}\n{_say('cut')}"


def _fitting(text: str, room: int, estimate: Estimator) -> int:
    """How many characters of `text` to take: all, or what fits, at least one."""
    high = max(room, 1)
    while high < len(text) and estimate(text[:high]) <= room:
        high *= 2
    if high >= len(text) and estimate(text) <= room:
        return len(text)
    low, high = 1, min(high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= room else (low, middle)
    line_end = text.rfind("\n", low // 2, low) + 1
    return line_end or low


def _say(name: str, /, **values: object) -> str:
    return fill(sections("transcript.md")[name], **values)
