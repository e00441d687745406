"""Any server that speaks the chat-completions wire: OpenAI, OpenRouter, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from agentloop.errors import Closed, ContextOverflow, InvalidInput, ModelAuthError, ModelError
from agentloop.llm.base import ModelReply, ModelRequest, OnChunk
from agentloop.llm.retry import RetryPolicy, retry_after_s, retryable
from agentloop.llm.sse import EventDecoder
from agentloop.llm.wire import ReplyReader, endpoint_error, request_body

__all__ = ["DEFAULT_BASE_URL", "DEFAULT_MODEL", "OpenAI"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-4o-mini"

_ERROR_READ = 8192
_ERROR_SHOWN = 2048
_TAIL_S = 1.0
_NO_MODEL = (
    "no model is configured. Three ways on: set OPENAI_API_KEY; or run a local server and give its address in "
    "OPENAI_BASE_URL, `base_url` or --llm-base-url; or see `make demo`, which needs neither."
)
_NOTHING_HERE = (404, 405, 501)
"""What a server answers whose API is elsewhere, or which has none."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class OpenAI:
    """A model behind a chat-completions endpoint.

    Every call streams. A server that refuses to stream (any 4xx but 429) is asked once more without, and
    one that answers with an ordinary body is read as it is. Transport errors, 429 and 5xx but 501 are
    retried until the reply has begun, never after, so no text is delivered twice. A stream that
    ends without a closing frame or a finish reason is a `ModelError`, not an answer.

    `timeout` is the longest silence in seconds, before the reply and within it; `connect_timeout` bounds
    the connecting alone. `sleep`, `jitter` (0 to 1) and `now` (epoch seconds) serve the retries. The key
    shows in no error, log or repr. One object may serve many runs; close it with `aclose` or `async with`.
    """

    def __init__(
        self,
        *,
        base_url: str = DEFAULT_BASE_URL,
        api_key: str | None = None,
        model: str = DEFAULT_MODEL,
        max_retries: int = 3,
        retry_base_s: float = 0.5,
        reasoning_effort: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 300.0,
        connect_timeout: float = 10.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.base_url = _checked_url(base_url)
        self.model = model
        self._key = _checked_key(api_key)
        self._headers = dict(headers or {})
        self._effort = reasoning_effort
        self._policy = RetryPolicy(max_retries=max_retries, base_s=retry_base_s)
        self._timeout = httpx.Timeout(timeout, connect=connect_timeout)
        self._sleep, self._jitter, self._now = sleep, jitter, now
        self._client: httpx.AsyncClient | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, base_url: str | None = None, model: str | None = None
    ) -> Self:
        """A client from the environment; the two arguments win over it.

        Reads OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_CHAT_MODEL, OPENAI_MAX_RETRIES (0 or less: none) and
        OPENAI_REASONING_EFFORT. Only OpenAI's own endpoint needs a key; raises `InvalidInput` without it.
        """
        env = os.environ if environ is None else environ
        url = base_url or env.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        key = env.get("OPENAI_API_KEY", "").strip()
        if not key and urlsplit(_checked_url(url)).hostname == urlsplit(DEFAULT_BASE_URL).hostname:
            raise InvalidInput(_NO_MODEL)
        return cls(
            base_url=url,
            api_key=key or None,
            model=model or env.get("OPENAI_CHAT_MODEL") or DEFAULT_MODEL,
            max_retries=_whole(env.get("OPENAI_MAX_RETRIES"), default=3),
            reasoning_effort=env.get("OPENAI_REASONING_EFFORT") or None,
        )

    def __repr__(self) -> str:
        return f"OpenAI(base_url={self.address!r}, model={self.model!r})"

    @property
    def key_length(self) -> int:
        """How many characters the key has, 0 without one: all that may be shown of it."""
        return len(self._key or "")

    @property
    def address(self) -> str:
        """The base URL without user and password."""
        return _without_user(self.base_url)

    @property
    def name(self) -> str:
        """Always "openai": the wire, not the company."""
        return "openai"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. May be called twice; calls after it raise `Closed`."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None and self._home is asyncio.get_running_loop():
            await client.aclose()

    async def complete(self, request: ModelRequest, *, on_chunk: OnChunk | None = None) -> ModelReply:
        """One call. `model` of the reply is the one that was asked for."""
        if not request.messages:
            raise InvalidInput("a model call needs at least one message")
        model = request.model or self.model
        body = request_body(request, model=model, reasoning_effort=self._effort)
        response = await self._open(body)
        try:
            return (await self._read(response, on_chunk)).reply(model)
        finally:
            await response.aclose()

    async def _open(self, body: dict[str, Any]) -> httpx.Response:
        try:
            return await self._send({**body, "stream": True, "stream_options": {"include_usage": True}})
        except (ModelAuthError, ContextOverflow):
            raise
        except ModelError as error:
            if error.status is None or not 400 <= error.status < 500 or error.status == 429:
                raise
        return await self._send(body)

    async def _send(self, body: dict[str, Any]) -> httpx.Response:
        attempt = 0
        while isinstance(outcome := await self._attempt(body), _Failure):
            if not outcome.again or attempt >= self._policy.max_retries:
                raise outcome.error
            await self._sleep(self._policy.delay_s(attempt, jitter=self._jitter(), retry_after=outcome.retry_after_s))
            attempt += 1
        return outcome

    async def _attempt(self, body: dict[str, Any]) -> httpx.Response | _Failure:
        client = self._connected()
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            response = await client.send(client.build_request("POST", self._url, content=content), stream=True)
        except httpx.TransportError as error:
            # A server silent for the whole time-out may be at work on the call: asking again would double it.
            again = not isinstance(error, httpx.ReadTimeout)
            return _Failure(error=ModelError(self._transport(error)), again=again)
        if response.is_success:
            return response
        return _Failure(
            error=await self._refusal(response),
            again=retryable(response.status_code),
            retry_after_s=retry_after_s(response.headers.get("retry-after"), now=self._now()),
        )

    async def _refusal(self, response: httpx.Response) -> ModelError:
        text = b""
        try:
            async for data in response.aiter_bytes():
                text += data
                if len(text) >= _ERROR_READ:
                    break
        except httpx.HTTPError:
            pass  # the status says enough
        finally:
            await response.aclose()
        error = endpoint_error(response.status_code, self._shown(text[:_ERROR_READ].decode("utf-8", "replace")))
        if response.status_code not in _NOTHING_HERE:
            return error
        return type(error)(self._shown(f"{error} (asked {self._asked}){self._hint()}"), status=error.status)

    async def _read(self, response: httpx.Response, on_chunk: OnChunk | None) -> ReplyReader:
        decoder, reader = EventDecoder(), ReplyReader()
        deliver = on_chunk or _ignore
        try:
            await self._read_frames(response, decoder, reader, deliver)
            if not decoder.framed:
                _hand_over(reader.body(decoder.plain), deliver)
        except ModelError as error:
            raise type(error)(self._shown(str(error)), status=error.status) from None
        if not reader.closed and reader.finish_reason is None:
            raise ModelError("the model's reply was cut: the stream ended without a finish reason")
        return reader

    async def _read_frames(
        self, response: httpx.Response, decoder: EventDecoder, reader: ReplyReader, deliver: OnChunk
    ) -> None:
        try:
            async with asyncio.timeout(None) as patience:
                async for data in response.aiter_bytes():
                    for payload in decoder.feed(data):
                        _hand_over(reader.frame(payload), deliver)
                    if reader.closed and patience.when() is None:
                        # Read to the end, so that the connection can be used again, but do not wait for it.
                        patience.reschedule(asyncio.get_running_loop().time() + _TAIL_S)
        except (httpx.HTTPError, TimeoutError) as error:
            if not reader.closed:
                raise ModelError(f"the model's reply was cut: {self._transport(error)}") from error
        for payload in decoder.finish():
            _hand_over(reader.frame(payload), deliver)

    def _connected(self) -> httpx.AsyncClient:
        """The HTTP client of the running event loop: connections of a loop that is gone are of no use."""
        if self._closed:
            raise Closed("this model client was closed")
        home = asyncio.get_running_loop()
        if self._client is None or self._home is not home:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            local = urlsplit(self.base_url).hostname in _LOOPBACK
            self._client = httpx.AsyncClient(
                headers=headers | self._headers, timeout=self._timeout, trust_env=not local
            )
            self._home = home
        return self._client

    @property
    def _url(self) -> str:
        return f"{self.base_url}/chat/completions"

    @property
    def _asked(self) -> str:
        return _without_user(self._url)

    def _hint(self) -> str:
        versioned = "v1" in urlsplit(self.base_url).path.split("/")
        return "" if versioned else f"; most servers want /v1 at the base URL's end: {self.address}/v1"

    def _transport(self, error: Exception) -> str:
        if isinstance(error, httpx.ReadTimeout):
            return f"{self.address} was silent for {self._timeout.read:g} s"
        said = f"{self._asked}: {str(error) or type(error).__name__}"
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            said += "; is the server running, and is this its address?"
        return self._shown(said)

    def _shown(self, text: str) -> str:
        """`text` without the key and other header values, cut to what is worth reading."""
        for secret in (self._key, *self._headers.values()):
            if secret and len(secret) >= 4:
                text = text.replace(secret, "[hidden]")
        return text if len(text) <= _ERROR_SHOWN else text[:_ERROR_SHOWN] + "…"


@dataclass(frozen=True, kw_only=True)
class _Failure:
    error: ModelError
    again: bool
    retry_after_s: float | None = None


def _ignore(chunk: str) -> None:
    """For callers that want the whole reply only."""


def _hand_over(text: str, deliver: OnChunk) -> None:
    if text:
        deliver(text)


def _checked_url(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(url)  # it knows more that is no URL, such as impossible host names
    except (ValueError, httpx.InvalidURL):
        usable = False
    if not usable:
        raise InvalidInput(
            f"{base_url!r} is no usable base URL of a model server; give one like http://127.0.0.1:8080/v1"
        )
    return url


def _checked_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("the API key holds characters that no key has; copy it again")
    return key or None


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _whole(text: str | None, *, default: int) -> int:
    try:
        return max(0, int(text)) if text else default
    except ValueError:
        return default
