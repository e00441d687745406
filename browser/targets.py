"""What a verb acts on: reading what was given, and finding the one mark that is meant.

A model gets a name right and a number wrong, so a name given beside a number decides. All of this is
pure: it looks at marks and never at a page.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentloop.browser.base import Mark, Target
from agentloop.browser.look import quote
from agentloop.browser.words import say
from agentloop.errors import InvalidInput, TargetError

__all__ = [
    "Found",
    "Wanted",
    "bearers",
    "describe",
    "find",
    "is_field",
    "mismatch",
    "names_agree",
    "nearest_field",
    "plain_target",
    "read_target",
    "unknown_number",
]

_CANDIDATES = 4
_NAME_LIMIT = 100
_ROW_LIMIT = 80

_FIELD_ROLES = frozenset({"textbox", "searchbox"})


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A target as it was given. `text` is a lone string: the exact name of a mark, or else a CSS selector."""

    name: str | None = None
    number: int | None = None
    text: str | None = None
    point: tuple[float, float] | None = None
    mark: Mark | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is meant: one of a mark, a selector, a point. `note` tells what was done differently from what was asked."""

    mark: Mark | None = None
    selector: str = ""
    point: tuple[float, float] | None = None
    note: str = ""


# Reading -------------------------------------------------------------------------------------------


def read_target(target: Any) -> Wanted:
    """What `target` asks for: every form of `Target`, a `Mark`, a mark's dict, and numbers as text ("9", "[9]").

    Raises `InvalidInput` naming the forms there are.
    """
    if isinstance(target, Mark):
        return Wanted(name=target.name or None, number=target.id, mark=target)
    if isinstance(target, Mapping):
        return _from_mapping(target)
    if isinstance(target, list | tuple):
        return _from_pair(target)
    number = _number(target)
    if number is not None:
        return Wanted(number=number)
    if isinstance(target, str) and target.strip():
        return Wanted(text=target.strip())
    raise InvalidInput(say("target_missing", forms=say("target_forms")))


def plain_target(target: Any) -> Target | None:
    """The same as one of the forms of `Target`: a `Mark` and a mark's dict become name and number."""
    if target is None:
        return None
    wanted = read_target(target)
    if wanted.point is not None:
        return {"x": wanted.point[0], "y": wanted.point[1]}
    if wanted.text is not None:
        return wanted.text
    number = wanted.number or 0
    return (wanted.name, number) if wanted.name else number


def _from_mapping(target: Mapping[str, Any]) -> Wanted:
    number = _number(target.get("id"))
    if number is not None:
        return Wanted(name=str(target.get("name") or "") or None, number=number)
    x, y = target.get("x"), target.get("y")
    if _is_real(x) and _is_real(y):
        return Wanted(point=(float(x), float(y)))  # type: ignore[arg-type]
    raise InvalidInput(say("target_object", forms=say("target_forms")))


def _from_pair(target: Sequence[Any]) -> Wanted:
    if len(target) == 1:
        return read_target(target[0])
    if len(target) != 2:
        raise InvalidInput(say("no_target", forms=say("target_forms")))
    name, number = target
    if _number(number) is None and _number(name) is not None:
        name, number = number, name
    found = _number(number)
    if found is None or not isinstance(name, str | int):
        raise InvalidInput(say("no_target", forms=say("target_forms")))
    return Wanted(name=str(name).strip() or None, number=found)


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and (match := re.fullmatch(r"\s*\[?#?\s*(\d{1,9})\s*\]?\s*", value)):
        return int(match[1])
    return None


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# Names ---------------------------------------------------------------------------------------------


def names_agree(name: str, mark: Mark) -> bool:
    """True when `name` may be what a reader of the page calls `mark`: case, space and a bracketed count
    apart, one name holding the other as whole words; a nameless mark goes by its hint, role and row."""
    wanted = _folded(name)
    if not mark.name:
        beside = _folded(mark.context)
        return wanted in (_folded(mark.hint), mark.role) or _holds(_folded(mark.hint), wanted) or _holds(beside, wanted)
    own = _folded(mark.name)
    return own == wanted or _uncounted(own) == _uncounted(wanted) or _holds(own, wanted) or _holds(wanted, own)


