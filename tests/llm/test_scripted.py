from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import InvalidInput, RepliesUsedUp
from agentloop.llm import Message, ModelReply, ModelRequest, Scripted, Text
from agentloop.llm.scripted import rough_tokens
from agentloop.records import Usage

ASK = ModelRequest(messages=[Message("system", "Be brief."), Message("user", (Text("How much?"),))], model="m")


async def test_replies_come_in_order_and_requests_are_kept() -> None:
    llm = Scripted(
        [
            "one",
            ModelReply(content="two", finish_reason="length"),
            {"content": "three", "finish_reason": "length", "usage": {"prompt": 7, "completion": 3}},
            lambda request: f"asked: {request.messages[-1].text}",
            lambda request: ModelReply(content="five", usage=Usage(prompt=1)),
        ]
    )
    replies = [await llm.complete(ASK) for _ in range(5)]
    assert [reply.content for reply in replies] == ["one", "two", "three", "asked: How much?", "five"]
    assert [reply.finish_reason for reply in replies] == ["stop", "length", "length", "stop", "stop"]
    assert replies[2].usage == Usage(prompt=7, completion=3)
    assert replies[4].usage == Usage(prompt=1)
    assert llm.requests == [ASK] * 5


async def test_usage_is_estimated_where_none_is_given() -> None:
    reply = await Scripted(["ééé"]).complete(ASK)
    assert reply.usage == Usage(prompt=rough_tokens("Be brief.") + rough_tokens("How much?"), completion=2)
    assert reply.model == "m"
    assert rough_tokens("\ud83d") == 1


async def test_text_arrives_in_pieces() -> None:
    chunks: list[str] = []
    text = "a long answer " * 20
    reply = await Scripted([text]).complete(ASK, on_chunk=chunks.append)
    assert "".join(chunks) == reply.content == text
    assert len(chunks) > 5


async def test_running_out_says_how_many_there_were() -> None:
    llm = Scripted(["only"])
    await llm.complete(ASK)
    with pytest.raises(RepliesUsedUp, match="the script has 1 reply, and call 2 wants another"):
        await llm.complete(ASK)


async def test_a_file_holds_one_reply_a_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    lines = [json.dumps("one\u2028line"), "", json.dumps({"content": "two", "usage": {"prompt_tokens": 4}}), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    llm = Scripted.from_file(path)
    assert (await llm.complete(ASK)).content == "one\u2028line"
    assert (await llm.complete(ASK)).usage == Usage(prompt=4)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", 'each line is a JSON string or {"content": "…"}'),
        ("hello", 'each line is a JSON string or {"content": "…"}'),
        ("7", "each line is a JSON string"),
        ('{"text": "x"}', "'text'"),
        ("{}", "`content` must be text"),
        ('{"content": "x", "finish_reason": "tired"}', "'tired'"),
        ('{"content": "x", "usage": 3}', "`usage`"),
        ('{"content": "x", "usage": {"prompt": -1}}', "`usage.prompt`"),
        (f'{{"content": "x", "usage": {{"prompt": {10**30}}}}}', "`usage.prompt`"),
        ("[" * 100_000, "too deeply"),
        ('{"content":' * 100_000, "too deeply"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(f'"fine"\n{line}\n', encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        Scripted.from_file(path)
    assert "line 2" in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_a_file_without_replies_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"empty\.jsonl holds no replies: each line is a JSON string"):
        Scripted.from_file(path)


def test_a_missing_file_and_a_reply_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"missing\.jsonl"):
        Scripted.from_file(tmp_path / "missing.jsonl")
    wrong: Any = [3]
    with pytest.raises(InvalidInput, match="not int"):
        Scripted(wrong)
