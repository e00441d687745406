"""How a loop is set up beyond its collaborators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from agentloop.artifacts.egress import EgressManifest
from agentloop.context.budget import ContextBudget
from agentloop.context.compaction import Compactor
from agentloop.context.history import HISTORY_WINDOW, LOOK_BACK
from agentloop.context.prompt import Prompt
from agentloop.errors import InvalidInput
from agentloop.guard.network.base import OwnPorts
from agentloop.records import RunLimits

__all__ = ["LoopSettings"]


def _run_prompt() -> Prompt:
    return Prompt.named("run")


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """Limits of each run, what of the history is replayed, and the words of the prompt.

    `history_window` counts the steps of earlier runs that a run reads, from the newest summary on; with a `compactor`
    all steps behind that summary are read. `context_budget` None sends what there is. `workspace` is the folder that
    files for pages are taken from. `egress` is told of what each run sends, besides the run's artifacts;
    `own_ports` are never reached by a run: a service that stands in this process adds its own.
    """

    limits: RunLimits = RunLimits()
    history_window: int = HISTORY_WINDOW
    prompt: Prompt = field(default_factory=_run_prompt)
    compactor: Compactor | None = None
    context_budget: ContextBudget | None = None
    workspace: str | None = None
    egress: EgressManifest | None = None
    own_ports: OwnPorts = field(default_factory=OwnPorts)

    @classmethod
    def of(
        cls,
        limits: RunLimits | None,
        history_window: int | None,
        compactor: Compactor | None,
        context_budget: ContextBudget | None,
        *,
        settings: Self | None = None,
    ) -> Self:
        """From a loop's own arguments; `settings` stand in the place of the others. TypeError for both."""
        if settings is not None:
            if limits or history_window or compactor or context_budget:
                raise TypeError("settings carries limits, windows and compactor of its own: leave them out")
            return settings
        return cls(
            limits=limits or RunLimits(),
            history_window=HISTORY_WINDOW if history_window is None else history_window,
            compactor=compactor,
            context_budget=context_budget,
        )

    def __post_init__(self) -> None:
        if self.history_window < 1:
            raise InvalidInput(f"history_window must be at least 1, not {self.history_window}")
        if self.limits.iterations < 1 or self.limits.wall_s <= 0:
            raise InvalidInput("a run needs at least one iteration and some time: iterations >= 1, wall_s > 0")

    @property
    def steps_replayed(self) -> int:
        """Steps behind the newest summary that are replayed at most: with a compactor none is passed over."""
        return self.history_window if self.compactor is None else LOOK_BACK
