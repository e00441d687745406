from __future__ import annotations

import asyncio
import base64
import gc
import json
import logging
import socket
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any

import pytest

from agentloop.errors import Closed, ContextOverflow, InvalidInput, ModelAuthError, ModelError
from agentloop.llm import Image, Message, ModelRequest, OpenAI, Text
from agentloop.llm.wire import ReplyReader, endpoint_error
from agentloop.records import Usage
from agentloop.testing.llm_server import llm_server

ASK = ModelRequest(messages=[Message("system", "Be brief."), Message("user", "How much?")])
LONG = "The socks cost twelve euros, and the shipping is free of charge. " * 3
KEY = "sk-test-0123456789abcdef"
NOW = 1_800_000_000.0

MakeBench = Callable[..., Awaitable[Any]]


async def test_a_reply_streams_and_comes_back_whole(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "usage": {"prompt": 11, "completion": 5}}])
    chunks: list[str] = []
    reply = await b.llm.complete(ASK, on_chunk=chunks.append)
    assert reply.content == "".join(chunks) == LONG
    assert len(chunks) > 3
    assert (reply.usage, reply.finish_reason, reply.model) == (Usage(prompt=11, completion=5), "stop", "tiny")
    body = b.server.requests[0].body
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How much?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert b.server.requests[0].prompt_bytes == len("Be brief.How much?")


async def test_what_is_set_is_sent(bench: MakeBench) -> None:
    b = await bench(["x"], api_key=KEY, reasoning_effort="low", headers={"X-Title": "shop"})
    picture = Message("user", (Text("What is this?"), Image(b"\x89PNG")))
    reply = await b.llm.complete(ModelRequest(messages=[picture], model="big", max_tokens=9, temperature=0.0))
    sent = b.server.requests[0]
    assert sent.headers["X-Title"] == "shop"
    assert {name: sent.body[name] for name in ("model", "max_tokens", "temperature", "reasoning_effort")} == {
        "model": "big",
        "max_tokens": 9,
        "temperature": 0.0,
        "reasoning_effort": "low",
    }
    data = base64.b64encode(b"\x89PNG").decode()
    assert sent.body["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
    ]
    assert reply.model == "big"


async def test_half_a_surrogate_pair_from_a_page_does_not_break_the_call(bench: MakeBench) -> None:
    b = await bench(["x"])
    await b.llm.complete(ModelRequest(messages=[Message("user", "a\ud83d b\ud83d\ude00")], model="m\ud83d"))
    assert b.server.requests[0].body["model"] == "m\ufffd"
    assert b.server.requests[0].body["messages"][0]["content"] == "a\ufffd b😀"


async def test_no_message_is_refused_before_anything_is_sent(bench: MakeBench) -> None:
    b = await bench(["x"])
    with pytest.raises(InvalidInput):
        await b.llm.complete(ModelRequest(messages=[]))
    assert b.server.requests == []


@pytest.mark.parametrize(
    ("given", "read"), [("length", "length"), ("content_filter", "content_filter"), ("tool_calls", "other")]
)
async def test_the_finish_reason_is_read(bench: MakeBench, given: str, read: str) -> None:
    b = await bench([{"content": "x", "finish_reason": given}])
    assert (await b.llm.complete(ASK)).finish_reason == read


async def test_a_reply_cut_by_the_length_limit_says_so(bench: MakeBench) -> None:
    b = await bench([{"content": "```js\nfunction", "fault": "truncated"}])
    assert (await b.llm.complete(ASK)).finish_reason == "length"


async def test_an_ordinary_body_for_a_stream_is_read_as_one_chunk(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "fault": "plain"}])
    chunks: list[str] = []
    reply = await b.llm.complete(ASK, on_chunk=chunks.append)
    assert chunks == [LONG] and reply.content == LONG
    assert reply.usage.completion > 0


# Streams that go wrong