def bearers(name: str, marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """The marks whose whole name is `name`, case and space apart; a hint counts where there is no name."""
    wanted = _folded(name)
    return tuple(mark for mark in marks if wanted and _folded(mark.name or mark.hint) == wanted)


def _folded(text: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    text = text.removesuffix("…").removesuffix("...").rstrip()
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def _uncounted(text: str) -> str:
    return re.sub(r"\(\d+\)|\[\d+\]", "()", text)


def _holds(text: str, part: str) -> bool:
    """True when `part` stands in `text` as whole words: "ok" is not in "bookmark"."""
    start = text.find(part) if part else -1
    while start >= 0:
        end = start + len(part)
        if not _joined(text[start - 1 : start], part[0]) and not _joined(part[-1], text[end : end + 1]):
            return True
        start = text.find(part, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    # Scripts without case (Chinese, Thai, …) put no space between words, so any place in them may be an edge.
    return bool(left and right) and all(c.isalnum() and unicodedata.category(c) != "Lo" for c in left + right)


# Finding -------------------------------------------------------------------------------------------


def find(wanted: Wanted, marks: Sequence[Mark], lookup: Callable[[int], Mark | None]) -> Found | None:
    """The one thing meant, or None when names or numbers leave it open (then `mismatch` says why).

    `lookup` gives the mark that bears a number, listed now or not. A lone string that is nobody's
    name is taken as a selector. A number alone is `lookup`'s or nobody's.
    """
    if wanted.point is not None:
        return Found(point=wanted.point)
    if wanted.mark is not None:
        return Found(mark=wanted.mark)
    if wanted.text is not None:
        return _by_text(wanted.text, marks)
    own = lookup(wanted.number) if wanted.number is not None else None
    if not wanted.name:
        return Found(mark=own) if own else None
    return _by_name(wanted.name, wanted.number, own, marks)


def _by_text(text: str, marks: Sequence[Mark]) -> Found | None:
    named = bearers(text, marks)
    if len(named) == 1:
        return Found(mark=named[0])
    if len(named) > 1 and not _selector_like(text):
        return None
    return Found(selector=text)


def _selector_like(text: str) -> bool:
    return bool(re.search(r"[#.\[\]>:*=]", text)) or bool(re.fullmatch(r"[a-z][a-z0-9-]*", text))


def _by_name(name: str, number: int | None, own: Mark | None, marks: Sequence[Mark]) -> Found | None:
    named = bearers(name, marks)
    if own and (own in named or own in bearers(name, [own])):
        return Found(mark=own)
    if len(named) == 1:
        return Found(mark=named[0], note=_by_name_note(number, own))
    if own and not named and names_agree(name, own):
        return Found(mark=own)
    return None


def _by_name_note(number: int | None, own: Mark | None) -> str:
    if own is None:
        return say("by_name_none", number=number)
    return say("by_name", number=number, what=quote(own.name, 40) if own.name else describe(own))


# Saying --------------------------------------------------------------------------------------------


def describe(mark: Mark) -> str:
    """How a mark is spoken of: button "Save", or button (trash) without a name."""
    if mark.name:
        return f"{mark.role} {quote(mark.name, _NAME_LIMIT)}"
    return f"{mark.role} ({quote(mark.hint, 40)[1:-1]})" if mark.hint else mark.role


def mismatch(wanted: Wanted, marks: Sequence[Mark], own: Mark | None) -> TargetError:
    """Why `find` gave None: what the number is, and where the name is."""
    name = wanted.name or wanted.text or ""
    parts = []
    if wanted.number is not None and wanted.name:
        parts.append(_number_is(wanted.number, own, name))
    near = bearers(name, marks) or tuple(mark for mark in marks if mark.name and names_agree(name, mark))
    parts.append(_places(name, near) if near else _nowhere(name))
    return TargetError(say("mismatch", parts="; ".join(parts)), reason="mismatch")


def _number_is(number: int, own: Mark | None, name: str) -> str:
    if own is None:
        return say("no_number", number=number)
    return say("number_is", number=number, what=describe(own), name=quote(name, 60))


def unknown_number(number: int, marks: Sequence[Mark]) -> TargetError:
    """The error for a number that nothing bears."""
    none = say("no_number", number=number)
    return TargetError(say("numbers_there", none=none, numbers=_numbers(marks)), reason="missing")


def _numbers(marks: Sequence[Mark]) -> str:
    if not marks:
        return say("page_has_no_marks")
    numbers = [mark.id for mark in marks]
    return say("page_has_marks", count=len(numbers), lowest=min(numbers), highest=max(numbers))


def _places(name: str, near: Sequence[Mark]) -> str:
    shown = ", ".join(_place(mark) for mark in near[:_CANDIDATES])
    more = say("and_more", count=len(near) - _CANDIDATES) if len(near) > _CANDIDATES else ""
    return say("name_is", name=quote(name, 60), places=shown + more)


def _place(mark: Mark) -> str:
    row = say("in_row", row=quote(mark.context, _ROW_LIMIT)) if mark.context else ""
    return f"[{mark.id}] {describe(mark)}{row}"


def _nowhere(name: str) -> str:
    return say("nowhere", name=quote(name, 60))


# Fields --------------------------------------------------------------------------------------------


def is_field(mark: Mark) -> bool:
    """True when any text can be typed into the mark."""
    return mark.role in _FIELD_ROLES or (mark.role == "combobox" and mark.tag == "input")


def nearest_field(mark: Mark, marks: Sequence[Mark]) -> Mark | None:
    """The text field closest to `mark`, None when the page has none."""
    fields = [other for other in marks if other.id != mark.id and is_field(other)]
    return min(fields, key=lambda other: _gap(mark, other), default=None)


def _gap(a: Mark, b: Mark) -> float:
    """Pixels between the nearest edges of two boxes."""
    dx = abs(a.x - b.x) - (a.w + b.w) / 2
    dy = abs(a.y - b.y) - (a.h + b.h) / 2
    return math.hypot(max(dx, 0), max(dy, 0))
