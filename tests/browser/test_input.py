"""A click is pressed on what was aimed at, whatever a page does when the pointer comes."""

from __future__ import annotations

import pytest

from agentloop.browser import Browser
from agentloop.browser.abilities import Frames
from agentloop.browser.page import evaluate
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import TargetError
from tests.browser.page_server import PageServer

HEAD = "<!doctype html><body>"
GO = "<button id=b onclick='document.title += this.textContent'>Preview</button>"
OTHER = (
    "<button id=o style='position:absolute;inset:0;width:300px;height:99px;display:none' "
    "onmousedown='document.title += 1'>Pay</button>"
)

REFUSED = {
    "words at a move": (GO + "<script>b.onmousemove = () => (b.textContent = 'Confirm purchase')</script>", "changed"),
    "words at an entry": (GO + "<script>b.onpointerenter = () => (b.textContent = 'Pay')</script>", "changed"),
    "a name": (GO + "<script>b.onmouseover = () => b.setAttribute('aria-label', 'Pay')</script>", "changed"),
    "a style": (
        "<style>b{display:none} button:hover b{display:inline} button:hover i{display:none}</style>"
        "<button id=b onclick='document.title += 1'><i>Preview</i><b>Pay</b></button>",
        "changed",
    ),
    "a title": (
        "<button id=b title=Preview onclick='document.title += 1' style='width:40px;height:40px'></button>"
        "<script>b.onmouseover = () => (b.title = 'Pay')</script>",
        "changed",
    ),
    "another above": (GO + OTHER + "<script>b.onmouseover = () => (o.style.display = 'block')</script>", "covered"),
    "disabled": (GO + "<script>b.onmouseover = () => (b.disabled = true)</script>", "disabled"),
    "always away": (
        GO + "<script>b.onmousemove = () => (b.style.marginLeft = (b.offsetLeft + 99) + 'px')</script>",
        "covered",
    ),
}

PRESSED = {
    "words that come": (GO + "<script>b.onmouseover = () => (b.textContent = 'Preview it')</script>", "Preview it"),
    "words that go": (
        GO.replace("Preview<", "Preview it<") + "<script>b.onmouseover = () => (b.textContent = 'Preview')</script>",
        "Preview",
    ),
    "a figure": (
        GO.replace("Preview<", "Preview 3<") + "<script>b.onmousemove = () => (b.textContent = 'Preview 4')</script>",
        "Preview 4",
    ),
    "larger": (GO + "<style>button:hover{transform:scale(1.4) translateY(-4px)}</style>", "Preview"),
    "once away": (GO + "<script>b.onmouseover = () => (b.style.marginLeft = '200px')</script>", "Preview"),
    "drawn again": (
        f"<div id=d>{GO}</div><script>d.onmouseover = () => {{ d.onmouseover = null; "
        "d.innerHTML = d.innerHTML }</script>",
        "Preview",
    ),
    "a button that comes over its middle": (
        "<style>a{position:relative;display:block;width:300px;height:90px} a:hover span{display:block}"
        "span{position:absolute;display:none;left:120px;top:30px;width:60px;height:30px}</style>"
        "<a href=#x onclick='document.title += 1'>Preview"
        "<span role=button onclick='document.title += 2; event.stopPropagation()'>Pay</span></a>",
        "1",
    ),
}


@pytest.fixture
def browser(driver: PlaywrightDriver) -> Browser:
    return Browser(driver)


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("framed", [False, True])
async def test_what_turns_into_another_thing_is_not_pressed(
    browser: Browser, pages: PageServer, case: str, framed: bool
) -> None:
    html, reason = REFUSED[case]
    await opened(browser, pages, html, framed=framed)
    [mark] = [mark for mark in await browser.mark() if mark.name == "Preview"]
    with pytest.raises(TargetError) as refused:
        await browser.click(mark)
    assert refused.value.reason == reason
    assert await seen(browser, framed=framed) == ""


@pytest.mark.parametrize("case", PRESSED)
@pytest.mark.parametrize("framed", [False, True])
async def test_what_stays_what_it_is_is_pressed(browser: Browser, pages: PageServer, case: str, framed: bool) -> None:
    html, want = PRESSED[case]
    await opened(browser, pages, html, framed=framed)
    [mark] = [mark for mark in await browser.mark() if mark.name.startswith("Preview")]
    await browser.click(mark)
    assert await seen(browser, framed=framed) == want


async def test_a_selector_and_a_second_click_are_checked_too(browser: Browser, pages: PageServer) -> None:
    html, _ = REFUSED["words at a move"]
    await opened(browser, pages, html, framed=False)
    with pytest.raises(TargetError, match="Confirm purchase"):
        await browser.click("#b")
    await opened(browser, pages, html, framed=False)
    with pytest.raises(TargetError, match="Confirm purchase"):
        await browser.double_click(("Preview", 1))
    await browser.click(("Confirm purchase", 1))
    assert await seen(browser, framed=False) == "Confirm purchase"


async def test_a_page_hears_of_one_move_before_the_press(browser: Browser, pages: PageServer) -> None:
    """Else it would change things at the second, after they were checked."""
    await opened(browser, pages, GO + "<script>b.onmousemove = () => (document.title += 'm')</script>", framed=False)
    await browser.click(("Preview", 1))
    assert await seen(browser, framed=False) == "mPreview"


async def opened(browser: Browser, pages: PageServer, html: str, *, framed: bool) -> None:
    """The page itself, or one that shows it in a frame of another site."""
    pages.put(HEAD + html, "/in")
    inner = pages.address("/in", host="localhost")
    pages.put(f"<body style='margin:30px'><iframe width=900 height=400 src='{inner}'></iframe>", "/out")
    await browser.goto(pages.address("/out" if framed else "/in"))


async def seen(browser: Browser, *, framed: bool) -> object:
    frames = await frames_of(browser)
    return await evaluate(browser.driver, "title", None, frame=frames[-1] if framed else frames[0])


async def frames_of(browser: Browser) -> list[str]:
    assert isinstance(browser.driver, Frames)
    return [frame.id for frame in await browser.driver.frames()]
