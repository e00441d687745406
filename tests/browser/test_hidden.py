"""What page script cannot see: closed shadow roots, and elements that only listen; in frames of other sites too."""

from __future__ import annotations

import pytest

from agentloop.browser import Browser, Hidden
from agentloop.browser.listing import Listing
from agentloop.browser.marks import Marks
from agentloop.drivers import PlaywrightDriver
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer

HEAD = "<!doctype html><body><script>window.seen = ''; window.hit = (what) => (window.seen += what)</script>"
CLOSE = (
    "<script>function close_in(host, html) { const root = host.attachShadow({mode: 'closed'}); root.innerHTML = html; "
    "return root }</script>"
)


def said(listing: Listing) -> list[tuple[str, str]]:
    return [(mark.role, mark.name) for mark in listing.marks]


async def opened(driver: PlaywrightDriver, marks: Marks, pages: PageServer, body: str) -> Listing:
    await driver.navigate(pages.put(HEAD + CLOSE + body))
    return await marks.list()


async def clicked(driver: PlaywrightDriver, marks: Marks, name: str) -> str:
    aim = await marks.aim(next(mark for mark in (await marks.list()).marks if mark.name == name))
    await driver.pointer_click(aim.x, aim.y)
    return str(await eventually(lambda: driver.eval("seen"), bool))


async def test_the_driver_can(driver: PlaywrightDriver) -> None:
    assert isinstance(driver, Hidden)


HOSTS = {
    "a custom element": ("<x-c></x-c>", "document.querySelector('x-c')"),
    "an empty div": ("<div id=h></div>", "h"),
    "a div whose own content is not shown": ("<div id=h><p>kept out</p></div>", "h"),
}


