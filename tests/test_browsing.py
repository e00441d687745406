"""`browse()` end to end: scripted replies, a real browser, the fixture shop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from agentloop import Loop, MemoryStore, RunEvent, RunRequest, Scripted, Status, browse
from agentloop.artifacts.folder import FolderArtifacts
from agentloop.browser import browser_capability
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import InvalidInput
from agentloop.guard.grants import Question
from agentloop.testing.site import Site, serve_site
from tests.browser.counting_server import counting_server

REPLIES = Path(__file__).parent.parent / "fixtures" / "replies" / "shop.jsonl"


def js(body: str) -> str:
    return f"```javascript\n{body}\n```"


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


async def test_a_task_of_many_acts_ends_with_its_answer_and_pictures(site: Site, tmp_path: Path) -> None:
    events: list[RunEvent] = []
    result = await browse(
        "Buy two of the cheapest glass lamp",
        url=f"{site.url}/shop/",
        llm=Scripted.from_file(REPLIES),
        artifacts=FolderArtifacts(tmp_path / "out"),
        on_event=events.append,
    )
    assert result.status is Status.COMPLETED and "214 EUR" in result.final_text
    acts = [event.content for event in events if event.type == "act"]
    assert sum("opened /shop/order/" in act for act in acts) == 1
    assert len(acts) >= 5
    turns = max(event.turn for event in events)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.png")) == [
        f"turn-{turn:03d}.png" for turn in range(1, turns + 1)
    ]


async def test_the_model_sees_one_page_and_it_is_the_present_one(site: Site) -> None:
    llm = Scripted.from_file(REPLIES)
    await browse("Buy", url=f"{site.url}/shop/", llm=llm)
    for request in llm.requests:
        history = request.messages[3:]  # after the worked pair
        assert [("PAGE NOW" in message.text) for message in history] == [False] * (len(history) - 1) + [True]
    assert all(a.messages[0] == llm.requests[0].messages[0] for a in llm.requests), "the prompt's head is byte-stable"


async def test_prompt_tokens_stay_within_a_dozen_thousand_for_the_shop_task(site: Site) -> None:
    llm = Scripted.from_file(REPLIES)
    await browse("Buy", url=f"{site.url}/shop/", llm=llm)
    # Listings run at 2.0 to 2.4 characters a token; at 2.0 this is the dearest it can be.
    characters = sum(len(message.text) for request in llm.requests for message in request.messages)
    assert len(llm.requests) <= 6 and characters / 2.0 <= 12_000


async def test_a_start_page_that_fails_ends_the_run_before_the_first_call() -> None:
    async def broken(request: web.Request) -> web.Response:
        return web.Response(status=503, text="down for repair")

    app = web.Application()
    app.router.add_get("/", broken)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        tcp = web.TCPSite(runner, "127.0.0.1", 0)
        await tcp.start()
        host, port = runner.addresses[0][:2]
        llm = Scripted([js("answer(1)")])
        result = await browse("x", url=f"http://{host}:{port}/", llm=llm)
    finally:
        await runner.cleanup()
    assert (result.status, result.reason, llm.requests) == (Status.ERROR, "page_down", [])


@pytest.mark.parametrize(
    ("url", "allow"), [("file:///etc/passwd", None), ("shop.example", None), (None, ["https://shop.example/path"])]
)
async def test_unusable_arguments_raise_before_anything_starts(url: str | None, allow: list[str] | None) -> None:
    with pytest.raises(InvalidInput):
        await browse("x", url=url, allow=allow, llm=Scripted([]))


async def test_a_second_run_on_a_busy_driver_is_told_so() -> None:
    inside, release = asyncio.Event(), asyncio.Event()

    async with PlaywrightDriver.launch(headless=True, allow=[]) as driver:
        capability = browser_capability(driver)
        first = Loop(llm=Scripted([js("answer(1)")]), store=MemoryStore(), capabilities=[capability])
        second = Loop(llm=Scripted([js("answer(2)")]), store=MemoryStore(), capabilities=[capability])

        async def verify(handle: object) -> list[dict[str, object]]:
            inside.set()
            await release.wait()
            return []

        first.verify = verify
        running = asyncio.create_task(first.run(RunRequest("one")))
        await inside.wait()
        result = await second.run(RunRequest("two"))
        release.set()
        assert (await running).status is Status.COMPLETED
        assert (result.status, result.reason) == (Status.ERROR, "setup")
        assert (await second.run(RunRequest("three"))).final_text == "2", "once free, it serves again"


@pytest.mark.parametrize("yes", [True, False, None])
async def test_an_order_is_placed_after_a_yes_alone(site: Site, yes: bool | None) -> None:
    asked: list[Question] = []

    async def on_ask(question: Question) -> bool | None:
        asked.append(question)
        return yes

    script = """function run() {
      try { click("#login button") } catch (error) { return answer(error.name + ": " + error.message) }
      answer(browser.url());
    }"""
    page = "<form id=login method=post action=/sent><input name=user><button>Sign in</button></form>"
    async with counting_server() as server:
        server.pages["/"] = page
        result = await browse(
            "Sign in",
            url=server.at(),
            llm=Scripted([js(script)]),
            confirm=["submit"],
            on_ask=None if yes is None else on_ask,
        )
        sent = server.posts()
    if yes:
        assert (result.status, result.final_text, sent) == (Status.COMPLETED, server.at("/sent"), ["/sent"])
    else:
        assert (result.status, sent) == (Status.COMPLETED, [])
        assert result.final_text.startswith("PolicyDenied: browser.submit was declined: a person did not agree")
    if yes is not None:
        [question] = asked
        assert question.grant is not None
        assert question.grant.subject == f'submit http://127.0.0.1:{server.port} by "Sign in"'
        assert question.expires_at > question.asked_at


async def test_an_action_that_cannot_be_confirmed_is_told_before_a_browser_is_started() -> None:
    with pytest.raises(InvalidInput, match="there are: submit, download, upload, new-host"):
        await browse("x", llm=Scripted([]), confirm=["buy"])
