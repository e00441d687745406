from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.errors import InvalidInput
from agentloop.testing.llm_server import llm_server, main

ASK = {"model": "m", "messages": [{"role": "user", "content": "héllo"}]}


async def ask(base_url: str, *, key: str = "", **body: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return await client.post(f"{base_url}/chat/completions", json={**ASK, **body}, headers=headers)


def frames(text: str) -> list[Any]:
    payloads = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    assert payloads[-1] == "[DONE]"
    return [json.loads(payload) for payload in payloads[:-1]]


async def test_an_ordinary_reply_has_content_reason_and_usage() -> None:
    async with llm_server(
        [{"content": "twelve", "finish_reason": "length", "usage": {"prompt": 3, "completion": 1}}]
    ) as server:
        data = (await ask(server.base_url)).json()
    assert data["choices"][0]["message"] == {"role": "assistant", "content": "twelve"}
    assert data["choices"][0]["finish_reason"] == "length"
    assert data["usage"] == {"prompt_tokens": 3, "completion_tokens": 1}
    assert data["model"] == "m"


async def test_a_stream_looks_like_a_real_one() -> None:
    content = "x" * 60
    async with llm_server([content]) as server:
        response = await ask(server.base_url, stream=True)
        assert server.requests[0].prompt_bytes == 6
    assert response.headers["content-type"] == "text/event-stream"
    sent = frames(response.text)
    deltas = [frame["choices"][0]["delta"] for frame in sent if frame["choices"]]
    assert deltas[0] == {"role": "assistant", "content": None}
    assert "".join(delta.get("content") or "" for delta in deltas) == content
    assert sent[-2]["choices"][0]["finish_reason"] == "stop"
    assert sent[-1]["choices"] == [] and sent[-1]["usage"] == {"prompt_tokens": 2, "completion_tokens": 15}


async def test_replies_run_out_and_functions_see_the_request() -> None:
    async with llm_server([lambda body: f"you said {body['messages'][0]['content']}"]) as server:
        assert (await ask(server.base_url)).json()["choices"][0]["message"]["content"] == "you said héllo"
        late = await ask(server.base_url)
    assert late.status_code == 400
    assert "all 1 replies" in late.json()["error"]["message"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("rate_limit", 429),
        ("server_error", 500),
        ("not_implemented", 501),
        ("auth", 401),
        ("bad_request", 400),
        ("context_overflow", 400),
    ],
)
async def test_faults_by_call_leave_the_reply_and_faults_in_the_list_take_its_place(fault: Any, status: int) -> None:
    async with llm_server(["kept", {"fault": fault}, "last"], faults={0: fault}) as server:
        assert (await ask(server.base_url)).status_code == status
        assert (await ask(server.base_url)).json()["choices"][0]["message"]["content"] == "kept"
        assert (await ask(server.base_url)).status_code == status
        assert (await ask(server.base_url)).json()["choices"][0]["message"]["content"] == "last"


async def test_retry_after_is_sent() -> None:
    async with llm_server([], faults={0: {"fault": "rate_limit", "retry_after": 2}}) as server:
        assert (await ask(server.base_url)).headers["retry-after"] == "2"


@pytest.mark.parametrize("fault", ["drop", "cut"])
async def test_a_lost_connection_is_one_for_the_client(fault: Any) -> None:
    async with llm_server([{"content": "x" * 60, "fault": fault}]) as server:
        with pytest.raises(httpx.TransportError):
            await ask(server.base_url, stream=True)


async def test_a_fault_by_call_may_shape_the_reply() -> None:
    async with llm_server(["x" * 60], faults={0: "ended"}) as server:
        text = (await ask(server.base_url, stream=True)).text
    assert "[DONE]" not in text and '"finish_reason": "stop"' not in text


async def test_the_key_is_checked_where_one_is_given() -> None:
    async with llm_server(["x"], api_key="k") as server:
        assert (await ask(server.base_url, key="wrong")).status_code == 401
        assert (await ask(server.base_url, key="k")).status_code == 200


async def test_models_are_listed_and_nonsense_is_refused() -> None:
    async with llm_server([]) as server, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{server.base_url}/models")).json()["data"][0]["id"] == "scripted"
        bad = await client.post(f"{server.base_url}/chat/completions", content=b"{")
        assert bad.status_code == 400
        assert (await ask(server.base_url, messages=[])).status_code == 400


@pytest.mark.parametrize(
    ("replies", "faults"),
    [
        ([3], {}),
        ([{"text": "x"}], {}),
        ([{"content": 3}], {}),
        ([{"fault": "flood"}], {}),
        ([], {0: "flood"}),
        ([], {0: {"x": 1}}),
    ],
)
async def test_bad_replies_and_faults_are_refused(replies: Any, faults: Any) -> None:
    with pytest.raises(InvalidInput):
        async with llm_server(replies, faults=faults):
            pass


async def test_the_port_is_free_again_afterwards_even_with_a_stream_open() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        async with llm_server([{"content": "x" * 60, "fault": "slow", "delay_s": 60}]) as server:
            port = int(server.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
            request = client.build_request("POST", f"{server.base_url}/chat/completions", json={**ASK, "stream": True})
            response = await client.send(request, stream=True)
        await response.aclose()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))


async def test_as_a_program_it_prints_its_url_and_stops_on_sigterm(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text('"one"\n\n{"content": "two"}\n', encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "agentloop.testing.llm_server",
            "--replies",
            str(replies),
            "--faults",
            '{"0": "rate_limit"}',
        ),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        base_url = (await process.stdout.readline()).decode().strip()
        assert [(await ask(base_url)).status_code for _ in range(4)] == [429, 200, 200, 400]
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("arguments", [["--replies", "missing.jsonl"], ["--replies", "{file}", "--faults", "[]"]])
def test_a_bad_command_line_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('"one"\n', encoding="utf-8")
    assert main([argument.format(file=file) if argument == "{file}" else argument for argument in arguments]) == 1
    assert capsys.readouterr().err
