"""A client that reports what each call used and asks before each call whether it may be made."""

from __future__ import annotations

from collections.abc import Callable

from agentloop.llm.base import LLM, ModelReply, ModelRequest, OnChunk
from agentloop.records import Usage

__all__ = ["Metered"]


class Metered:
    """Wraps `llm`. It does not own it: closing stays with whoever opened the inner client.

    `before` runs ahead of each call and may raise (an `EndRun` for a spent budget); `on_usage`
    gets the usage of each call that came back. A call that failed reports nothing, since a failed
    endpoint says nothing of what it used.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        on_usage: Callable[[Usage], None],
        before: Callable[[], None] | None = None,
    ) -> None:
        self._llm = llm
        self._on_usage = on_usage
        self._before = before

    @property
    def name(self) -> str:
        """The inner client's name."""
        return self._llm.name

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
        """One call of the inner client, measured."""
        if self._before is not None:
            self._before()
        reply = await self._llm.complete(request, on_chunk=on_chunk)
        self._on_usage(reply.usage)
        return reply
