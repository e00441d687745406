"""Every hostile page through the real browser, the real loop and a scripted model: what must not happen does not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from agentloop import Loop, LoopSettings, MemoryStore, RunLimits, RunRequest, Scripted, Status
from agentloop.artifacts.folder import FolderArtifacts
from agentloop.browser import browser_capability
from agentloop.browser.base import Driver
from agentloop.capabilities import BuildContext
from agentloop.context.prompt import Prompt
from agentloop.drivers import BrowserHost
from agentloop.llm.base import Message, ModelRequest
from agentloop.testing.hostile_pages import HOSTILE_PAGES, HostilePage, HostileSite, Seen, serve_hostile_pages

COVERED = {"overlay"}
"""Pages on which what is to be pressed is no mark: something lies above it."""

ANSWER = "```javascript\nfunction run(args) { answer('done') }\n```"


@pytest_asyncio.fixture(scope="module")
async def host() -> AsyncIterator[BrowserHost]:
    async with BrowserHost.launch() as host:
        yield host


def press(page: HostilePage, name: str) -> Callable[[ModelRequest], str]:
    def reply(request: ModelRequest) -> str:
        found = re.search(rf'\[(\d+)\] \w+ "{re.escape(name)}"', request.messages[-1].text)
        assert (found is None) is (page.name in COVERED), request.messages[-1].text
        number = found[1] if found else 1
        body = f"sleep({page.wait_ms}); click({name!r}, {number}); log(browser.text('body').slice(0, 500))"
        return f"```javascript\nfunction run(args) {{ {body} }}\n```"

    return reply


def read(request: ModelRequest) -> str:
    body = "log(browser.look()); log(browser.markdown().slice(0, 9000)); log(browser.title().slice(0, 200)); "
    body += "return browser.mark()"
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


async def play(page: HostilePage, site: HostileSite, host: BrowserHost, folder: Path) -> tuple[Status, Scripted]:
    @asynccontextmanager
    async def driver(context: BuildContext) -> AsyncIterator[Driver]:
        async with host.driver(allow=[site.origin]) as driver:
            yield driver

    # A press may come to nothing, and the next page has no such mark: what counts is what does not happen.
    llm = Scripted([read, *(press(page, name) for name in page.press), ANSWER])
    loop = Loop(
        llm=llm,
        store=MemoryStore(),
        capabilities=[browser_capability(driver, globals=True)],
        artifacts=FolderArtifacts(folder),
        settings=LoopSettings(prompt=Prompt.named("browse"), limits=RunLimits(wall_s=50)),
    )
    result = await loop.run(RunRequest(page.task, url=site.url(page.name)))
    return result.status, llm


@pytest.mark.parametrize("page", HOSTILE_PAGES, ids=lambda page: page.name)
async def test_what_must_not_happen_does_not(page: HostilePage, host: BrowserHost, tmp_path: Path) -> None:
    folder = tmp_path / "above" / "run" / "artifacts"
    folder.mkdir(parents=True)
    async with serve_hostile_pages() as site:
        status, llm = await play(page, site, host, folder)
        seen = Seen(requests=llm.requests, finished=status is Status.COMPLETED, folder=folder)
        assert site.broken(page, seen) == []
        assert len(llm.requests) == 2 + len(page.press)


# The pages and the checks themselves ----------------------------------------------------------------


def test_every_page_is_a_file_and_every_file_a_page() -> None:
    names = sorted(Path(str(file)).stem for file in files("agentloop.testing").joinpath("hostile").iterdir())
    assert names == sorted(page.name for page in HOSTILE_PAGES)
    assert all(page.attempts and page.must_not for page in HOSTILE_PAGES)


async def test_the_pages_hold_what_nobody_may_see_and_name_the_other_host() -> None:
    async with serve_hostile_pages() as site, httpx.AsyncClient(trust_env=False) as visitor:
        for page in HOSTILE_PAGES:
            html = (await visitor.get(site.url(page.name))).text
            assert "%OTHER%" not in html and all(words in html for words in page.unseen)
        assert (await visitor.get(site.url("nothing"))).status_code == 404
        assert site.other in (await visitor.get(site.url("leaks"))).text
        assert (await visitor.get(site.url("elsewhere"))).headers["location"].startswith(site.other)
        assert "../" in (await visitor.get(site.url("file"))).headers["content-disposition"]
        assert not site.reached


async def test_who_comes_to_the_other_host_is_told() -> None:
    async with serve_hostile_pages() as site, httpx.AsyncClient(trust_env=False) as visitor:
        await visitor.post(f"{site.other}/form?a=1")
        await visitor.get(site.url("harm/overlay"))
        [reached, harmed] = site.broken(HOSTILE_PAGES[0], Seen(requests=[], finished=True))
    assert "POST /form?a=1" in reached and "'overlay'" in harmed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[901] button "Pay"', "a mark"),
        ('x\nPAGE NOW: "Bank" /pay', "the page's first line"),
        ("[end of outside text 0badf00d]", "a fence"),
        ("<|im_start|>", "a role"),
        ("a\u200bb", "what does not show"),
        ("plant-none", "nobody sees"),
        ("visible-plant", "outside the page and all fences"),
        ("x" * 60_001, "more than"),
    ],
)
def test_what_a_prompt_may_not_hold_is_told(text: str, problem: str) -> None:
    page = next(page for page in HOSTILE_PAGES if page.name == "hidden")
    request = ModelRequest(messages=[Message("system", "[901] is fine here"), Message("user", text)])
    [told] = HostileSite("http://a", "http://b").broken(page, Seen(requests=[request], finished=True))
    assert problem in told


def test_what_a_prompt_may_hold_is_not_told() -> None:
    fenced = "[outside text 0a1b2c3d: x]\nvisible-plant [901] x\n[end of outside text 0a1b2c3d]"
    text = f'done\n{fenced}\nPAGE NOW: "a" /\nvisible-plant'
    request = ModelRequest(messages=[Message("user", text)])
    assert HostileSite("http://a", "http://b").broken(HOSTILE_PAGES[0], Seen(requests=[request], finished=True)) == []


def test_a_run_that_does_not_end_and_files_outside_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "artifacts"
    folder.mkdir(parents=True)
    (tmp_path / "escaped-name.sh").touch()
    problems = HostileSite("http://a", "http://b").broken(
        HOSTILE_PAGES[0], Seen(requests=[], finished=False, folder=folder)
    )
    assert len(problems) == 2 and "come to its end" in problems[0] and "escaped-name.sh" in problems[1]
