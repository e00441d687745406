"""One call to a model: messages in, a reply out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from agentloop.records import Usage

__all__ = [
    "LLM",
    "MOST_TOKENS",
    "FinishReason",
    "Image",
    "Message",
    "ModelReply",
    "ModelRequest",
    "OnChunk",
    "Role",
    "Served",
    "Text",
]

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "content_filter", "other"]

MOST_TOKENS = 1 << 40
"""No call has spent more: a larger count is no count, and a sum of such counts fits every store."""

OnChunk: TypeAlias = Callable[[str], None]
"""Called with each piece of text as it arrives; must not block."""


@dataclass(frozen=True)
class Text:
    """A text part of a message."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture part of a message; `mime` is image/png or image/jpeg."""

    data: bytes
    mime: str = "image/png"


@dataclass(frozen=True)
class Message:
    """One message. `content` is plain text or parts."""

    role: Role
    content: str | tuple[Text | Image, ...]

    @property
    def text(self) -> str:
        """The text of the message without its pictures."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """What is asked. `model` "" = the client's default; `max_tokens` None = the server's own cap."""

    messages: Sequence[Message]
    model: str = ""
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """What came back. `finish_reason` "length" means that the text was cut."""

    content: str
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    model: str = ""


class LLM(Protocol):
    """A model client.

    `complete` returns the whole reply; with `on_chunk` it also hands over text as it arrives.
    It raises `ModelError` (or a subclass) when the endpoint fails, retries inside where that is
    safe, and honours cancellation at every await. `name` is for logs.
    """

    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply: ...


@runtime_checkable
class Served(Protocol):
    """A client that asks a server. `address` is the server's URL without user and password."""

    @property
    def address(self) -> str: ...
