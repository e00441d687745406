"""The chat-completions wire: what is sent, what comes back, and what an error means."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Mapping
from typing import Any

from agentloop.errors import ContextOverflow, ModelAuthError, ModelError
from agentloop.llm.base import MOST_TOKENS, FinishReason, Image, Message, ModelReply, ModelRequest, Text
from agentloop.llm.sse import DONE
from agentloop.records import Usage

__all__ = ["ReplyReader", "endpoint_error", "request_body"]

_LOG = logging.getLogger(__name__)

_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "content_filter"}
_MOST_CHARS = 1 << 24
_OVERFLOW_CODES = ("context_length_exceeded", "exceed_context_size_error")
_OVERFLOW_WORDS = ("context length", "context size", "context window")


def request_body(request: ModelRequest, *, model: str, reasoning_effort: str | None = None) -> dict[str, Any]:
    """The JSON body of a call; what is not set is left out."""
    body: dict[str, Any] = {"model": _sound(model), "messages": [_message(message) for message in request.messages]}
    optional = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "reasoning_effort": reasoning_effort or None,
    }
    return body | {name: value for name, value in optional.items() if value is not None}


class ReplyReader:
    """Puts a reply together from the frames of a stream, or from one whole body.

    `closed` is True after the closing frame, `finish_reason` None until the server gave one. Raises
    `ModelError` or a subclass for an error inside.
    """

    def __init__(self) -> None:
        self.closed = False
        self.finish_reason: FinishReason | None = None
        self._pieces: list[str] = []
        self._size = 0
        self._usage = Usage()

    def frame(self, payload: str) -> str:
        """Takes one frame; returns the text it adds. A frame that is no JSON object is skipped, with a warning."""
        if payload == DONE:
            self.closed = True
            return ""
        data = _json(payload)
        if not isinstance(data, dict):
            _LOG.warning("skipped an unreadable frame of %d characters in the model's stream", len(payload))
            return ""
        return self._take(data, part="delta")

    def body(self, text: str) -> str:
        """Takes an ordinary completion; returns its text."""
        data = _json(text)
        if not isinstance(data, dict):
            raise ModelError(f"the model's server sent something that is no completion: {text.strip()[:200]!r}")
        self.closed = True
        return self._take(data, part="message")

    def reply(self, model: str) -> ModelReply:
        """What was read so far, as a whole reply."""
        return ModelReply(
            content="".join(self._pieces),
            finish_reason=self.finish_reason or "stop",
            usage=self._usage,
            model=model,
        )

    def _take(self, data: dict[str, Any], *, part: str) -> str:
        if data.get("error"):
            raise endpoint_error(None, json.dumps(data))
        self._read_usage(data.get("usage"))
        choice = _first(data.get("choices"))
        if choice.get("error") or choice.get("finish_reason") == "error":
            raise endpoint_error(None, json.dumps({"error": choice.get("error") or "the model failed"}))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = _REASONS.get(reason, "other")
        delta = choice.get(part)
        text = delta.get("content") if isinstance(delta, dict) else None
        if not isinstance(text, str) or not text:
            return ""
        self._pieces.append(text)
        self._size += len(text)
        if self._size > _MOST_CHARS:
            raise ModelError(f"the model's reply is longer than {_MOST_CHARS:,} characters")
        return text

    def _read_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage = Usage(prompt=_count(usage, "prompt_tokens"), completion=_count(usage, "completion_tokens"))


def endpoint_error(status: int | None, text: str) -> ModelError:
    """The error that a body or an error frame stands for; a numeric code in it stands in for a missing status."""
    details = _details(text)
    message, codes = str(details.get("message") or text.strip() or "no explanation"), _codes(details)
    number = (
        status
        if status is not None
        else next((int(code) for code in codes if re.fullmatch(r"[1-5]\d\d", code, re.ASCII)), None)
    )
    said = f"the model's server answered {number}: {message}" if number else f"the model's server failed: {message}"
    if number in (401, 403):
        return ModelAuthError(f"{said} (check the API key)", status=number)
    if _is_overflow(number, codes, message):
        return ContextOverflow(said, status=number)
    return ModelError(said, status=number)


def _is_overflow(status: int | None, codes: list[str], message: str) -> bool:
    if any(code in _OVERFLOW_CODES for code in codes):
        return True
    return status in (400, 413, 422) and any(words in message.lower() for words in _OVERFLOW_WORDS)


def _details(text: str) -> dict[str, Any]:
    data = _json(text)
    error = data.get("error", data) if isinstance(data, dict) else {}
    return error if isinstance(error, dict) else {"message": error}


def _codes(details: dict[str, Any]) -> list[str]:
    return [str(details[name]) for name in ("code", "type") if details.get(name) is not None]


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": message.role, "content": _sound(message.content)}
    return {"role": message.role, "content": [_part(part) for part in message.content]}


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": _sound(part.text)}
    data = base64.b64encode(part.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.mime};base64,{data}"}}


def _sound(text: str) -> str:
    """Text of a page may hold half a surrogate pair, which no server can decode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _first(choices: Any) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and 0 < value <= MOST_TOKENS else 0