@pytest.mark.parametrize("fault", ["cut", "ended"])
async def test_a_stream_that_ends_early_is_no_answer_and_is_not_repeated(bench: MakeBench, fault: str) -> None:
    b = await bench([{"content": LONG, "fault": fault, "after": 2}, "never"])
    chunks: list[str] = []
    with pytest.raises(ModelError, match="reply was cut"):
        await b.llm.complete(ASK, on_chunk=chunks.append)
    assert LONG.startswith("".join(chunks))
    assert len(b.server.requests) == 1


async def test_an_error_in_the_stream_is_an_error(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "fault": "error_frame"}])
    with pytest.raises(ModelError, match="the model crashed") as caught:
        await b.llm.complete(ASK)
    assert caught.value.status == 500
    assert len(b.server.requests) == 1


async def test_unreadable_frames_are_skipped_with_a_warning(bench: MakeBench, caplog: pytest.LogCaptureFixture) -> None:
    b = await bench([{"content": LONG, "fault": "malformed"}])
    with caplog.at_level(logging.WARNING, logger="agentloop"):
        assert (await b.llm.complete(ASK)).content == LONG
    assert sum("unreadable frame" in record.message for record in caplog.records) == 2


async def test_a_count_that_no_call_can_have_is_none(bench: MakeBench) -> None:
    b = await bench([{"content": "x", "usage": {"prompt_tokens": 10**30, "completion_tokens": 3}}])
    assert (await b.llm.complete(ASK)).usage == Usage(prompt=0, completion=3)


@pytest.mark.parametrize("payload", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_a_frame_that_nothing_can_read_is_skipped(payload: str) -> None:
    reader = ReplyReader()
    assert reader.frame(payload) == ""
    assert str(endpoint_error(None, payload)).startswith("the model's server failed")


def test_a_stream_without_end_is_no_reply() -> None:
    reader, frame = ReplyReader(), json.dumps({"choices": [{"delta": {"content": "x" * 1_000_000}}]})
    with pytest.raises(ModelError, match="longer than 16,777,216 characters"):
        for _ in range(17):
            reader.frame(frame)


@pytest.mark.parametrize("code", ["²", "9" * 5000, 10**30, -1, True, [], "rate"])
def test_an_odd_error_code_is_no_status(code: object) -> None:
    assert endpoint_error(None, json.dumps({"error": {"message": "m", "code": str(code)}})).status is None


async def test_silence_within_a_reply_ends_it(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "fault": "slow", "delay_s": 30}], timeout=0.1)
    with pytest.raises(ModelError, match=r"silent for 0\.1 s"):
        await b.llm.complete(ASK)


async def test_slow_pieces_may_take_longer_together_than_the_time_out(bench: MakeBench) -> None:
    b = await bench([{"content": "x" * 24 * 8, "fault": "slow", "delay_s": 0.25}], timeout=1.5)
    assert len((await b.llm.complete(ASK)).content) == 24 * 8


async def test_a_connection_kept_open_behind_a_whole_reply_is_not_waited_for(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "fault": "linger"}])
    assert (await b.llm.complete(ASK)).content == LONG


async def test_cancelling_mid_stream_returns_at_once(bench: MakeBench) -> None:
    b = await bench([{"content": LONG, "fault": "slow", "delay_s": 30}, "next"])
    arrived = asyncio.Event()
    call = asyncio.create_task(b.llm.complete(ASK, on_chunk=lambda chunk: arrived.set()))
    await arrived.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await b.llm.complete(ASK)).content == "next"


# Refusals and retries


async def test_rate_limits_and_server_errors_are_tried_again(bench: MakeBench) -> None:
    b = await bench(["fine"], faults={0: "rate_limit", 1: "server_error", 2: "drop"})
    assert (await b.llm.complete(ASK)).content == "fine"
    assert b.waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("header", "wait"), [("3", 3.0), ("999", 30.0), (formatdate(NOW + 4, usegmt=True), 4.0), ("soon", 0.5), ("0", 0.0)]
)
async def test_retry_after_is_obeyed_up_to_the_cap(bench: MakeBench, header: str, wait: float) -> None:
    b = await bench(["fine"], faults={0: {"fault": "rate_limit", "retry_after": header}})
    await b.llm.complete(ASK)
    assert b.waits == [wait]


