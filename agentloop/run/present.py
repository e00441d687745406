"""What holds for the next call only: the shape of args, what packs observe, the last turns' warning."""

from __future__ import annotations

from agentloop.context import feedback
from agentloop.run.context import RunContext

__all__ = ["LAST_TURNS", "present"]

LAST_TURNS = 2
"""With so many model calls left the model is told to answer with what it has."""


async def present(context: RunContext) -> str:
    """The text appended to the last message of the next request; kept in no step and no history."""
    parts = [_digest(context), *await context.observe(), _last_words(context)]
    return "\n\n".join(filter(None, parts))


def _digest(context: RunContext) -> str:
    if context.shape:
        context.spending.data_bytes_carried += max(0, len(context.carry or "") - len(context.shape))
    return feedback.args_shape(context.shape)


def _last_words(context: RunContext) -> str:
    left = context.spending.iterations_left + 1
    few = left <= LAST_TURNS < context.spending.limits.iterations
    return feedback.say("turns_left", count=left) if few else ""
