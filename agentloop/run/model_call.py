"""One call of the run's model, its answer text handed on as it arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentloop.context.reply import StreamFilter
from agentloop.guard.redact import Redactor
from agentloop.llm.base import LLM, Image, Message, ModelReply, ModelRequest, OnChunk, Text
from agentloop.run.context import RunContext

__all__ = ["RedactedLLM", "ask"]


class RedactedLLM:
    """The run's model for its packs: what they ask it is redacted like the run's own messages."""

    def __init__(self, llm: LLM, redactor: Redactor) -> None:
        self._llm = llm
        self._redactor = redactor

    @property
    def name(self) -> str:
        """The inner client's name."""
        return self._llm.name

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
        """See `LLM.complete`."""
        shown = replace(request, messages=_redacted(request.messages, self._redactor))
        return await self._llm.complete(shown, on_chunk=on_chunk)


async def ask(
    context: RunContext, messages: Sequence[Message], *, model: str, max_tokens: int | None, streams: bool
) -> ModelReply:
    """The reply. With `streams` its answer text is delivered live, code never; `model` "" is the client's own.

    The model reads what is kept: its messages are redacted like the steps and events.
    """
    shown = _redacted(messages, context.journal.redactor)
    request = ModelRequest(messages=shown, model=context.session.model or model, max_tokens=max_tokens)
    with context.trace.model_call(request, provider=context.llm.name) as call:
        reply = await (_streamed(context, request) if streams else context.llm.complete(request))
        call.replied(reply)
    return reply


async def _streamed(context: RunContext, request: ModelRequest) -> ModelReply:
    stream, redacted = StreamFilter(), context.journal.redactor.stream()

    def show(text: str) -> None:
        if text:
            context.journal.live("response_chunk", text)

    def on_chunk(chunk: str) -> None:
        for text in stream.feed(chunk):
            show(redacted.feed(text))

    reply = await context.llm.complete(request, on_chunk=on_chunk)
    for text in stream.finish(reply.finish_reason):
        show(redacted.feed(text))
    show(redacted.finish())
    return reply


def _redacted(messages: Sequence[Message], redactor: Redactor) -> Sequence[Message]:
    if not redactor:
        return messages
    return [replace(message, content=_content(message.content, redactor)) for message in messages]


def _content(content: str | tuple[Text | Image, ...], redactor: Redactor) -> str | tuple[Text | Image, ...]:
    if isinstance(content, str):
        return redactor.text(content)
    return tuple(Text(redactor.text(part.text)) if isinstance(part, Text) else part for part in content)