@pytest.mark.parametrize(("retries", "calls"), [(3, 4), (1, 2), (0, 1), (-1, 1)])
async def test_the_number_of_retries_is_bounded(bench: MakeBench, retries: int, calls: int) -> None:
    b = await bench([], faults=dict.fromkeys(range(9), "server_error"), max_retries=retries)
    with pytest.raises(ModelError, match="500") as caught:
        await b.llm.complete(ASK)
    assert caught.value.status == 500
    assert len(b.server.requests) == calls


@pytest.mark.parametrize(
    ("fault", "calls"), [("not_implemented", 1), ("auth", 1), ("context_overflow", 1), ("bad_request", 2)]
)
async def test_refusals_that_would_come_again_are_not_retried(bench: MakeBench, fault: str, calls: int) -> None:
    b = await bench([], faults=dict.fromkeys(range(9), fault))
    with pytest.raises(ModelError):
        await b.llm.complete(ASK)
    assert (len(b.server.requests), b.waits) == (calls, [])


async def test_a_refused_stream_is_asked_for_without_streaming(bench: MakeBench) -> None:
    b = await bench([LONG], faults={0: "bad_request"})
    chunks: list[str] = []
    assert (await b.llm.complete(ASK, on_chunk=chunks.append)).content == LONG
    assert chunks == [LONG]
    assert "stream" not in b.server.requests[1].body


async def test_a_long_prompt_is_a_context_overflow(bench: MakeBench) -> None:
    b = await bench([], faults={0: "context_overflow"})
    with pytest.raises(ContextOverflow, match="available context size"):
        await b.llm.complete(ASK)


async def test_a_server_that_is_not_there_is_named(bench: MakeBench) -> None:
    b = await bench([], base_url="http://127.0.0.1:9/v1", max_retries=1)
    with pytest.raises(
        ModelError, match=r"^http://127\.0\.0\.1:9/v1/chat/completions: .*is the server running"
    ) as caught:
        await b.llm.complete(ASK)
    assert caught.value.status is None
    assert len(b.waits) == 1


@pytest.mark.parametrize(
    ("path", "hint"), [("", "most servers want /v1 at the base URL's end: {origin}/v1"), ("/api/v1", "")]
)
async def test_a_path_that_the_server_does_not_know_is_told_without_the_password(
    bench: MakeBench, path: str, hint: str
) -> None:
    origin = (await bench([])).server.base_url.removesuffix("/v1")
    wrong = await bench([], base_url=f"{origin.replace('//', '//me:pa55word@')}{path}")
    with pytest.raises(ModelError, match="answered 404") as caught:
        await wrong.llm.complete(ASK)
    asked, _, rest = str(caught.value).partition("(asked ")[2].partition(")")
    assert asked == f"{origin}{path}/chat/completions"
    assert rest == (f"; {hint.format(origin=origin)}" if hint else "")
    assert "pa55word" not in str(caught.value)


async def test_cancelling_a_wait_between_attempts_returns(bench: MakeBench) -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    b = await bench(["x"], faults={0: "rate_limit"}, sleep=sleep)
    call = asyncio.create_task(b.llm.complete(ASK))
    await waiting.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# The key


async def test_a_wrong_key_is_an_auth_error_and_shows_nowhere(
    bench: MakeBench, caplog: pytest.LogCaptureFixture
) -> None:
    b = await bench(["x"], api_key="sk-right")
    async with OpenAI(base_url=b.server.base_url, api_key=KEY) as llm:
        with caplog.at_level(logging.DEBUG), pytest.raises(ModelAuthError) as caught:
            await llm.complete(ASK)
        assert KEY not in repr(llm) + str(llm)
    assert caught.value.status == 401
    assert KEY not in str(caught.value) + caplog.text


