"""The page changes between the listing and the click: the right thing is clicked, or nothing and the reason is told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agentloop.browser.base import Mark
from agentloop.browser.listing import Aim, Listing
from agentloop.browser.marks import Marks
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import TargetError
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer

HEAD = '<!doctype html><body><script>window.seen = ""; window.hit = (what) => (window.seen += what)</script>'
GO = "<button onclick='hit(1)'>Go</button>"
TALL = "<div style='height:3000px'></div>"


def rows(items: str, label: str = "${x}", before: str = "") -> str:
    """A list drawn by `draw()` from `items`, each a row with a button that tells which row it is."""
    button = f"<button onclick=\"hit('${{x}}')\">{label}</button>"
    return (
        f"<div id=l></div><script>let items = {items}; window.draw = () => {{ l.innerHTML = items.map((x) => "
        f"`<div style='height:60px'>{before}{button}</div>`).join('') }}; draw()</script>"
    )


@dataclass(frozen=True)
class Case:
    """`mark`: name, or name#place among its equals. `want`: what the page has seen after; or `refused`: the reason."""

    name: str
    body: str
    change: str
    mark: str
    want: str = ""
    refused: str = ""
    says: str = ""
    repaired: bool = False


CASES = (
    Case("drawn again, the same", rows("['a', 'b', 'c']"), "draw()", "b", "b", repaired=True),
    Case("a row inserted above", rows("['a', 'b', 'c']"), "items.unshift('new'); draw()", "b", "b", repaired=True),
    Case(
        "alike in rows, the first removed: by the text beside it",
        rows("['a', 'b', 'c']", "Delete", "${x} "),
        "items.shift(); draw()",
        "Delete#1",
        "b",
        repaired=True,
    ),
    Case(
        "alike without any text beside, one removed",
        rows("[1, 2, 3]", "Delete"),
        "items.shift(); draw()",
        "Delete#2",
        refused="gone",
        says="nothing was done",
    ),
    Case(
        "only figures changed",
        "<button id=k onclick='hit(1)'>Like (3)</button>",
        "k.textContent = 'Like (4)'",
        "Like (3)",
        "1",
    ),
    Case(
        "the element has other words now",
        "<button id=k onclick='hit(this.textContent)'>Cancel</button>",
        "k.textContent = 'Delete all'",
        "Cancel",
        refused="changed",
        says='was "Cancel" and is now "Delete all"',
    ),
    Case("moved by layout", "<div id=ad></div>" + GO, "ad.style.height = '200px'", "Go", "1"),
    Case("scrolled away", GO + TALL, "scrollTo(0, 2000)", "Go", "1"),
    Case(
        "scrolled under a sticky header",
        "<div style='position:sticky;top:0;height:80px;background:#ccc'></div><div style='height:300px'></div>"
        + GO
        + TALL,
        "scrollTo(0, 310)",
        "Go",
        "1",
    ),
    Case(
        "scrolled inside a scroller",
        f"<div id=s style='height:100px;overflow:auto'><div style='height:40px'></div>{GO}"
        "<div style='height:900px'></div></div>",
        "s.scrollTop = 500",
        "Go",
        "1",
    ),
    Case(
        "an overlay appeared",
        GO + "<div id=consent style='display:none;position:fixed;inset:0;background:#0008'>We use cookies</div>",
        "consent.style.display = 'block'",
        "Go",
        refused="covered",
        says='div#consent "We use cookies"',
    ),
    Case(
        "became disabled",
        "<button id=k onclick='hit(1)'>Go</button>",
        "k.disabled = true",
        "Go",
        refused="disabled",
        says="disabled",
    ),
    Case(
        "removed",
        "<button id=k onclick='hit(1)'>Go</button>",
        "k.remove()",
        "Go",
        refused="gone",
        says="nothing like it is there",
    ),
    Case(
        "its frame was loaded again",
        "<iframe id=f srcdoc=\"<button onclick='parent.hit(1)'>Go</button>\"></iframe>",
        "f.srcdoc = f.srcdoc",
        "Go",
        "1",
        repaired=True,
    ),
    Case("the page was loaded again", GO, "location.reload()", "Go", "1", repaired=True),
    Case(
        "smooth scrolling",
        "<style>html { scroll-behavior: smooth }</style>" + GO + TALL,
        "scrollTo({top: 2000, behavior: 'instant'})",
        "Go",
        "1",
    ),
    Case(
        "moving without end",
        "<style>@keyframes m { to { transform: translateX(400px) } }</style>"
        "<button style='animation:m 4s linear infinite alternate;width:80px' onclick='hit(1)'>Go</button>",
        "1",
        "Go",
        "1",
    ),
    Case(
        "moves when pressed",
        "<button onclick='hit(1)' onmousedown=\"this.style.marginTop = '2px'\">Go</button>",
        "1",
        "Go",
        "1",
    ),
    Case(
        "nodes reused for other rows",
        rows("['a', 'b', 'c']", "Delete", "<b>${x}</b> "),
        "document.querySelectorAll('#l > div').forEach((row, i) => { const x = 'bcd'[i]; "
        "row.firstChild.textContent = x; row.lastChild.onclick = () => hit(x) })",
        "Delete#1",
        "b",
        repaired=True,
    ),
    Case(
        "the row beside it is another one now",
        rows("['a', 'b', 'c']", "Delete", "<b>${x}</b> "),
        "document.querySelectorAll('#l b')[1].textContent = 'z'",
        "Delete#1",
        refused="changed",
        says='is not "b" any more',
    ),
    Case(
        "a link in the middle of a card is not the card",
        "<div onclick=\"hit('card')\" style='width:300px;padding:30px 0;text-align:center'>"
        "<a href='#l' onclick=\"event.stopPropagation(); hit('link')\" style='padding:9px 40px'>x y z</a></div>",
        "1",
        "x y z",
        "card",
    ),
    Case(
        "hidden now",
        "<button id=k onclick='hit(1)'>Go</button>",
        "k.style.display = 'none'",
        "Go",
        refused="hidden",
        says="not shown",
    ),
    Case(
        "under an open dialog",
        GO + "<dialog id=d aria-label=Sure></dialog>",
        "d.showModal()",
        "Go",
        refused="covered",
        says='dialog#d "Sure"',
    ),
)


