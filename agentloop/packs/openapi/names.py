"""What operations and parameters are called in scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

__all__ = ["derived", "distinct", "keys", "near", "sanitised", "slug"]

_OTHER: Final = re.compile(r"[^A-Za-z0-9_]+")
_NO_SLUG: Final = re.compile(r"[^a-z0-9]+")
_PART: Final = re.compile(r"\{([^{}]*)\}|([^{}]+)")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_LONGEST: Final = 120
_COMPARED: Final = 2_000
_PROTOTYPE: Final = "__proto__"


def sanitised(name: str) -> str:
    """The name as a JavaScript identifier: `pet-id` is `pet_id`, `123abc` is `_123abc`, nothing is `_`."""
    fit = _OTHER.sub("_", name)[:_LONGEST] or "_"
    if fit == _PROTOTYPE:
        return "_proto_"
    return f"_{fit}" if fit[0].isdigit() else fit


def derived(method: str, path: str) -> str:
    """The name of an operation that has none: `GET /pets/{petId}/photos` is `getPetsByPetIdPhotos`."""
    pieces = [f"By{_pascal(match[1])}" if match[1] else _pascal(match[2] or "") for match in _PART.finditer(path)]
    return sanitised(method.lower() + "".join(pieces))


def slug(title: str) -> str:
    """`Pet Store API!!` as `pet-store-api`; "" when nothing is left."""
    return _NO_SLUG.sub("-", title.lower()).strip("-")


def distinct(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, those that come again (or are `taken`) with 2, 3, … after them."""
    used, wanted = set(taken), set(names)
    numbers: Counter[str] = Counter()
    result = []
    for name in names:
        fit = name
        while fit in used or (fit != name and fit in wanted):
            numbers[name] += 1
            fit = f"{name}{numbers[name] + 1}"
        used.add(fit)
        result.append(fit)
    return result


def keys(parameters: Sequence[tuple[str, str]], reserved: Collection[str] = ()) -> list[str]:
    """What scripts call parameters, given as (place, name).

    It is the name itself; one that is in two places, or reserved, has its place before it: `query_id`, `path_id`.
    """
    counts = Counter(name for _, name in parameters)
    shared = {name for name, count in counts.items() if count > 1} | set(reserved)
    used = set(reserved) | (counts.keys() - shared)
    result = []
    for place, name in parameters:
        key = f"{place}_{name}" if name in shared else name
        while name in shared and key in used:
            key += "_"
        used.add(key)
        result.append(key)
    return result


def near(name: str, known: Collection[str]) -> str:
    """A hint, `; did you mean "petId"?`, or "" when nothing is like it."""
    some = list(islice(known, _COMPARED))
    folded = {_OTHER.sub("", one).replace("_", "").lower(): one for one in some}
    alike = folded.get(_OTHER.sub("", name).replace("_", "").lower())
    close = [alike] if alike is not None else get_close_matches(name[:80], some, n=1, cutoff=0.7)
    return f'; did you mean "{close[0]}"?' if close else ""


def _pascal(text: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(text))
