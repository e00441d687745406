"""The visible page as text, marks in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from agentloop.browser.listing import Listing
from agentloop.records import Json

__all__ = ["NAME_LIMIT", "Look", "quote", "render"]


NAME_LIMIT = 100


@dataclass(frozen=True, kw_only=True)
class Look:
    """What can be seen: `text` for the model, the `listing` its numbers are from, and how much was left out."""

    text: str
    listing: Listing
    chars_left_out: int = 0


def quote(text: str, limit: int = NAME_LIMIT) -> str:
    """Page text as a JSON string of at most `limit` characters of text, which no page can break out of."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return json.dumps(short, ensure_ascii=False).replace("[", "\\u005b").replace("]", "\\u005d")


def render(listing: Listing, pages: Mapping[str, Json], numbers: Mapping[tuple[str, str], int], *, chars: int) -> Look:
    """The text of `pages` with the marks of `listing`."""
    return Look(text="", listing=listing)
