"""Notices that a run goes round in circles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "ProgressGuard"]

Progress = Literal["ok", "hint", "drop", "end"]
"""Go on; say so; say so and send the repeated scripts no more; end the run (`error`, `no_progress`)."""


@dataclass(frozen=True)
class _Turn:
    script: str
    value_json: str | None
    logs: str
    error: str
    effects: tuple[str, ...]


class ProgressGuard:
    """Counts turns in a row with the same script and the same outcome: the second earns a hint, at the
    third the repeated scripts leave the outgoing history (a model's own last script is its strongest
    example), the fourth ends the run."""

    def __init__(self) -> None:
        self._last: _Turn | None = None
        self._positions: list[int] = []
        self._dropped: frozenset[int] = frozenset()

    @property
    def dropped(self) -> frozenset[int]:
        """Positions of entries to leave out of the history, for `draft(drop=…)`; they only grow."""
        return self._dropped

    def feed(
        self,
        script: str,
        *,
        position: int,
        value_json: str | None = None,
        logs: str = "",
        error: str = "",
        effects: Sequence[str] = (),
    ) -> Progress:
        """Judges one turn. `position` is its script's place among the entries, its result's is the next;
        `effects` is whatever else shows that something happened: receipts, a changed page."""
        turn = _Turn(script.strip(), value_json, logs, error, tuple(effects))
        if turn != self._last:
            self._last, self._positions = turn, []
        self._positions.append(position)
        repeats = len(self._positions)
        if repeats >= 3:
            self._drop()
        return ("ok", "hint", "drop", "end")[min(repeats, 4) - 1]

    def _drop(self) -> None:
        # Of the equal results the newest stays: it alone carries the hint.
        results = {position + 1 for position in self._positions[:-1]}
        self._dropped |= results.union(self._positions)
