from __future__ import annotations

import pytest

from agentloop.errors import EndRun, ModelError
from agentloop.llm import Message, Metered, ModelReply, ModelRequest, Scripted
from agentloop.records import Status, Usage

ASK = ModelRequest(messages=[Message("user", "hello")])


async def test_each_call_is_reported_and_chunks_pass_through() -> None:
    spent: list[Usage] = []
    inner = Scripted([ModelReply(content="one", usage=Usage(prompt=5, completion=2)), "two"])
    llm = Metered(inner, on_usage=spent.append)
    chunks: list[str] = []
    assert (await llm.complete(ASK, on_chunk=chunks.append)).content == "one"
    await llm.complete(ASK)
    assert chunks == ["one"]
    assert spent == [Usage(prompt=5, completion=2), Usage(prompt=2, completion=1)]
    assert llm.name == "scripted"


async def test_a_spent_budget_stops_the_call_before_it_is_made() -> None:
    def spent() -> None:
        raise EndRun(Status.BUDGET, "prompt_tokens")

    inner = Scripted(["one"])
    with pytest.raises(EndRun, match="prompt_tokens"):
        await Metered(inner, on_usage=lambda usage: None, before=spent).complete(ASK)
    assert inner.requests == []


async def test_a_failed_call_reports_nothing() -> None:
    spent: list[Usage] = []
    with pytest.raises(ModelError):
        await Metered(Scripted([]), on_usage=spent.append).complete(ASK)
    assert spent == []
