"""Checks against a real page, and what happens where a page cannot be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentloop.browser import Browser
from agentloop.drivers import BrowserHost
from agentloop.errors import DriverError, InvalidInput
from agentloop.records import Json
from agentloop.report.checks import FORMS, Check, DriverPage, judge
from tests.browser.page_server import PageServer, page_server

PAGE = """<!doctype html><title>Basket  (2)</title>
<h1>Your basket</h1><p>Two lamps, <b>200</b> EUR</p><p hidden>nothing to see</p>
<ul><li class="row">a</li><li class="row" data-n="x=1">b</li></ul>
<a href="/report" download="report-7.csv">Report</a>
<iframe srcdoc="<p>in the frame</p><li class=row>c</li>"></iframe>
<div id="host"></div>
<script>
  document.getElementById("host").attachShadow({mode: "open"})
    .innerHTML = "<i class=row>d</i><span>in the shadow</span>";
  window.state = "main world"; Document.prototype.querySelectorAll = () => [];
</script>"""


@pytest.fixture(scope="module")
async def pages() -> AsyncIterator[PageServer]:
    async with page_server() as pages:
        yield pages


@pytest.fixture(scope="module")
async def browser(pages: PageServer) -> AsyncIterator[Browser]:
    pages.put("a;b", "/report")
    async with BrowserHost.launch() as host, host.driver(allow_private=True) as driver:
        browser = Browser(driver)
        await browser.goto(pages.put(PAGE, "/basket") + "?step=2#top")
        yield browser


async def passed(browser: Browser, text: str, *, answer: str = "") -> bool:
    [verdict] = await judge([Check.parse(text)], answer=answer, page=DriverPage(browser.driver))
    assert verdict["check"] == text
    assert not str(verdict["seen"]).startswith("not judged"), verdict
    return bool(verdict["passed"])


@pytest.mark.parametrize(
    ("check", "met"),
    [
        ("url=/basket?step=2", True),
        ("url=/basket?step=2#top", True),
        ("url=/basket", False),
        ("url~=/basket?step", True),
        ("url~=/Basket*TOP", True),
        ("url~=/checkout", False),
        ("title=Basket (2)", True),
        ("title=basket (2)", False),
        ("title~=basket", True),
        ("title~=[2]", False),
        ("text=Two lamps, 200 EUR", True),
        ("text=in the frame", True),
        ("text=in the shadow", True),
        ("text=nothing to see", False),
        ("no-text=nothing to see", True),
        ("no-text=lamps", False),
        ("count:.row=4", True),
        ("count:li.row=3", True),
        ('count:[data-n="x=1"]=1', True),
        ("count:.none=0", True),
        ("count:.row=3", False),
        ("js=document.title.length > 3", True),
        ("js=document.querySelectorAll('.row').length == 2 // really", True),
        ("js=new Promise(done => setTimeout(() => done([]), 50))", True),
        ("js=''", False),
        ("js=typeof state == 'undefined'", True),
    ],
)
async def test_a_page(browser: Browser, check: str, met: bool) -> None:
    assert await passed(browser, check) is met


@pytest.mark.parametrize(("check", "seen"), [("count:.row=9", "there are 4"), ('count:[data-n="x=1"]=2', "there is 1")])
async def test_a_count_tells_how_many_there_are(browser: Browser, check: str, seen: str) -> None:
    [verdict] = await judge([Check.parse(check)], answer="", page=DriverPage(browser.driver))
    assert verdict["seen"] == seen


async def test_the_whole_address(browser: Browser) -> None:
    url = await browser.url()
    assert await passed(browser, f"url={url}")
    assert not await passed(browser, f"url={url}x")
    origin = url.removesuffix("/basket?step=2#top")
    assert not await passed(browser, f"url={origin}")


async def test_downloads(browser: Browser) -> None:
    assert not await passed(browser, "download=*")
    await browser.click("Report")
    assert await passed(browser, "download=report-7.csv")
    assert await passed(browser, "download=report-*.csv")
    assert not await passed(browser, "download=report.csv")


@pytest.mark.parametrize(
    ("check", "met"),
    [
        ("answer=It costs 3 EUR.", True),
        ("answer=it costs 3 EUR.", False),
        ("answer~=costs 3 eur", True),
        ("answer~=costs*EUR", True),
        ("answer~=4 EUR", False),
    ],
)
async def test_the_answer_needs_no_page(check: str, met: bool) -> None:
    [verdict] = await judge([Check.parse(check)], answer="It  costs\n3 EUR. ")
    assert verdict["passed"] is met


async def test_without_a_page_other_checks_fail_and_say_why() -> None:
    verdicts = await judge([Check.parse("url=/x"), Check.parse("answer=yes")], answer="yes")
    assert [verdict["passed"] for verdict in verdicts] == [False, True]
    assert "this run has no page" in str(verdicts[0]["seen"])


@pytest.mark.parametrize(
    ("check", "why"),
    [("js=nosuch.thing", "nosuch is not defined"), ("js=(", "SyntaxError"), ("count:[[=1", "not a valid selector")],
)
async def test_what_cannot_be_judged_has_not_passed(browser: Browser, check: str, why: str) -> None:
    [verdict] = await judge([Check.parse(check)], answer="", page=DriverPage(browser.driver))
    assert verdict["passed"] is False
    assert str(verdict["seen"]).startswith("not judged: ") and why in str(verdict["seen"])


class Silent:
    """A page that answers nothing, or with an error of its own."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def _nothing(self) -> str:
        if self._error:
            raise self._error
        raise TimeoutError

    async def url(self) -> str:
        return await self._nothing()

    async def title(self) -> str:
        return await self._nothing()

    async def has_text(self, text: str) -> bool:
        return bool(await self._nothing())

    async def count(self, selector: str) -> int:
        return len(await self._nothing())

    async def evaluate(self, expression: str) -> Json:
        return await self._nothing()

    async def downloads(self) -> tuple[str, ...]:
        return (await self._nothing(),)


@pytest.mark.parametrize("error", [None, DriverError("gone"), RuntimeError("odd"), ValueError()])
async def test_a_page_that_fails_is_no_exception(error: Exception | None) -> None:
    checks = [
        Check.parse(text) for text in ("url=/", "title=a", "text=a", "no-text=a", "count:a=0", "js=1", "download=a")
    ]
    verdicts = await judge(checks, answer="", page=Silent(error))
    assert [verdict["passed"] for verdict in verdicts] == [False] * 7
    assert all(str(verdict["seen"]).startswith("not judged: ") for verdict in verdicts)


@pytest.mark.parametrize(
    "text",
    ["", "url", "url=", "text~=a", "js~=1", "count=3", "count:li", "count:li=x", "count:=3", "words=a", "=a", "js= "],
)
def test_what_is_no_check_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Check.parse(text)
    assert FORMS in str(refused.value)


def test_the_forms_are_all_of_them() -> None:
    samples = FORMS.replace("NUMBER", "3").replace(" or ", ", ").split(", ")
    assert {Check.parse(sample).kind for sample in samples} == {
        "url",
        "title",
        "text",
        "no-text",
        "count",
        "js",
        "answer",
        "download",
    }
