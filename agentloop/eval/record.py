"""What an agent did, as text for the judge."""

from __future__ import annotations

from agentloop.events import RunEvent

__all__ = ["RECORD_CHARS", "Record"]

RECORD_CHARS = 16_000
"""Characters of the record that the judge reads; the middle of a longer one is left out."""

_LABELS = {"execute_js": "Script", "execute_js_result": "What it gave", "warning": "Warning", "error": "Error"}
_PART_CHARS = 4_000


class Record:
    """Takes a run's events as they come."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.trouble = ""
        """Why the run ended, where it did not end well."""

    def event(self, event: RunEvent) -> None:
        """Notes it, if it tells what was done."""
        label = _LABELS.get(event.type)
        if event.type == "error":
            self.trouble = event.content
        if label is not None:
            self._parts.append(f"{label} (turn {event.turn}):\n{_cut(event.content, _PART_CHARS)}")

    @property
    def text(self) -> str:
        """All of it, bounded."""
        return _cut("\n\n".join(self._parts), RECORD_CHARS) or "(nothing was done)"


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n(… {len(text) - 2 * half} characters left out …)\n{text[-half:]}"