async def test_a_key_that_the_server_repeats_is_hidden_and_long_errors_are_cut(bench: MakeBench) -> None:
    message = f"Incorrect key {KEY} " + "blah " * 10_000
    b = await bench(
        [], faults={number: {"fault": "bad_request", "message": message} for number in range(2)}, api_key=KEY
    )
    with pytest.raises(ModelError) as caught:
        await b.llm.complete(ASK)
    assert KEY not in str(caught.value) and "[hidden]" in str(caught.value)
    assert len(str(caught.value)) < 2200


def test_user_and_password_of_the_url_stay_out_of_the_repr() -> None:
    assert "pass" not in repr(OpenAI(base_url="http://user:pass@127.0.0.1:1/v1"))


@pytest.mark.parametrize("key", ["sk-ä", "sk\nx"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAI(base_url="http://127.0.0.1:1/v1", api_key=key)
    assert key not in str(caught.value)


# Setting up


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://[::1", "http://x:0/v1", "http://x\udcff/v1"]
)
def test_an_unusable_base_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="base URL"):
        OpenAI(base_url=url)
    if url:
        with pytest.raises(InvalidInput, match="base URL"):
            OpenAI.from_env({"OPENAI_BASE_URL": url})


def test_the_environment_sets_everything() -> None:
    env = {
        "OPENAI_API_KEY": f" {KEY}\n",
        "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1//",
        "OPENAI_CHAT_MODEL": "qwen",
        "OPENAI_MAX_RETRIES": "0",
        "OPENAI_REASONING_EFFORT": "low",
    }
    llm = OpenAI.from_env(env)
    assert (llm.base_url, llm.model) == ("http://127.0.0.1:8080/v1", "qwen")
    named = OpenAI.from_env(env, base_url="http://[::1]:9/v1", model="m")
    assert (named.base_url, named.model) == ("http://[::1]:9/v1", "m")


def test_only_openai_itself_needs_a_key() -> None:
    assert OpenAI.from_env({"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}).model == "gpt-4o-mini"
    assert OpenAI.from_env({}, base_url="http://127.0.0.1:8080/v1").base_url == "http://127.0.0.1:8080/v1"
    assert OpenAI.from_env({"OPENAI_API_KEY": KEY}).base_url == "https://api.openai.com/v1"
    for env in ({}, {"OPENAI_API_KEY": " "}, {"OPENAI_BASE_URL": "https://api.openai.com/v1/"}):
        with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
            OpenAI.from_env(env)


@pytest.mark.parametrize(("text", "calls"), [("0", 1), ("-4", 1), ("2", 3), ("many", 4)])
async def test_max_retries_of_the_environment(bench: MakeBench, text: str, calls: int) -> None:
    b = await bench([], faults={number: {"fault": "rate_limit", "retry_after": 0} for number in range(9)})
    async with OpenAI.from_env({"OPENAI_BASE_URL": b.server.base_url, "OPENAI_MAX_RETRIES": text}) as llm:
        with pytest.raises(ModelError):
            await llm.complete(ASK)
    assert len(b.server.requests) == calls


async def test_a_closed_client_says_so(bench: MakeBench) -> None:
    b = await bench(["x"])
    await b.llm.complete(ASK)
    await b.llm.aclose()
    await b.llm.aclose()
    with pytest.raises(Closed):
        await b.llm.complete(ASK)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the first loop's socket dies with it
def test_one_client_serves_one_event_loop_after_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    llm = OpenAI(base_url=f"http://127.0.0.1:{port}/v1")

    async def once(*, last: bool = False) -> str:
        async with llm_server(["x"], port=port):
            content = (await llm.complete(ASK)).content
        if last:
            await llm.aclose()
        return content

    assert [asyncio.run(once()), asyncio.run(once(last=True))] == ["x", "x"]
    gc.collect()
