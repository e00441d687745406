"""The visible page as text, marks in place: the one thing a model reads of a page.

One mark is `[id] role "name" state…`; a nameless one `[id] role (hint)`. A block is a line, headings begin
with `#`, list items with `-`, table cells are apart by ` | `; a row, list item or card that is small enough
is one line joined by ` · `. All that the page says is written so that it cannot look like any of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentloop.browser.base import Mark
from agentloop.browser.fitting import Line, fitted
from agentloop.browser.listing import Listing, ScrollState, role_word
from agentloop.guard import fence
from agentloop.records import Json

__all__ = ["Look", "mark_line", "neutralized", "quote", "render"]

_NAME_LIMIT = 100
_VALUE_LIMIT = 80
_HINT_LIMIT = 40
_ADDRESS_LIMIT = 200
_CARD_MARKS = 6
_CARD_CHARS = 160
_ROW_CHARS = 400
_MANY_MARKS = 40
"""More marks than this and the cap is two thirds: listings hold fewer characters to the token than prose."""

_FIELDS = frozenset(
    {"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "checkbox", "radio", "switch"}
)
_VALUED = _FIELDS | {"date", "time", "datetime", "month", "week", "colorwell"}


@dataclass(frozen=True, kw_only=True)
class Look:
    """What can be seen: `text` for the model, the `listing` its numbers are from, and how much was left out."""

    text: str
    listing: Listing
    chars_left_out: int = 0


def quote(text: str, limit: int = _NAME_LIMIT) -> str:
    """Page text as a JSON string of at most `limit` characters of text, which no page can break out of."""
    return fence.quoted(text, limit)


def neutralized(text: str) -> str:
    """Page text outside quotes: it can draw no mark, no fence and no first line of ours."""
    return fence.neutralized(text)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def render(listing: Listing, pages: Mapping[str, Json], frames: Mapping[tuple[str, str], str], *, chars: int) -> Look:
    """The text of a listing's page within `chars` characters.

    `pages`: frame id → its tree of units as the page script gives it. `frames`: (frame, key of the <iframe>)
    → the frame inside.
    """
    cap = chars * 2 // 3 if len(listing.marks) > _MANY_MARKS else chars
    head = _head(listing)
    tail = _tail(listing)
    page = _Page(listing, pages, frames)
    room = cap - len(head) - sum(len(line) + 1 for line in tail) - 1
    lines, left_out = fitted(page.lines(), room, page.selectors)
    return Look(
        text="\n".join([head, *map(fence.neutralized_line, lines), *tail]), listing=listing, chars_left_out=left_out
    )


def _head(listing: Listing) -> str:
    parts = urlsplit(listing.url)
    address = (parts.path or "/") + (f"?{parts.query}" if parts.query else "") if parts.netloc else listing.url
    address = address.replace("[", "%5B").replace("]", "%5D")
    return f"PAGE NOW: {quote(listing.title)} {neutralized(_cut(address, _ADDRESS_LIMIT))}"


def _tail(listing: Listing) -> list[str]:
    lines = []
    scroll = listing.scroll
    if scroll.above:
        lines.append(f"(above: {scroll.above:,} px, scroll(-{_step(scroll)}))")
    if scroll.below:
        lines.append(f"(below the fold: {scroll.below:,} px, scroll({_step(scroll)}))")
    if listing.left_out:
        lines.append(f"({listing.left_out:,} more things that can be clicked have no number here)")
    for url in listing.skipped_frames[:4]:
        lines.append(f"(a frame could not be read: {neutralized(_cut(url, 80))})")
    return lines


def _step(scroll: ScrollState) -> int:
    return max(100, round(scroll.view_height * 0.8 / 100) * 100)


# Marks -----------------------------------------------------------------------------------------------


def mark_line(mark: Mark) -> str:
    """A mark as it stands in the text: `[9] combobox "Shipping" value="Standard" options: Standard, Express`."""
    said = f"[{mark.id}] {mark.role}"
    if mark.name:
        said += f" {quote(mark.name)}"
    elif mark.hint:
        said += f" ({_words(mark.hint)})"
    states = ", ".join(_states(mark))
    return said + (f" {states}" if states else "") + _options(mark)


def _words(text: str) -> str:
    return neutralized(_cut(text, _HINT_LIMIT)).replace("(", " ").replace(")", " ").strip()


def _states(mark: Mark) -> Iterator[str]:
    if mark.required:
        yield "required"
    yield from _holds(mark)
    if mark.checked is not None:
        yield "checked" if mark.checked else "not checked"
    if mark.expanded is not None:
        yield "expanded" if mark.expanded else "collapsed"
    for word in ("selected", "invalid", "disabled", "focused"):
        if getattr(mark, word):
            yield word


def _holds(mark: Mark) -> Iterator[str]:
    if mark.filled is not None:
        yield "(filled)" if mark.filled else "empty"
    elif mark.value:
        yield f"value={quote(mark.value, _VALUE_LIMIT)}"
    elif mark.value is not None and (mark.role in _VALUED or mark.type == "file"):
        yield "empty"


def _options(mark: Mark) -> str:
    if not mark.options:
        return ""
    more = f" … {mark.more_options} more" if mark.more_options else ""
    return " options: " + ", ".join(neutralized(option) for option in mark.options) + more


# Lines -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Leaf:
    """One piece of a line: words or a mark. `block`: pieces of one block stand on one line."""

    text: str
    block: tuple[str, int]
    mark: Mark | None = None
    heading: int = 0
    glued: bool = False


@dataclass(frozen=True)
class _Unit:
    """A row, cell, item, card, bar or page. `run` names the container that its equals share."""

    kind: str
    run: tuple[str, int]
    parts: list[_Unit | _Leaf]


class _Page:
    """The trees of all frames put together, and their lines."""

    def __init__(self, listing: Listing, pages: Mapping[str, Json], frames: Mapping[tuple[str, str], str]) -> None:
        self._pages = pages
        self._frames = frames
        self._marks = {(mark.frame, mark.key): mark for mark in listing.marks}
        self.selectors: dict[tuple[str, int], str] = {}

    def lines(self) -> list[Line]:
        """The page's lines in reading order."""
        return list(_lines_of(self._tree("")))

    def _tree(self, frame: str) -> _Unit:
        page = self._pages.get(frame)
        if not page:
            return _Unit("page", (frame, -1), [])
        if not frame:
            self.selectors |= {(frame, int(number)): found for number, found in page["containers"].items()}
        return self._unit(frame, page["tree"])

    def _unit(self, frame: str, raw: Json) -> _Unit:
        parts: list[_Unit | _Leaf] = []
        for child in raw["n"]:
            if "u" in child:
                parts.append(self._unit(frame, child))
            elif "f" in child:
                inner = self._frames.get((frame, child["f"]))
                if inner is not None:
                    parts.append(self._tree(inner))
            elif (leaf := self._leaf(frame, child)) is not None:
                parts.append(leaf)
        return _Unit(raw["u"], (frame, raw["p"]), _without_labels(parts))

    def _leaf(self, frame: str, raw: Json) -> _Leaf | None:
        block, heading = (frame, raw["b"]), raw.get("h", 0)
        if "m" in raw:
            mark = self._marks.get((frame, raw["m"]))
            return None if mark is None else _Leaf(mark_line(mark), block, mark=mark, heading=heading)
        if "d" in raw:
            return _Leaf(f"{role_word(raw['d'])} {quote(raw['t'])} disabled", block, heading=heading)
        if "i" in raw:
            return _Leaf(f"(image {quote(raw['i'])})", block, heading=heading)
        glued = bool(raw.get("g")) or re.match(r"[.,;:!?)]+(\s|$)", raw["t"]) is not None
        return _Leaf(neutralized(raw["t"]), block, heading=heading, glued=glued)