@pytest.mark.parametrize(("body", "where"), HOSTS.values(), ids=HOSTS)
async def test_a_closed_root_is_read_listed_and_clicked(
    body: str, where: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    script = (
        f"<script>close_in({where}, '<p>Inside</p><button onclick=\"hit(1)\">Cl</button><input aria-label=Q>')</script>"
    )
    listing = await opened(driver, marks, pages, body + script)
    assert said(listing) == [("button", "Cl"), ("textbox", "Q")]
    assert "Inside" in (await marks.look()).text
    assert await clicked(driver, marks, "Cl") == "1"
    browser = Browser(driver)
    await browser.mark()
    await browser.type("Q", "typed")
    assert await browser.value("Q") == "typed"


async def test_closed_roots_in_each_other_and_what_is_slotted(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    script = (
        "<script>const root = close_in(h, '<div id=in></div><p><slot></slot></p>'); "
        "close_in(root.getElementById('in'), '<button onclick=\"hit(2)\">Deep</button>')</script>"
    )
    listing = await opened(driver, marks, pages, f"<x-h id=h><button onclick='hit(3)'>Slotted</button></x-h>{script}")
    assert said(listing) == [("button", "Deep"), ("button", "Slotted")]
    assert await clicked(driver, marks, "Deep") == "2"
    assert await clicked(driver, marks, "Slotted") == "23"


async def test_a_root_that_is_closed_later_is_found_once_it_takes_up_room(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    listing = await opened(driver, marks, pages, "<button>Top</button><x-l id=h></x-l>")
    assert said(listing) == [("button", "Top")]
    await driver.eval("void close_in(h, '<button>Late</button>')")
    assert said(await marks.list()) == [("button", "Top"), ("button", "Late")]


LISTENERS = {
    "click": "q.addEventListener('click', () => hit(1))",
    "pointerdown": "q.addEventListener('pointerdown', () => hit(1))",
    "property": "q.onclick = () => hit(1)",
}


@pytest.mark.parametrize("script", LISTENERS.values(), ids=LISTENERS)
async def test_what_only_listens_is_listed_and_clicked(
    script: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = f"<div style='width:60px' id=q>quiet</div><p>plain</p><script>{script}</script>"
    assert said(await opened(driver, marks, pages, body)) == [("clickable", "quiet")]
    assert await clicked(driver, marks, "quiet") == "1"


async def test_what_listens_no_more_is_listed_no_more(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = "<div style='width:60px' id=q>quiet</div><script>const f = () => 1; q.addEventListener('click', f)</script>"
    assert said(await opened(driver, marks, pages, body)) == [("clickable", "quiet")]
    await driver.eval("q.removeEventListener('click', f)")
    assert said(await marks.list()) == []
    await driver.eval("q.addEventListener('click', f)")
    assert said(await marks.list()) == [("clickable", "quiet")]


FOR_OTHERS = {
    "a list that delegates": "<ul id=q><li>one<li>two</ul>",
    "the whole page": "<div id=q style='height:100vh'>everything</div>",
    "a wrapper of a field": "<div id=q style='padding:9px'><input aria-label=F></div>",
    "a box around many controls": "<div id=q style='padding:9px'>" + "<button>b</button>" * 5 + "</div>",
    "what listens to keys": "<p id=k>keys</p><script>k.addEventListener('keydown', () => 1)</script>",
}


@pytest.mark.parametrize("html", FOR_OTHERS.values(), ids=FOR_OTHERS)
async def test_what_listens_for_others_is_no_mark(
    html: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    listen = "<script>document.getElementById('q')?.addEventListener('click', () => 1)</script>"
    listing = await opened(driver, marks, pages, html + listen)
    assert [mark.role for mark in listing.marks if mark.role == "clickable"] == []


async def test_a_card_that_listens_and_its_link_are_both_listed(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = (
        "<div id=q style='width:300px;height:100px'><a href='#l'>Title</a></div>"
        "<script>q.addEventListener('click', () => hit('c'))</script>"
    )
    assert said(await opened(driver, marks, pages, body)) == [("clickable", "Title"), ("link", "Title")]


async def test_of_very_many_that_listen_those_in_sight_are_listed(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = (
        "<div id=l></div><script>for (let n = 0; n < 3000; n++) { const row = document.createElement('div'); "
        "row.textContent = 'row ' + n; row.style.height = '30px'; row.addEventListener('click', () => hit(n)); "
        "l.append(row) }</script>"
    )
    listing = await opened(driver, marks, pages, body)
    assert said(listing)[0] == ("clickable", "row 0")
    assert 20 < len(listing.marks) < 30
    await driver.eval("scrollTo(0, 30000)")
    assert said(await marks.list())[5][1].startswith("row 100")


@pytest.mark.parametrize("site", ["127.0.0.1", "localhost"], ids=["same site", "other site"])
async def test_frames_are_searched_too(site: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    pages.put(
        f"{HEAD}{CLOSE}<p id=a>prop</p><p id=b>listens</p><x-h id=h></x-h>"
        "<script>a.onclick = () => 1; b.addEventListener('click', () => { b.textContent = 'heard' }); "
        "close_in(h, '<button>Cl</button>')</script>",
        "/inner",
    )
    await driver.navigate(
        pages.put(f"{HEAD}<button>Top</button><iframe src={pages.address('/inner', host=site)}></iframe>")
    )
    wanted = [("button", "Top"), ("clickable", "prop"), ("clickable", "listens"), ("button", "Cl")]
    assert said(await eventually(marks.list, lambda listing: said(listing) == wanted)) == wanted
    aim = await marks.aim((await marks.list()).marks[2])
    await driver.pointer_click(aim.x, aim.y)
    assert "heard" in dict(map(reversed, said(await eventually(marks.list, lambda new: "heard" in str(new)))))  # type: ignore[arg-type]


async def test_a_page_that_names_its_elements_after_our_world_is_read(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = "<div id=__q7xk2vd9h></div><form id=__agentloopQuiet></form><button>Go</button>"
    assert said(await opened(driver, marks, pages, body)) == [("button", "Go")]
    async with driver.watch() as watched:
        await driver.eval("document.querySelector('button').className = 'x'")
    assert watched.effects.mutations == 1
