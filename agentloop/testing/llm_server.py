"""A small real chat-completions server that replays replies and injects faults.

`python -m agentloop.testing.llm_server --replies FILE [--port P] [--faults JSON]` prints its base URL and
serves until SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from agentloop.testing.extras import needs

try:
    from aiohttp import web
except ModuleNotFoundError as error:
    raise needs("testing", error) from None

from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.llm.scripted import rough_tokens
from agentloop.testing.llm_faults import Fault, FaultKind, cut_off, refusal

__all__ = ["LlmServer", "Received", "ServedReply", "llm_server", "main"]

ServedReply: TypeAlias = str | Mapping[str, Any] | Callable[[Mapping[str, Any]], str | Mapping[str, Any]]
"""Text, an object, or a function of the request's body that gives one of the two.

The object is `{content?, finish_reason?, usage?, fault?, after?, delay_s?, retry_after?, message?}`; `fault` is one of
`FaultKind`, and one that refuses the call needs no content.
"""

_PIECE = 24
_FIELDS = {"content", "finish_reason", "usage", "fault", "after", "delay_s", "retry_after", "message"}


@dataclass(frozen=True, kw_only=True)
class Received:
    """One call as it came in. `prompt_bytes`: UTF-8 bytes of the messages' text, pictures not counted."""

    body: Mapping[str, Any]
    prompt_bytes: int
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Reply:
    content: str = ""
    finish_reason: str = "stop"
    usage: Mapping[str, int] | None = None
    fault: Fault | None = None


