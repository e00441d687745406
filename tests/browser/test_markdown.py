"""The page as Markdown holds what a person gets to see by scrolling, and nothing else."""

from __future__ import annotations

import pytest

from agentloop.browser.page import markdown
from agentloop.drivers import PlaywrightDriver
from tests.browser.page_server import PageServer

HEAD = "<!doctype html><h1>Top</h1>"
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

UNSEEN = {
    "white on white": "<p style='color:#fff'>word</p>",
    "nearly white": "<p style='color:#fefefe'>word</p>",
    "transparent": "<p style='color:transparent'>word</p>",
    "its own colour": "<p style='background:#123;color:#123'>word</p>",
    "faint": "<div style='opacity:.2'><p style='opacity:.2'>word</p></div>",
    "tiny": "<p style='font-size:1px'>word</p>",
    "to the left": "<p style='position:absolute;left:-9999px'>word</p>",
    "above": "<p style='position:absolute;top:-9999px'>word</p>",
    "indented": "<p style='text-indent:-9999px;overflow:hidden'>word</p>",
    "clipped": "<p style='position:absolute;clip-path:inset(50%)'>word</p>",
    "clipped the old way": "<p style='position:absolute;clip:rect(0,0,0,0)'>word</p>",
    "for screen readers": "<p style='position:absolute;width:1px;height:1px;overflow:hidden'>word</p>",
    "flat": "<p style='height:0;overflow:hidden'>word</p>",
    "shrunk": "<p style='transform:scale(0)'>word</p>",
    "beneath": "<div style='position:relative;height:30px'><p style='margin:0'>word</p>"
    "<div style='position:absolute;inset:0;background:#eee'></div></div>",
    "code": "<pre>code <span style='color:#fff'>word</span></pre>",
    "a cell": "<table><tr><td style='color:#fff'>word<td>b</table>",
    "a flat picture": f"<img alt=word width=1 height=1 src='{DOT}'>",
    "beside a pane": "<div style='overflow:auto;height:50px;position:relative'><p style='position:absolute;"
    "left:-999px'>word</p>x</div>",
    "a hidden frame": "<iframe srcdoc=word style='display:none'></iframe>",
    "a flat frame": "<iframe srcdoc=word width=1 height=1></iframe>",
    "a faint frame": "<iframe srcdoc=word style='opacity:0'></iframe>",
    "a frame beside": "<iframe srcdoc=word style='position:absolute;left:-999px'></iframe>",
    "a hidden attribute": "<p hidden>word</p>",
}

SEEN = {
    "plain": "<p>word</p>",
    "far below": "<div style='height:9000px'></div><p>word</p>",
    "far to the right": "<p style='margin-left:3000px'>word</p>",
    "down a pane": "<div style='overflow:auto;height:50px'><div style='height:900px'></div>word</div>",
    "down a pane in a shell": "<div style='overflow:hidden;height:90vh'><div style='overflow:auto;height:100%'>"
    "<div style='height:2900px'></div><p>word</p></div></div>",
    "scrolled past in a pane": "<div style='overflow:auto;height:50px' id=p>word<div style='height:900px'></div></div>"
    "<script>p.scrollTop = 500</script>",
    "scrolled past": "<p>word</p><div style='height:9000px'></div><script>scrollTo(0, 5000)</script>",
    "behind a banner": "<p>word</p><div style='position:fixed;inset:0;background:#eee'></div>",
    "behind a sticky bar": "<div style='position:sticky;top:0;background:#fff;height:200px'></div><p "
    "style='margin-top:-100px'>word</p>",
    "not rendered yet": "<div style='height:9000px'></div><div style='content-visibility:auto'><p>word</p></div>",
    "white on a picture": "<div style='background:linear-gradient(#000,#111);color:#fff'>word</div>",
    "white on black": "<div style='background:#000'><p style='color:#fff'>word</p></div>",
    "above a picture": "<div style='position:relative'><img width=300 height=90><p style='position:absolute;top:9px;"
    "pointer-events:none'>word</p></div>",
    "from right to left": "<div dir=rtl style='width:4000px'><p style='margin-right:3500px'>word</p></div>",
    "a page from right to left": "<script>document.documentElement.dir = 'rtl'</script><p style='margin-right:3000px;"
    "width:99px'>word</p>",
    "down to down": "<p style='writing-mode:vertical-rl'>word</p>",
    "a frame": "<iframe srcdoc=word></iframe>",
    "a frame far below": "<div style='height:9000px'></div><iframe srcdoc=word></iframe>",
    "a slot": "<div id=h>word</div><script>h.attachShadow({mode: 'open'}).innerHTML = '<p><slot></slot></p>'</script>",
    "code": "<pre>a\n  word</pre>",
    "in no box": "<div style='display:contents'>word</div>",
    "columns": "<div style='columns:3;height:200px'>a<div style='height:500px'></div>word</div>",
    "zoomed": "<div style='zoom:2'>word</div>",
    "a picture": "<img alt=word width=30 height=30>",
    "quirks": "<!-- --><font color=red><center>word</center></font>",
}


@pytest.mark.parametrize("case", UNSEEN)
async def test_what_nobody_sees_is_left_out(driver: PlaywrightDriver, pages: PageServer, case: str) -> None:
    await driver.navigate(pages.put(HEAD + UNSEEN[case] + "<p>end</p>"))
    text = await markdown(driver)
    assert text.startswith("# Top") and "word" not in text and "end" in text


@pytest.mark.parametrize("case", SEEN)
async def test_what_can_be_seen_is_told(driver: PlaywrightDriver, pages: PageServer, case: str) -> None:
    await driver.navigate(pages.put(HEAD + SEEN[case]))
    assert "word" in await markdown(driver)


async def test_code_keeps_its_lines(driver: PlaywrightDriver, pages: PageServer) -> None:
    await driver.navigate(pages.put("<pre>\nif x:\n    <b>go</b>()<br>end\n</pre>"))
    assert await markdown(driver) == "```\nif x:\n    go()\nend\n```"


async def test_each_reading_is_of_the_page_as_it_is(driver: PlaywrightDriver, pages: PageServer) -> None:
    await driver.navigate(pages.put("<p id=p>word</p>"))
    assert await markdown(driver) == "word"
    await driver.eval("void (p.style.color = '#fff')")
    assert await markdown(driver) == ""


async def test_what_a_picture_holds_is_no_address(driver: PlaywrightDriver, pages: PageServer) -> None:
    await driver.navigate(pages.put(f"<img alt=word width=30 height=30 src='{DOT}'>"))
    assert await markdown(driver) == "![word]()"


async def test_a_page_nested_beyond_any_stack_is_read(driver: PlaywrightDriver, pages: PageServer) -> None:
    deep = "let d = document.body; for (let n = 0; n < 2500; n++) d = d.appendChild(document.createElement('div'))"
    await driver.navigate(pages.put(f"<p>first</p><script>{deep}; d.textContent = 'word'</script>"))
    text = await markdown(driver)
    assert text.startswith("first") and text.endswith("word")