def _without_labels(parts: list[_Unit | _Leaf]) -> list[_Unit | _Leaf]:
    """Drops words that only repeat the name of the control next to them."""

    names = [_field_name(part) for part in parts]
    return [part for place, part in enumerate(parts) if _words_of(part) not in names[max(0, place - 1) : place + 2]]


def _field_name(part: _Unit | _Leaf) -> str | None:
    leaves = [part] if isinstance(part, _Leaf) else list(_leaves(part))
    mark = leaves[0].mark if len(leaves) == 1 else None
    return _folded(mark.name) if mark and mark.role in _VALUED and mark.name else None


def _words_of(part: _Unit | _Leaf) -> str:
    return _folded(part.text) if isinstance(part, _Leaf) and part.mark is None else ""


def _folded(text: str) -> str:
    return " ".join(text.split()).rstrip(" :*").casefold()


def _leaves(unit: _Unit) -> Iterator[_Leaf]:
    for part in unit.parts:
        if isinstance(part, _Leaf):
            yield part
        else:
            yield from _leaves(part)


def _lines_of(unit: _Unit, row: tuple[tuple[str, int], int] | None = None) -> Iterator[Line]:
    """Blocks one a line; a small unit on one line. `row`: the run and the row of it that the lines belong to."""
    pending: list[_Leaf] = []
    for place, part in enumerate(unit.parts):
        if isinstance(part, _Leaf):
            if pending and pending[-1].block != part.block:
                yield _block_line(pending, row)
                pending = []
            pending.append(part)
            continue
        if pending:
            yield _block_line(pending, row)
            pending = []
        yield from _unit_lines(part, row or _row_of(part, place))
    if pending:
        yield _block_line(pending, row)


