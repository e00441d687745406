"""Making a page's lines fit a bound: rows of long runs go first, then long prose, and what went is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Line", "fitted"]

_Run = tuple[str, int]

_KEPT_ROWS = 3
_SHORT = 200
_NOTICE = 110
"""Characters kept free for one notice of what was left out."""


@dataclass(frozen=True)
class Line:
    """One line of the page. `row` tells the run of alike units it belongs to and which of them it is."""

    text: str
    marks: int
    row: tuple[_Run, int] | None = None


@dataclass
class _Gap:
    """Lines left out of one place."""

    rows: int
    chars: int
    run: _Run | None


_Part = Line | _Gap


def fitted(lines: Sequence[Line], room: int, selectors: Mapping[_Run, str]) -> tuple[list[str], int]:
    """The lines within `room` characters, newlines counted, with notices for what is missing; and its characters.

    Marks are kept as long as anything else can go.
    """
    parts: list[_Part] = list(lines)
    if _size(parts) > room:
        parts = _fewer_rows(parts, room)
    if _size(parts) > room:
        parts = _shorter_prose(parts, room)
    if _size(parts) > room:
        parts = _cut_off(parts, room)
    left_out = sum(part.chars for part in parts if isinstance(part, _Gap))
    return [part.text if isinstance(part, Line) else _notice(part, selectors) for part in parts], left_out


def _size(parts: Sequence[_Part]) -> int:
    return sum(len(part.text) + 1 if isinstance(part, Line) else _NOTICE for part in parts)


def _notice(gap: _Gap, selectors: Mapping[_Run, str]) -> str:
    selector = selectors.get(gap.run, "body") if gap.run else "body"
    rows = f"{gap.rows} more rows like these, " if gap.rows else ""
    return f'(… {rows}{gap.chars:,} characters left out: browser.text("{selector}") reads them)'


def _fewer_rows(parts: list[_Part], room: int) -> list[_Part]:
    """Rows dropped from the ends of runs, the longest run first, until it fits; the first ones of each stay."""
    runs: dict[_Run, list[int]] = {}
    for part in parts:
        if isinstance(part, Line) and part.row:
            rows = runs.setdefault(part.row[0], [])
            if part.row[1] not in rows:
                rows.append(part.row[1])
    for run in sorted(runs, key=lambda run: _run_size(parts, run), reverse=True):
        excess = _size(parts) - room
        if excess > 0 and len(runs[run]) > _KEPT_ROWS:
            parts = _shortened_run(parts, run, runs[run], excess + _NOTICE)
    return parts


def _run_size(parts: Sequence[_Part], run: _Run) -> int:
    return sum(len(part.text) for part in parts if isinstance(part, Line) and part.row and part.row[0] == run)


def _shortened_run(parts: list[_Part], run: _Run, rows: list[int], excess: int) -> list[_Part]:
    sizes = dict.fromkeys(rows, 0)
    for part in parts:
        if isinstance(part, Line) and part.row and part.row[0] == run:
            sizes[part.row[1]] += len(part.text) + 1
    dropped: set[int] = set()
    for row in reversed(rows[_KEPT_ROWS:]):
        if excess <= 0:
            break
        dropped.add(row)
        excess -= sizes[row]
    gap = _Gap(len(dropped), sum(sizes[row] for row in dropped), run)
    kept: list[_Part] = []
    for part in parts:
        if isinstance(part, Line) and part.row and part.row[0] == run and part.row[1] in dropped:
            if gap not in kept:
                kept.append(gap)
            continue
        kept.append(part)
    return kept


def _shorter_prose(parts: list[_Part], room: int) -> list[_Part]:
    """Long lines without marks cut short, from the end of the page on."""
    kept = list(parts)
    cut = 0
    for place in range(len(kept) - 1, -1, -1):
        if _size(kept) + _NOTICE <= room:
            break
        part = kept[place]
        if isinstance(part, Line) and not part.marks and len(part.text) > _SHORT:
            wanted = max(_SHORT, len(part.text) - (_size(kept) + _NOTICE - room))
            cut += len(part.text) - wanted + 1
            kept[place] = Line(part.text[: wanted - 1] + "…", 0, part.row)
    return [*kept, _Gap(0, cut, None)] if cut else kept


def _cut_off(parts: list[_Part], room: int) -> list[_Part]:
    """Lines dropped from the end: first those without marks, then any."""
    kept: list[_Part] = list(parts)
    cut = 0
    for any_line in (False, True):
        for place in range(len(kept) - 1, -1, -1):
            if _size(kept) + _NOTICE <= room:
                break
            part = kept[place]
            if isinstance(part, _Gap) and any_line:
                cut += part.chars
                del kept[place]
            elif isinstance(part, Line) and (any_line or not part.marks):
                cut += len(part.text) + 1
                del kept[place]
    return [*kept, _Gap(0, cut, None)]
