"""A model that says what it was told to say: for tests, demos and offline runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from agentloop.errors import InvalidInput, RepliesUsedUp
from agentloop.llm.base import MOST_TOKENS, FinishReason, ModelReply, ModelRequest, OnChunk
from agentloop.records import Usage

__all__ = ["Scripted", "ScriptedReply", "rough_tokens"]

ScriptedReply: TypeAlias = str | ModelReply | Mapping[str, Any] | Callable[[ModelRequest], str | ModelReply]
"""Text; a whole reply; `{content, finish_reason?, usage?}`; or a function of the request."""

_PIECE = 24
_SHAPE = 'each line is a JSON string or {"content": "…"}'
_FIELDS = {"content", "finish_reason", "usage"}


def rough_tokens(text: str) -> int:
    """About how many tokens `text` is: a quarter of its UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


class Scripted:
    """Gives the replies in order, one per call, and keeps every request in `requests`.

    A reply without usage gets a rough count. Raises `InvalidInput` for a reply of another shape
    and, when the replies are used up, `RepliesUsedUp`.
    """

    def __init__(self, replies: Iterable[ScriptedReply]) -> None:
        self._replies = [_checked(reply) for reply in replies]
        self.requests: list[ModelRequest] = []

    @classmethod
    def from_file(cls, path: str | Path) -> Scripted:
        """Reads JSON lines: a string or `{content, finish_reason?, usage?}` each; blank lines are skipped.

        Raises `InvalidInput` naming file and line, and for a file without a reply.
        """
        replies = [_from_line(path, number, line) for number, line in enumerate(_lines(path), 1) if line.strip()]
        if not replies:
            raise InvalidInput(f"{path} holds no replies: {_SHAPE}")
        return cls(replies)

    @property
    def name(self) -> str:
        """Always "scripted"."""
        return "scripted"

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
        """The next reply; with `on_chunk` its text also arrives in pieces."""
        position = len(self.requests)
        self.requests.append(request)
        if position >= len(self._replies):
            there = "1 reply" if len(self._replies) == 1 else f"{len(self._replies)} replies"
            raise RepliesUsedUp(f"the script has {there}, and call {position + 1} wants another")
        reply = _resolve(self._replies[position], request)
        if on_chunk is not None:
            await _in_pieces(reply.content, on_chunk)
        return reply


async def _in_pieces(content: str, on_chunk: OnChunk) -> None:
    for start in range(0, len(content), _PIECE):
        on_chunk(content[start : start + _PIECE])
        await asyncio.sleep(0)


def _resolve(reply: ModelReply | Callable[[ModelRequest], str | ModelReply], request: ModelRequest) -> ModelReply:
    given = reply if isinstance(reply, ModelReply) else reply(request)
    whole = ModelReply(content=given) if isinstance(given, str) else given
    usage = whole.usage if whole.usage != Usage() else _rough_usage(request, whole.content)
    return replace(whole, usage=usage, model=whole.model or request.model)


def _rough_usage(request: ModelRequest, content: str) -> Usage:
    prompt = sum(rough_tokens(message.text) for message in request.messages)
    return Usage(prompt=prompt, completion=rough_tokens(content))


def _checked(reply: ScriptedReply) -> ModelReply | Callable[[ModelRequest], str | ModelReply]:
    if isinstance(reply, ModelReply):
        return reply
    if isinstance(reply, str):
        return ModelReply(content=reply)
    if isinstance(reply, Mapping):
        return _from_mapping(reply)
    if callable(reply):
        return reply
    raise InvalidInput(f"a scripted reply is text or an object with `content`, not {type(reply).__name__}")


def _from_mapping(data: Mapping[str, Any]) -> ModelReply:
    unknown = sorted(set(data) - _FIELDS)
    if unknown:
        raise InvalidInput(f"unknown field {unknown[0]!r}; a reply has content, finish_reason and usage")
    if not isinstance(data.get("content"), str):
        raise InvalidInput("`content` must be text")
    reason: FinishReason = "stop" if data.get("finish_reason") is None else data["finish_reason"]
    if reason not in get_args(FinishReason):
        raise InvalidInput(f"finish_reason {reason!r} is none of {', '.join(get_args(FinishReason))}")
    return ModelReply(content=data["content"], finish_reason=reason, usage=_usage(data.get("usage")))


def _usage(data: Any) -> Usage:
    """Reads `{prompt, completion}` and the wire's `{prompt_tokens, completion_tokens}`."""
    if data is None:
        return Usage()
    if not isinstance(data, Mapping):
        raise InvalidInput("`usage` must be an object with prompt and completion")
    return Usage(prompt=_count(data, "prompt"), completion=_count(data, "completion"))


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name, data.get(f"{name}_tokens", 0))
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        raise InvalidInput(f"`usage.{name}` must be a whole number from 0 to {MOST_TOKENS}")
    return value


def _lines(path: str | Path) -> Sequence[str]:
    try:
        return Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the replies in {path}: {error}") from error


def _from_line(path: str | Path, number: int, line: str) -> ScriptedReply:
    try:
        data = json.loads(line)
        if not isinstance(data, str | dict):
            raise InvalidInput(_SHAPE)
        return data if isinstance(data, str) else _from_mapping(data)
    except RecursionError:
        raise InvalidInput(f"{path}, line {number}: this nests too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"{path}, line {number}: {error}; {_SHAPE}") from error
    except InvalidInput as error:
        raise InvalidInput(f"{path}, line {number}: {error}") from error
