"""How many tokens one call may have, and what stays when they do not suffice."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import KW_ONLY, dataclass

from agentloop.context.draft import Draft, earlier_left_out, messages_left_out, scripts_left_out
from agentloop.context.tokens import Estimator, estimate_tokens, message_tokens
from agentloop.errors import InvalidInput
from agentloop.llm.base import Message

__all__ = ["ContextBudget", "Fitted"]

_LEAST_RESERVE = 512
_MOST_RESERVE = 4096


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The messages to send. `dropped` counts those left out; `over`: more than the allowance all the same."""

    messages: list[Message]
    dropped: int
    estimated_tokens: int
    allowance: int

    @property
    def over(self) -> bool:
        """True when what may never be left out is too large by itself."""
        return self.estimated_tokens > self.allowance


@dataclass(frozen=True)
class ContextBudget:
    """The window of the model as it is served, in tokens, and how much of it is kept for the reply.

    `max_tokens` is the server's figure (llama.cpp's `--ctx-size`), not that of the model's card. `reserve` None =
    an eighth, 512 to 4096 and at most half; it is sent as the reply's cap. Raises `InvalidInput` when no room is
    left for a prompt. `estimate` is used for every count: give the model's own tokenizer to fill the window closer.
    """

    max_tokens: int
    _: KW_ONLY
    reserve: int | None = None
    estimate: Estimator = estimate_tokens

    def __post_init__(self) -> None:
        if self.max_tokens < 2:
            raise InvalidInput(f"max_tokens is the model's window in tokens, not {self.max_tokens}; without one, None")
        if self.reserve is not None and not 0 < self.reserve < self.max_tokens:
            raise InvalidInput(
                f"reserve must be above 0 and below max_tokens ({self.max_tokens}), not {self.reserve}: "
                "it is the part of the window kept for the reply"
            )

    @property
    def reserved(self) -> int:
        """Tokens kept for the reply."""
        if self.reserve is not None:
            return self.reserve
        return min(max(self.max_tokens // 8, _LEAST_RESERVE), _MOST_RESERVE, self.max_tokens // 2)

    @property
    def allowance(self) -> int:
        """Tokens that a prompt may have."""
        return self.max_tokens - self.reserved

    def fit(self, draft: Draft) -> Fitted:
        """The whole draft when it fits, else what is pinned in it, its worked pair, the summary and as many of the
        newest blocks as there is room for, in this order. Pinned blocks stay even when they are too large."""
        whole = sum(self._costs(draft)) + self._fixed(draft) + self.size(draft.examples) + self._note(draft)
        whole += self._opening(draft)
        if whole <= self.allowance:
            return self._fitted(draft.messages(), whole, 0)
        return self._trimmed(draft)

    def size(self, messages: Sequence[Message]) -> int:
        """What these messages count, their framing included."""
        return sum(message_tokens(message, self.estimate) for message in messages)

    def _fitted(self, messages: list[Message], estimated: int, dropped: int) -> Fitted:
        return Fitted(messages=messages, dropped=dropped, estimated_tokens=estimated, allowance=self.allowance)

    def _trimmed(self, draft: Draft) -> Fitted:
        costs = self._costs(draft)
        kept = {at for at, block in enumerate(draft.blocks) if block.pinned or not block.messages}
        line = messages_left_out(sum(len(block.messages) for block in draft.blocks))
        marker = self.size([line]) if len(kept) < len(draft.blocks) else 0
        used = self._fixed(draft) + self._note(draft) + sum(costs[at] for at in kept)
        examples = self.size(draft.examples)
        everything = frozenset(range(len(draft.blocks)))
        with_examples = used + examples + marker + self._opening(draft, everything - kept) <= self.allowance
        used += examples if with_examples else 0
        for at in _by_worth(draft, kept):
            opening = self._opening(draft, everything - kept - {at})
            if used + costs[at] + marker + opening > self.allowance:
                if draft.blocks[at].kind == "summary":
                    continue
                break
            kept.add(at)
            used += costs[at]
        gone = everything - kept
        used += self._opening(draft, gone)
        dropped = sum(len(draft.blocks[at].messages) for at in gone) + (0 if with_examples else len(draft.examples))
        return self._fitted(
            draft.messages(without=gone, examples=with_examples), used + (marker if gone else 0), dropped
        )

    def _costs(self, draft: Draft) -> list[int]:
        return [self.size(block.messages) for block in draft.blocks]

    def _fixed(self, draft: Draft) -> int:
        tail = [Message("user", draft.tail)] if draft.tail else []
        return self.size([Message("system", draft.system), *tail])

    def _opening(self, draft: Draft, without: Container[int] = ()) -> int:
        return self.size([earlier_left_out()]) if draft.begins_with_reply(without) else 0

    def _note(self, draft: Draft) -> int:
        hiding = sum(block.hides for block in draft.blocks)
        return self.size([scripts_left_out(hiding)]) if hiding else 0


def _by_worth(draft: Draft, kept: set[int]) -> list[int]:
    """What may be left out: the summary, which stands for the most, then from the newest to the oldest."""
    newest_first = [at for at in reversed(range(len(draft.blocks))) if at not in kept]
    return sorted(newest_first, key=lambda at: draft.blocks[at].kind != "summary")
