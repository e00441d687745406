"""What an act caused is over when the watch ends, and what goes on by itself is not waited for."""

from __future__ import annotations

import pytest

from agentloop.browser.base import Effects
from agentloop.drivers import PlaywrightDriver
from tests.drivers.pages import Pages

OUT = "<div id=o></div>"
DONE = "o.textContent='done'"


async def act(driver: PlaywrightDriver, pages: Pages, html: str, *, ready: str = "#b") -> Effects:
    """Opens a page, waits until `ready` is there and drawn, and clicks on its #b with the pointer."""
    await driver.navigate(pages.url(html))
    await driver.wait_ready(ready)
    await driver.eval("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(1))))")
    x, y = await driver.eval("(r => [r.x + 4, r.y + 4])(b.getBoundingClientRect())")
    async with driver.watch() as watched:
        await driver.pointer_click(x, y)
    return watched.effects


async def out(driver: PlaywrightDriver) -> str:
    return str(await driver.eval("window.o && o.textContent"))


async def test_static_page(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, "<button id=b>x</button>")
    assert (effects.url, effects.document, effects.requests, effects.mutations) == (None, False, 0, 0)
    assert not effects.timed_out and effects.settle_ms < 1000


async def test_synchronous_change(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f"<button id=b onclick=\"o.innerHTML+='<p>new'\">x</button>{OUT}")
    assert effects.mutations > 0
    assert await out(driver) == "new"


async def test_class_change_counts_as_a_change(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f"<button id=b onclick=\"o.className='open'\">x</button>{OUT}")
    assert effects.mutations == 1


async def test_fetch_then_change(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f"<button id=b onclick=\"fetch('/delay/300').then(r=>{DONE})\">x</button>{OUT}")
    assert await out(driver) == "done"
    assert effects.requests == 1


async def test_chained_fetches(driver: PlaywrightDriver, pages: Pages) -> None:
    chain = f"fetch('/delay/150').then(r=>r.text()).then(()=>fetch('/delay/151')).then(()=>{{{DONE}}})"
    effects = await act(driver, pages, f'<button id=b onclick="{chain}">x</button>{OUT}')
    assert await out(driver) == "done"
    assert effects.requests == 2


@pytest.mark.parametrize(
    "script",
    [
        "setInterval(()=>fetch('/delay/80').then(r=>r.text()).then(t=>{q.textContent=Math.random()}),100)",
        "(function f(){fetch('/hang').then(f)})()",
        "new EventSource('/sse')",
    ],
    ids=["polling", "long polling", "event stream"],
)
async def test_what_the_page_does_by_itself_is_not_waited_for(
    driver: PlaywrightDriver, pages: Pages, script: str
) -> None:
    effects = await act(
        driver, pages, f'<button id=b onclick="{DONE}">x</button>{OUT}<p id=q></p><script>{script}</script>'
    )
    assert await out(driver) == "done"
    assert not effects.timed_out


@pytest.mark.parametrize("href", ["/delay/2000", "/target"], ids=["slow", "fast"])
async def test_navigation(driver: PlaywrightDriver, pages: Pages, href: str) -> None:
    effects = await act(driver, pages, f"<a id=b href={href}>x</a>")
    assert effects.url == pages.origin + href
    assert (effects.document, effects.status) == (True, 200)
    assert await driver.eval("t.textContent") in ("late", "target")


async def test_navigation_from_a_timer(driver: PlaywrightDriver, pages: Pages) -> None:
    await act(driver, pages, "<button id=b onclick=\"setTimeout(()=>location='/target',20)\">x</button>")
    await driver.wait_ready("#t")
    assert await driver.text("#t") == "target"


async def test_hash(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, "<a id=b href=#z>x</a>")
    assert effects.url is not None and effects.url.endswith("#z")
    assert not effects.document


async def test_push_state(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f"<button id=b onclick=\"history.pushState(0,0,'/zz');{DONE}\">x</button>{OUT}")
    assert effects.url == pages.origin + "/zz"
    assert await out(driver) == "done"


async def test_css_animation(driver: PlaywrightDriver, pages: Pages) -> None:
    style = (
        "<style>@keyframes k{to{transform:translateX(300px)}}#a{width:9px;height:9px;animation:k 1s infinite}</style>"
    )
    effects = await act(driver, pages, f"{style}<button id=b>x</button><div id=a></div>")
    assert effects.mutations == 0


async def test_script_animation_is_no_change(driver: PlaywrightDriver, pages: Pages) -> None:
    script = "<script>setInterval(()=>{a.innerHTML='<b>'+Math.random()},16)</script>"
    effects = await act(driver, pages, f"<button id=b>x</button><div id=a>0</div>{script}")
    assert effects.mutations == 0
    assert not effects.timed_out


async def test_download(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, "<a id=b href=/file>x</a>")
    assert [download.name for download in effects.downloads] == ["a.bin"]
    assert not effects.document


async def test_no_content(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, "<a id=b href=/204>x</a>")
    assert (effects.url, effects.document, effects.timed_out) == (None, False, False)


async def test_new_tab_becomes_the_active_one(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, "<a id=b target=_blank href=/target>x</a>")
    assert [(tab.url, tab.title) for tab in effects.opened] == [(pages.origin + "/target", "target")]
    assert await driver.text("#t") == "target"


async def test_written_popup(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(
        driver, pages, "<button id=b onclick=\"window.open('').document.write('<p id=t>written')\">x</button>"
    )
    assert len(effects.opened) == 1
    assert await driver.text("#t") == "written"


async def test_timer_cannot_be_told_from_idle(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f'<button id=b onclick="setTimeout(()=>{DONE},1500)">x</button>{OUT}')
    assert await out(driver) == ""
    assert not effects.timed_out


async def test_change_inside_a_frame_counts(driver: PlaywrightDriver, pages: Pages) -> None:
    inner = pages.path("<button onclick=\"this.outerHTML='<p>gone'\" style='position:fixed;inset:0'>x</button>")
    for host in ("127.0.0.1", "localhost"):
        origin = pages.origin.replace("127.0.0.1", host)
        frame = f"<iframe id=b onload='this.dataset.loaded=1' src={origin}{inner} style='border:0'></iframe>"
        effects = await act(driver, pages, frame, ready="#b[data-loaded]")
        assert effects.mutations > 0, host


async def test_hanging_image_does_not_hold_a_page(driver: PlaywrightDriver, pages: Pages) -> None:
    effects = await act(driver, pages, f'<button id=b onclick="{DONE}">x</button>{OUT}<img src=/hang>')
    assert await out(driver) == "done"
    assert not effects.timed_out


async def test_goto_waits_for_the_page_s_data(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url(f"{OUT}<script>fetch('/delay/1500').then(()=>{{{DONE}}})</script>"))
    assert await out(driver) == "done"


async def test_act_that_fails_is_not_waited_for(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p>x"))
    with pytest.raises(ZeroDivisionError):
        async with driver.watch() as watched:
            raise ZeroDivisionError
    assert watched.effects == Effects()
    await driver.navigate(pages.url("<p id=again>x"))
    assert await driver.text("#again") == "x"
