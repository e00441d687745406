"""Words kept in `.md` files: sections by name, filled with values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agentloop.errors import InvalidInput
from agentloop.packs.resources import headed

__all__ = ["fill", "sections"]

_PLACE = re.compile(r"\{([a-z_]+)\}")


@cache
def sections(file: str) -> Mapping[str, str]:
    """The texts of `context/prompts/<file>` by the names of their `##` headings, blank lines around them removed."""
    return headed(files("agentloop.context").joinpath("prompts", file).read_text(encoding="utf-8"))


def fill(text: str, /, **values: object) -> str:
    """`text` with each `{name}` replaced; braces around anything but one lower-case name are left alone.

    Raises `InvalidInput` when a name has no value or a value has no place.
    """
    wanted = set(_PLACE.findall(text))
    if wanted != values.keys():
        raise InvalidInput(f"These words need values for {sorted(wanted)} and were given {sorted(values)}.")
    return _PLACE.sub(lambda place: str(values[place[1]]), text)
