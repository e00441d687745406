"""The words that the model reads of targets and acts, kept in `prompts/feedback.md`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agentloop.packs.resources import headed

__all__ = ["say"]


def say(phrase: str, /, **values: object) -> str:
    """One text with its values. Raises `KeyError` when there is no such text or a value is missing."""
    return _texts()[phrase].format(**values)


@cache
def _texts() -> Mapping[str, str]:
    return headed((files("agentloop.browser") / "prompts" / "feedback.md").read_text("utf-8"))
