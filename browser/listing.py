"""What a listing of the page is, and the pure questions asked of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentloop.browser.base import Mark
from agentloop.records import Json

__all__ = [
    "Aim",
    "ElementState",
    "Listing",
    "ScrollState",
    "mark_from",
    "named_alike",
    "role_word",
    "same_words",
    "select_marks",
    "twin",
]

_STILL_PX = 2.0
_ROLE_LIMIT = 24


@dataclass(frozen=True, kw_only=True)
class ScrollState:
    """How far the top window is scrolled, how big its page is and how much of it is seen, in CSS pixels."""

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    view_width: float = 0.0
    view_height: float = 0.0

    @property
    def below(self) -> int:
        """Pixels of page below what is seen."""
        return max(0, round(self.height - self.y - self.view_height))

    @property
    def above(self) -> int:
        """Pixels of page above what is seen."""
        return max(0, round(self.y))


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Everything that could be acted on at one moment, in document order, frames in place.

    `document` changes with the top document. `skipped_frames` are addresses of frames that could not be
    read; `left_out` counts marks beyond the cap.
    """

    marks: tuple[Mark, ...]
    document: str
    url: str
    title: str
    scroll: ScrollState = ScrollState()
    skipped_frames: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A checked place to act on: `key` names the element inside `frame`; a click at `x`, `y` reaches it.

    `mark` has its name as it is now. `scrolled`: the page was scrolled to reach it. `repaired`: the marked element
    was gone and this is the one that took its place. `inner` is the point in its frame.
    """

    mark: Mark | None
    frame: str
    key: str
    x: float
    y: float
    scrolled: bool = False
    repaired: bool = False
    inner: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ElementState:
    """A control as it is now. `value` is None for passwords and for what holds none; `filled` tells for both.

    `focused`: the focus is in it or inside it. `editable`: text can be typed into it.
    """

    tag: str
    type: str
    role: str
    name: str
    value: str | None
    filled: bool
    focused: bool
    editable: bool
    readonly: bool
    checked: bool | None
    options: tuple[str, ...]
    more_options: int
    contenteditable: bool


def role_word(role: str) -> str:
    """A role as it may stand unquoted in a line: pages may claim any word for one."""
    return re.sub(r"[^a-z]", "", role)[:_ROLE_LIMIT] or "clickable"


def mark_from(raw: Mapping[str, Json], *, number: int, frame: str) -> Mark:
    """The mark of what the page script told."""
    raw = {**raw, "role": role_word(raw["role"])}
    fields = {name: value for name, value in raw.items() if name not in ("px", "py", "options")}
    return Mark(id=number, frame=frame, point=(raw["px"], raw["py"]), options=tuple(raw.get("options", ())), **fields)


def select_marks(
    marks: Iterable[Mark],
    *,
    role: str | None = None,
    name: str | None = None,
    inside: frozenset[int] | None = None,
    limit: int | None = None,
) -> tuple[Mark, ...]:
    """Those of a role, whose name or hint holds `name` (case and spaces folded), among `inside`; never renumbered."""
    wanted = _folded(name or "")
    chosen = [
        mark
        for mark in marks
        if (role is None or mark.role == role)
        and (not wanted or wanted in _folded(mark.name or mark.hint))
        and (inside is None or mark.id in inside)
    ]
    return tuple(chosen if limit is None else chosen[:limit])


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def same_words(a: str, b: str) -> bool:
    """Equal but for figures: "Like (3)" and "Like (4)"."""
    return re.sub(r"\d+", "#", a) == re.sub(r"\d+", "#", b)


def named_alike(mark: Mark, marks: Iterable[Mark]) -> list[Mark]:
    """The marks of the same tag, role and name, `mark` itself among them when it is listed."""
    return [other for other in marks if (other.tag, other.role, other.name) == (mark.tag, mark.role, mark.name)]


def twin(mark: Mark, *, alone: bool, fresh: Sequence[Mark]) -> Mark | None:
    """The mark of a fresh listing that took the place of a lost one; None when that is not certain.

    `alone`: nothing was named alike when it was listed. Else, or when several are alike now, the text
    beside it must agree too, and among equals only one that did not move is taken.
    """
    alike = named_alike(mark, fresh)
    if alone and len(alike) == 1:
        return alike[0]
    alike = [other for other in alike if other.context == mark.context]
    if len(alike) == 1 and mark.context:
        return alike[0]
    still = [other for other in alike if abs(other.x - mark.x) + abs(other.y - mark.y) <= _STILL_PX]
    return still[0] if len(still) == 1 else None