class LlmServer:
    """The server's state: what it will say, and what it was asked. Made by `llm_server`.

    `faults` maps the number of a call, from 0, to a fault. There, one that refuses the call leaves
    the reply for the next call, so that a client that tries again gets it.
    """

    def __init__(
        self,
        replies: Iterable[ServedReply],
        *,
        faults: Mapping[int, Fault | FaultKind | Mapping[str, Any]] | None = None,
        api_key: str | None = None,
    ) -> None:
        self._replies = [reply if callable(reply) else _checked(reply) for reply in replies]
        self._faults = {index: _fault(fault) for index, fault in (faults or {}).items()}
        self._api_key = api_key
        self._next = 0
        self.base_url = ""
        self.requests: list[Received] = []

    def application(self) -> web.Application:
        """The routes: POST /v1/chat/completions, GET /v1/models."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._completions)
        app.router.add_get("/v1/models", self._models)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "test"}]}
        )

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        if body is None:
            return refusal(Fault(kind="bad_request"))
        number = len(self.requests)
        self.requests.append(Received(body=body, prompt_bytes=_prompt_bytes(body), headers=dict(request.headers)))
        fault = self._faults.get(number)
        if self._api_key and request.headers.get("Authorization") != f"Bearer {self._api_key}":
            return refusal(Fault(kind="auth"))
        if fault is not None and fault.refuses:
            return await _refuse(request, fault)
        reply = self._take(body)
        if reply is None:
            return refusal(Fault(kind="bad_request", message=f"all {len(self._replies)} replies have been given"))
        if fault is not None:
            reply = replace(reply, fault=fault)
        if reply.fault is not None and reply.fault.refuses:
            return await _refuse(request, reply.fault)
        return await _answer(request, self.requests[-1], reply)

    def _take(self, body: Mapping[str, Any]) -> _Reply | None:
        if self._next >= len(self._replies):
            return None
        reply = self._replies[self._next]
        self._next += 1
        return reply if isinstance(reply, _Reply) else _checked(reply(body))


@asynccontextmanager
async def llm_server(
    replies: Iterable[ServedReply],
    *,
    faults: Mapping[int, Fault | FaultKind | Mapping[str, Any]] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    api_key: str | None = None,
) -> AsyncIterator[LlmServer]:
    """Serves until the block ends; `base_url` ends in /v1, port 0 takes a free one.

    Raises `InvalidInput` for replies or faults of another shape.
    """
    server = LlmServer(replies, faults=faults, api_key=api_key)
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        server.base_url = f"http://{host}:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        await runner.cleanup()


async def _body(request: web.Request) -> dict[str, Any] | None:
    try:
        body = await request.json()
    except ValueError:
        return None
    usable = isinstance(body, dict) and isinstance(body.get("messages"), list) and body["messages"]
    return body if usable else None


async def _refuse(request: web.Request, fault: Fault) -> web.Response:
    if fault.kind == "drop":
        cut_off(request)
    await asyncio.sleep(fault.pause_s)
    return refusal(fault)


async def _answer(request: web.Request, received: Received, reply: _Reply) -> web.StreamResponse:
    usage = reply.usage or {
        "prompt_tokens": -(-received.prompt_bytes // 4),
        "completion_tokens": rough_tokens(reply.content),
    }
    model = str(received.body.get("model", "scripted"))
    kind = reply.fault.kind if reply.fault else None
    reason = "length" if kind == "truncated" else reply.finish_reason
    if received.body.get("stream") is not True or kind == "plain":
        choice = {"index": 0, "message": {"role": "assistant", "content": reply.content}, "finish_reason": reason}
        return web.json_response(
            {"id": "scripted", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
        )
    return await _Stream(request, model=model, fault=reply.fault or Fault(kind="none")).send(
        reply.content, reason, usage
    )


class _Stream:
    """One reply as server-sent events, the way llama-server frames them."""

    def __init__(self, request: web.Request, *, model: str, fault: Fault) -> None:
        self._request = request
        self._response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        self._model = model
        self._fault = fault

    async def send(self, content: str, reason: str, usage: Mapping[str, int]) -> web.StreamResponse:
        await self._response.prepare(self._request)
        await self._choice({"role": "assistant", "content": None})
        pieces = [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]
        for number, piece in enumerate(pieces):
            if number == self._fault.after and await self._break():
                return self._response
            if number >= self._fault.after and self._fault.kind != "linger":
                await asyncio.sleep(self._fault.pause_s)
            await self._choice({"content": piece})
        if len(pieces) <= self._fault.after and await self._break():
            return self._response
        await self._choice({}, reason)
        await self._frame({"choices": [], "usage": usage})
        await self._write("data: [DONE]\n\n")
        if self._fault.kind == "linger":
            await asyncio.sleep(self._fault.pause_s)
        return self._response

    async def _break(self) -> bool:
        """The fault that strikes within the stream; True when nothing may follow."""
        match self._fault.kind:
            case "cut":
                cut_off(self._request)
            case "ended":
                pass
            case "error_frame":
                await self._frame({"error": {"code": 500, "message": "the model crashed", "type": "server_error"}})
            case "malformed":
                await self._write('data: {"choices": [{"delta": {"content": \n\n: comment\nid\n\ndata: keep-alive\n\n')
                return False
            case _:
                return False
        return True

    async def _choice(self, delta: Mapping[str, Any], reason: str | None = None) -> None:
        await self._frame({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    async def _frame(self, data: Mapping[str, Any]) -> None:
        frame = {"id": "scripted", "object": "chat.completion.chunk", "model": self._model, **data}
        await self._write(f"data: {json.dumps(frame)}\n\n")

    async def _write(self, text: str) -> None:
        await self._response.write(text.encode())


def _prompt_bytes(body: Mapping[str, Any]) -> int:
    return sum(len(text.encode()) for message in body["messages"] for text in _texts(message))


def _texts(message: Any) -> Sequence[str]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _checked(reply: Any) -> _Reply:
    if isinstance(reply, str):
        return _Reply(content=reply)
    if not isinstance(reply, Mapping) or set(reply) - _FIELDS:
        raise InvalidInput(f"a reply is text or an object of {', '.join(sorted(_FIELDS))}; got {reply!r:.200}")
    content, fault = reply.get("content", ""), reply.get("fault")
    if not isinstance(content, str):
        raise InvalidInput(f"`content` of a reply must be text, not {content!r:.200}")
    shape = {name: reply[name] for name in ("after", "delay_s", "retry_after", "message") if name in reply}
    return _Reply(
        content=content,
        finish_reason=reply.get("finish_reason") or "stop",
        usage=_usage(reply.get("usage")),
        fault=_fault({"fault": fault, **shape}) if fault else None,
    )


def _usage(usage: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if usage is None:
        return None
    return {f"{name}_tokens": usage.get(name, usage.get(f"{name}_tokens", 0)) for name in ("prompt", "completion")}


def _fault(given: Fault | FaultKind | Mapping[str, Any]) -> Fault:
    if isinstance(given, Fault):
        return given
    fields: dict[str, Any] = {"fault": given} if isinstance(given, str) else dict(given)
    kind: Any = fields.pop("fault", None)
    if kind not in get_args(FaultKind):
        raise InvalidInput(f"fault {kind!r} is none of {', '.join(get_args(FaultKind))}")
    try:
        return Fault(kind=kind, **fields)
    except TypeError as error:
        raise InvalidInput(f"a fault has fault, after, delay_s, retry_after, message; got {given!r:.200}") from error


def _read_replies(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read the replies in {path}: {error}") from error


def _read_faults(text: str) -> dict[int, Any]:
    try:
        return {int(index): fault for index, fault in json.loads(text).items()}
    except (ValueError, AttributeError) as error:
        raise InvalidInput('--faults wants a JSON object of call numbers from 0, like {"1": "server_error"}') from error


async def _serve(options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    replies, faults = _read_replies(options.replies), _read_faults(options.faults)
    async with llm_server(replies, faults=faults, host=options.host, port=options.port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agentloop.testing.llm_server", description=__doc__)
    parser.add_argument("--replies", type=Path, required=True, help="JSON lines: a string or an object each")
    parser.add_argument("--faults", default="{}", help='by call number, like {"0": "rate_limit"}')
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    try:
        asyncio.run(_serve(parser.parse_args(arguments)))
    except (AgentLoopError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
