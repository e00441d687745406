from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentloop.build import NAMES, STANDING, capabilities_of_project, default_capabilities, named_capabilities
from agentloop.capabilities import BuildContext
from agentloop.context.prompt import Prompt, system_prompt
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
"""What the packs of `run` may cost."""

DECLARATIONS_RATE = 4.1
"""Characters of these declarations per token of the public vocabulary cl100k, measured with its tokenizer: 4.15."""


async def built(context: BuildContext) -> list[Pack]:
    return [pack for capability in default_capabilities() for pack in await capability.build(context)]


async def test_the_default_packs() -> None:
    async with GuardedClient(Boundary()) as client:
        packs = await built(BuildContext(http=client, llm=Scripted([])))

    assert [pack.name for pack in packs] == ["markdown", "http", "fetch", "ai"]


async def test_the_packs_of_run_are_told_of_in_a_thousand_tokens(tmp_path: Path) -> None:
    async with GuardedClient(Boundary()) as client:
        context = BuildContext(http=client, llm=Scripted([]))
        packs = [
            pack
            for capability in named_capabilities(STANDING, folder=tmp_path)
            for pack in await capability.build(context)
        ]
    try:
        assert [pack.name for pack in packs] == ["markdown", "http", "fetch", "ai", "workspace", "exec"]
        assert all(pack.declarations for pack in packs)
        told = system_prompt(Prompt(system="{functions}"), packs)
        assert len(told) / DECLARATIONS_RATE <= PROMPT_TOKENS
    finally:
        for pack in packs:
            if pack.aclose is not None:
                await pack.aclose()


async def test_what_a_project_says_is_sized_by_the_window(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in rhymes.\n\n" * 2000)
    for window, least, most in ((None, 38_000, 39_000), (128_000, 3_000, 4_300), (4_096, 1_500, 2_500)):
        [capability] = capabilities_of_project(tmp_path, context_window=window)
        [pack] = await capability.build(BuildContext())
        assert least < len(pack.prose) < most
        assert bool(pack.primitives) is (window is not None)


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
