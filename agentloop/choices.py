"""What a setting may be: each reader takes what a flag or a file holds, or raises ValueError with what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentloop.records import Prices

__all__ = [
    "amount",
    "count",
    "duration",
    "flag",
    "from_text",
    "names",
    "one_of",
    "path",
    "pause",
    "price",
    "seconds",
    "some_names",
    "some_of",
    "text",
]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", re.IGNORECASE)
_TOO_MUCH = 1 << 53
_SECONDS = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0})
_WORDS = MappingProxyType(
    {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
)


def duration(text: str) -> float:
    """The seconds of "90", "1.5s", "5m", "1h" or "500ms". Raises ValueError."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[(match[2] or "s").lower()] if match else 0.0
    if not 0 < seconds < math.inf:
        raise ValueError(f"{text!r} is no length of time: give seconds, or a number with ms, s, m or h, such as 5m")
    return seconds


def text(value: object) -> str:
    """Text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {value!r}")
    return value


def path(value: object) -> Path:
    """A path; `~` is the user's home."""
    return value if isinstance(value, Path) else Path(text(value)).expanduser()


def count(value: object) -> int:
    """A whole number from 1 on, below 2^53: more is no choice, and not every part could hold it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"must be a whole number from 1 on, not {value!r}")
    if value >= _TOO_MUCH:
        raise ValueError(f"must be a whole number from 1 to {_TOO_MUCH - 1}, not one of {len(str(value))} digits")
    return value


def pause(value: object) -> int:
    """A whole number from 0 on."""
    return 0 if value == 0 and not isinstance(value, bool) else count(value)


def amount(value: object) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"must be a number above 0, not {value!r}")
    return float(value)


def seconds(value: object) -> float:
    """Seconds as a number, or a text for `duration`."""
    return duration(value) if isinstance(value, str) else amount(value)


def price(value: object) -> Prices:
    """Two prices per million tokens, of prompt and completion: a pair, or "0.5,1.5"."""
    parts = value.split(",") if isinstance(value, str) else value
    if isinstance(parts, Prices):
        return parts
    try:
        prompt, completion = map(float, parts if isinstance(parts, list | tuple) else ())
    except (TypeError, ValueError):
        raise ValueError(f"must be two prices for a million tokens, such as 0.5,1.5, not {value!r}") from None
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        raise ValueError(f"must be two prices from 0 on, not {value!r}")
    return Prices(prompt=prompt, completion=completion)


def names(value: object) -> tuple[str, ...]:
    """Names, each once: a list, or a text with commas."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"must be names, such as a,b, not {value!r}")
    found = (name.strip() for part in parts for name in part.split(","))
    return tuple(dict.fromkeys(name for name in found if name))


def some_names(value: object) -> tuple[str, ...]:
    """`names`, at least one."""
    found = names(value)
    if not found:
        raise ValueError("must name something, such as fetch,markdown; leave it out for everything there is")
    return found


def some_of(*options: str) -> Callable[[object], tuple[str, ...]]:
    """A reader of `names` that are all among these words."""

    def read(value: object) -> tuple[str, ...]:
        found = some_names(value)
        for name in found:
            if name not in options:
                raise ValueError(f"must be of {', '.join(options)}, not {name!r}")
        return found

    return read


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


def one_of(*options: str) -> Callable[[object], str]:
    """A reader of one of these words."""

    def read(value: object) -> str:
        if value not in options:
            raise ValueError(f"must be one of {', '.join(options)}, not {value!r}")
        return str(value)

    return read


_NUMBERS: Mapping[Callable[[object], object], Callable[[str], Any]] = MappingProxyType(
    {count: int, pause: int, amount: float, flag: lambda word: _WORDS.get(word.lower(), word)}
)


def from_text(read: Callable[[object], object], text: str) -> object:
    """What `read` makes of a variable's text."""
    try:
        value: object = _NUMBERS[read](text) if read in _NUMBERS else text
    except ValueError:
        value = text
    return read(value)