def pick(listing: Listing, wanted: str) -> Mark:
    name, _, place = wanted.partition("#")
    return [mark for mark in listing.marks if mark.name == name][int(place or 0)]


async def changed(case: Case, driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> Mark:
    """The mark as it was listed, after the page has changed."""
    name = case.mark.partition("#")[0]
    await driver.navigate(pages.put(HEAD + case.body))
    listing = await eventually(marks.list, lambda listing: any(mark.name == name for mark in listing.marks))
    before = await driver.eval("performance.timeOrigin")
    await driver.eval(f"(() => {{ {case.change} }})()")
    if "reload" in case.change:
        ready = "document.readyState === 'complete' && performance.timeOrigin"
        await eventually(lambda: driver.eval(ready), lambda origin: origin not in (False, before))
    if "srcdoc" in case.change:
        await eventually(lambda: driver.eval("f.contentDocument.readyState"), lambda state: state == "complete")
    return pick(listing, case.mark)


async def aimed(mark: Mark, marks: Marks) -> Aim | TargetError:
    try:
        return await marks.aim(mark)
    except TargetError as error:
        return error


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_clicks_the_right_thing_or_says_why_not(
    case: Case, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    mark = await changed(case, driver, marks, pages)
    result = await aimed(mark, marks)
    if case.refused:
        assert isinstance(result, TargetError)
        assert (result.reason, case.says in str(result)) == (case.refused, True), str(result)
        assert await driver.eval("window.seen") == ""
        return
    assert isinstance(result, Aim), result
    assert result.repaired is case.repaired
    await driver.pointer_click(result.x, result.y)
    assert await eventually(lambda: driver.eval("window.seen"), lambda seen: seen == case.want) == case.want


async def test_a_number_of_the_page_before_is_refused(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    second = pages.put(HEAD + GO, "/second")
    await driver.navigate(pages.put(HEAD + "<button>Stay</button>" + GO))
    mark = pick(await marks.list(), "Go")
    await driver.navigate(second)
    with pytest.raises(TargetError, match=r"belonged to .*; the page is now .*/second") as caught:
        await marks.aim(mark)
    assert caught.value.reason == "stale"
    assert await driver.eval("window.seen") == ""
    with pytest.raises(TargetError, match="belonged to the page before; this one has marks 1 to 1") as caught:
        marks.get(2)
    assert caught.value.reason == "stale"
    assert marks.get(1).name == "Go"


async def test_a_number_never_given_is_missing(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    with pytest.raises(TargetError, match="nothing is listed yet") as caught:
        marks.get(1)
    assert caught.value.reason == "missing"
    await driver.navigate(pages.put(HEAD + GO))
    await marks.list()
    with pytest.raises(TargetError, match="no mark 999: this page has marks 1 to 1"):
        marks.get(999)


async def test_does_not_scroll_without_need(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    await driver.navigate(pages.put(HEAD + "<div style='height:500px'></div>" + GO + TALL))
    await driver.eval("scrollTo(0, 100)")
    aim = await marks.aim(pick(await marks.list(), "Go"))
    assert not aim.scrolled
    assert await driver.eval("scrollY") == 100


async def test_scrolls_to_what_is_out_of_sight(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    await driver.navigate(pages.put(HEAD + GO + TALL))
    mark = pick(await marks.list(), "Go")
    await driver.eval("scrollTo(0, 2500)")
    assert (await marks.aim(mark)).scrolled


async def test_a_control_in_a_sandboxed_frame_is_reached_and_refused_when_the_frame_is_covered(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    inner = "<button onclick='parent.postMessage(1, &quot;*&quot;)'>In</button>"
    frame = f'<iframe sandbox=allow-scripts srcdoc="{inner}"></iframe>'
    cover = "<div id=veil hidden style='position:fixed;inset:0;background:#0008'></div>"
    script = "<script>onmessage = (event) => hit(event.data)</script>"
    await driver.navigate(pages.put(HEAD + "<div style='height:900px'></div>" + frame + TALL + cover + script))
    await driver.eval("scrollTo(0, 800)")
    listing = await eventually(marks.list, lambda listing: bool(listing.marks))
    mark = pick(listing, "In")
    await driver.eval("scrollTo(0, 0)")
    aim = await marks.aim(mark)
    assert aim.scrolled
    await driver.pointer_click(aim.x, aim.y)
    assert await eventually(lambda: driver.eval("window.seen"), lambda seen: seen == "1") == "1"
    await driver.eval("void (veil.hidden = false)")
    with pytest.raises(TargetError, match="covered by div#veil"):
        await marks.aim(mark)
