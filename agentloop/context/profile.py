"""All settings that follow from the size of the model's window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import SummarizingCompactor
from agentloop.context.settings import LoopSettings

__all__ = ["Profile"]

_LEAST_BYTES = 1024
_MOST_LOG_BYTES = 16_384
_MOST_INLINE_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Figures for one window. The empty profile changes nothing.

    `history_window` counts steps, `trigger` and `keep` messages. `log_bytes` is for one turn's logs,
    `inline_bytes` for the part of a project's instructions that goes into the prompt.
    """

    context_budget: ContextBudget | None = None
    history_window: int = 0
    trigger: int = 0
    keep: int = 0
    log_bytes: int = 0
    inline_bytes: int = 0

    @classmethod
    def for_window(cls, window: int) -> Self:
        """For a window of so many tokens, as the model is served; not positive = not known, the empty profile.

        The prompt's allowance A gives the rest: a summary past A/250 messages (12 to 60) that keeps a third of
        them, three times as many steps of history (24 to 200), logs and instructions of an eighth of A each.
        """
        if window <= 0:
            return cls()
        budget = ContextBudget(window)
        trigger = _within(budget.allowance // 250, 12, 60)
        standing = budget.allowance // 8 * 4
        return cls(
            context_budget=budget,
            history_window=_within(3 * trigger, 24, 200),
            trigger=trigger,
            keep=max(4, trigger // 3),
            log_bytes=_within(standing, _LEAST_BYTES, _MOST_LOG_BYTES),
            inline_bytes=_within(standing, _LEAST_BYTES, _MOST_INLINE_BYTES),
        )

    def apply(self, settings: LoopSettings) -> LoopSettings:
        """`settings` with this budget, history window and compactor figures; logs may only get shorter.

        A `SummarizingCompactor` gets trigger, keep and this window as its budget, any other compactor and none stay
        as they are. Change single figures afterwards. Instructions are another object's: hand it `inline_bytes`.
        """
        if self.context_budget is None:
            return settings
        compactor = settings.compactor
        if isinstance(compactor, SummarizingCompactor):
            compactor = replace(compactor, trigger=self.trigger, keep=self.keep, budget=self.context_budget)
        return replace(
            settings,
            context_budget=self.context_budget,
            history_window=self.history_window,
            compactor=compactor,
            prompt=replace(settings.prompt, log_chars=min(settings.prompt.log_chars, self.log_bytes)),
        )


def _within(value: int, least: int, most: int) -> int:
    return min(max(value, least), most)
