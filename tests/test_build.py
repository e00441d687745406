from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from agentloop.build import NAMES, default_capabilities, named_capabilities
from agentloop.capabilities import BuildContext
from agentloop.errors import InvalidInput
from agentloop.events import RunEvent
from agentloop.guard import Boundary, GuardedClient, Question
from agentloop.llm import Scripted
from agentloop.loop import Loop
from agentloop.packs.base import Pack
from agentloop.records import RunRequest, RunResult
from agentloop.stores.memory import MemoryStore
from tests.packs.web import Site, served

PROMPT_TOKENS = 1_000
"""What the default packs may cost. JavaScript declarations have more than four characters a token."""


async def built(context: BuildContext) -> list[Pack]:
    return [pack for capability in default_capabilities() for pack in await capability.build(context)]


async def test_the_default_packs_are_cheap_to_tell_of() -> None:
    async with GuardedClient(Boundary()) as client:
        packs = await built(BuildContext(http=client, llm=Scripted([])))

    assert [pack.name for pack in packs] == ["markdown", "http", "fetch", "ai"]
    assert all(pack.declarations for pack in packs)
    assert sum(len(pack.declarations) for pack in packs) / 4 <= PROMPT_TOKENS


async def test_without_a_model_there_is_no_ai() -> None:
    async with GuardedClient(Boundary()) as client:
        assert "ai" not in [pack.name for pack in await built(BuildContext(http=client))]


async def test_without_a_client_fetch_says_what_is_missing() -> None:
    with pytest.raises(InvalidInput, match=r"BuildContext\.http"):
        await built(BuildContext())


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="markdown, http, fetch, ai"):
        named_capabilities(["fletch"])
    assert [capability.name for capability in named_capabilities(["fetch", "fetch", "ai"])] == ["fetch", "ai"]
    assert set(NAMES) >= {capability.name for capability in default_capabilities()}


def test_a_pattern_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="too wide"):
        default_capabilities(allow=["*.com"])


# A whole run -----------------------------------------------------------------------------------------


async def run(
    script: str, *, allow: Sequence[str] | None = None, request: RunRequest, yes: bool = False
) -> tuple[RunResult, list[RunEvent], list[Question]]:
    events: list[RunEvent] = []
    questions: list[Question] = []

    async def on_ask(question: Question) -> bool:
        questions.append(question)
        return yes

    loop = Loop(
        llm=Scripted([f"```javascript\nfunction run() {{ answer({script}) }}\n```"]),
        store=MemoryStore(),
        capabilities=default_capabilities(allow=allow),
        on_ask=on_ask,
    )
    async with loop:
        return await loop.run(request, on_event=events.append), events, questions


def outcome_of(site: Site) -> str:
    return f"(() => {{ try {{ return fetch({json.dumps(site.url)}).status }} catch (e) {{ return e.name }} }})()"


async def test_a_run_fetches_what_its_operator_allows() -> None:
    async with served() as site:
        result, events, questions = await run(outcome_of(site), allow=[site.url], request=RunRequest("go"))

    assert result.final_text == "200"
    assert "fetch(url: string" in result.system_prompt
    assert f"fetch GET {site.url}/: 200" in [event.content for event in events if event.type == "act"]
    assert not questions


async def test_the_origin_of_the_start_url_is_reached() -> None:
    async with served() as site:
        result, _, _ = await run(outcome_of(site), request=RunRequest("go", url=site.url))

    assert result.final_text == "200"


@pytest.mark.parametrize("narrow", [[], ["only.test"]])
async def test_a_request_narrows_what_the_operator_allows(narrow: Sequence[str]) -> None:
    async with served() as site:
        result, _, _ = await run(outcome_of(site), allow=[site.url], request=RunRequest("go", allow=narrow))

    assert result.final_text == "RequestRefused"
    assert not site.sockets


async def test_a_request_widens_nothing() -> None:
    async with served() as site:
        result, _, _ = await run(outcome_of(site), request=RunRequest("go", allow=[site.url]))

    assert result.final_text == "RequestRefused"
    assert not site.sockets


@pytest.mark.parametrize(("yes", "text"), [(True, "200"), (False, "RequestRefused")])
async def test_what_is_not_allowed_is_asked_about(yes: bool, text: str) -> None:
    async with served() as site:
        result, events, questions = await run(outcome_of(site), request=RunRequest("go"), yes=yes)

    assert result.final_text == text
    assert [question.grant.subject for question in questions if question.grant] == [f"private {site.place}"]
    assert [event.type for event in events if event.type.startswith("ask")] == ["ask", "ask_result"]
    assert bool(site.sockets) is yes


async def test_a_request_with_a_pattern_that_is_none_begins_no_run() -> None:
    store = MemoryStore()
    async with Loop(llm=Scripted([]), store=store) as loop:
        with pytest.raises(InvalidInput):
            await loop.open(RunRequest("go", session="s", allow=["*.com"]))
        assert await store.get_session("s") is None


async def test_what_ai_costs_counts_for_the_run() -> None:
    script = "```javascript\nfunction run() { answer(ai('Which?')) }\n```"
    told = "a word " * 100
    async with Loop(llm=Scripted([script, told]), store=MemoryStore(), capabilities=default_capabilities()) as loop:
        result = await loop.run(RunRequest("go"))

    assert result.final_text == told.strip()
    assert result.tokens.completion > len(told) / 4
