"""One call of the run's model, its answer text handed on as it arrives."""

from __future__ import annotations

from collections.abc import Sequence

from agentloop.context.reply import StreamFilter
from agentloop.llm.base import Message, ModelReply, ModelRequest
from agentloop.run.context import RunContext

__all__ = ["ask"]


async def ask(
    context: RunContext, messages: Sequence[Message], *, model: str, max_tokens: int | None, streams: bool
) -> ModelReply:
    """The reply. With `streams` its answer text is delivered live, code never; `model` "" is the client's own."""
    request = ModelRequest(messages=messages, model=context.session.model or model, max_tokens=max_tokens)
    if not streams:
        return await context.llm.complete(request)
    stream = StreamFilter()

    def on_chunk(chunk: str) -> None:
        for text in stream.feed(chunk):
            context.journal.live("response_chunk", text)

    reply = await context.llm.complete(request, on_chunk=on_chunk)
    for text in stream.finish(reply.finish_reason):
        context.journal.live("response_chunk", text)
    return reply
