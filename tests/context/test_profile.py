from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import Compaction, SummarizingCompactor
from agentloop.context.history import Entry
from agentloop.context.profile import Profile
from agentloop.context.prompt import Prompt
from agentloop.context.settings import LoopSettings
from agentloop.llm.base import LLM


@dataclass(frozen=True)
class Own:
    """A compactor of somebody else's."""

    llm: LLM | None = None

    async def compact(self, entries: Sequence[Entry], *, llm: LLM, model: str = "") -> Compaction:
        return Compaction(entries=tuple(entries))


@pytest.mark.parametrize(
    ("window", "reserve", "history", "trigger", "keep", "log_bytes", "inline_bytes"),
    [
        (2048, 512, 36, 12, 4, 1024, 1024),
        (4096, 512, 42, 14, 4, 1792, 1792),
        (8192, 1024, 84, 28, 9, 3584, 3584),
        (16_384, 2048, 171, 57, 19, 7168, 4096),
        (32_768, 4096, 180, 60, 20, 14_336, 4096),
        (131_072, 4096, 180, 60, 20, 16_384, 4096),
        (1_000_000, 4096, 180, 60, 20, 16_384, 4096),
    ],
)
def test_the_table(
    window: int, reserve: int, history: int, trigger: int, keep: int, log_bytes: int, inline_bytes: int
) -> None:
    profile = Profile.for_window(window)
    assert profile.context_budget is not None and profile.context_budget.reserved == reserve
    assert (profile.history_window, profile.trigger, profile.keep) == (history, trigger, keep)
    assert (profile.log_bytes, profile.inline_bytes) == (log_bytes, inline_bytes)


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_not_known_changes_nothing(window: int) -> None:
    settings = LoopSettings(compactor=SummarizingCompactor())
    assert Profile.for_window(window) == Profile()
    assert Profile.for_window(window).apply(settings) is settings


def test_a_profile_sets_what_settings_hold_and_leaves_the_rest() -> None:
    compactor = SummarizingCompactor(model="small", prompt="mine {words}")
    settings = LoopSettings(compactor=compactor, prompt=Prompt.named("run"))
    applied = Profile.for_window(8192).apply(settings)
    assert (applied.context_budget, applied.history_window) == (ContextBudget(8192), 84)
    assert applied.compactor == SummarizingCompactor(
        model="small", prompt="mine {words}", trigger=28, keep=9, budget=ContextBudget(8192)
    )
    assert (applied.prompt.log_chars, applied.prompt.system) == (3584, settings.prompt.system)
    assert applied.limits == settings.limits
    assert (settings.context_budget, settings.compactor, settings.history_window) == (None, compactor, 80)


def test_a_profile_never_lengthens_logs() -> None:
    applied = Profile.for_window(131_072).apply(LoopSettings(prompt=Prompt.named("browse")))
    assert applied.prompt.log_chars == Prompt.named("browse").log_chars


def test_another_compactor_and_none_stay() -> None:
    own = Own()
    assert Profile.for_window(4096).apply(LoopSettings(compactor=own)).compactor is own
    assert Profile.for_window(4096).apply(LoopSettings()).compactor is None