def _row_of(unit: _Unit, place: int) -> tuple[tuple[str, int], int] | None:
    return (unit.run, place) if unit.kind in ("row", "item", "card") else None


def _unit_lines(unit: _Unit, row: tuple[tuple[str, int], int] | None) -> Iterator[Line]:
    leaves = list(_leaves(unit))
    if not leaves:
        return
    joined = _joined(unit)
    marks = sum(leaf.mark is not None for leaf in leaves)
    prefix = "- " if unit.kind == "item" else ""
    if _fits_a_line(unit, len(joined), marks):
        alone = len({leaf.block for leaf in leaves}) == 1
        yield Line(prefix + (_hashes(leaves) if alone else "") + joined, marks, row)
        return
    if unit.kind == "bar":
        yield from _packed(_lines_of(unit, row))
        return
    for place, line in enumerate(_lines_of(unit, row)):
        first = prefix and place == 0 and not line.text.startswith("- ")
        yield Line(prefix + line.text, line.marks, line.row) if first else line


def _fits_a_line(unit: _Unit, chars: int, marks: int) -> bool:
    if unit.kind == "page":
        return False
    if unit.kind in ("row", "cell") and marks <= _CARD_MARKS:
        return chars <= _ROW_CHARS
    return chars <= _CARD_CHARS and marks <= _CARD_MARKS


def _packed(lines: Iterator[Line]) -> Iterator[Line]:
    """The lines of a bar side by side, as they stand on the page."""
    held: Line | None = None
    for line in lines:
        text = line.text.removeprefix("- ")
        if held and not held.text.startswith("# ") and len(held.text) + len(text) < _CARD_CHARS:
            held = Line(f"{held.text} {text}", held.marks + line.marks, held.row)
            continue
        if held:
            yield held
        held = Line(text, line.marks, line.row)
    if held:
        yield held


def _joined(unit: _Unit) -> str:
    """All of a unit on one line: cells apart by bars, blocks by dots, what is in one block by spaces."""
    pieces: list[str] = []
    before: _Leaf | None = None
    for part in unit.parts:
        if isinstance(part, _Leaf):
            if before is not None and before.block == part.block:
                pieces[-1] += ("" if part.glued else " ") + part.text
            else:
                pieces.append(part.text)
            before = part
            continue
        before = None
        if text := _joined(part):
            pieces.append(text)
    return {"row": " | ", "bar": " "}.get(unit.kind, " · ").join(pieces)


def _block_line(leaves: list[_Leaf], row: tuple[tuple[str, int], int] | None) -> Line:
    text = ""
    for leaf in leaves:
        text += leaf.text if not text or leaf.glued else f" {leaf.text}"
    return Line(_hashes(leaves) + text, sum(leaf.mark is not None for leaf in leaves), row)


def _hashes(leaves: list[_Leaf]) -> str:
    return "# " if leaves[0].heading else ""
