"""Frames of every kind, and a world of our own in each that the page can neither see nor break."""

from __future__ import annotations

import pytest

from agentloop.browser.abilities import Frame, PageScript
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import DriverError, DriverTimeout, TargetError
from tests.drivers.pages import Pages

WORDS = PageScript("test-words", "() => document.body.innerText.trim()")
STATE = PageScript("test-state", "(name) => { globalThis.known ??= []; known.push(name); return known; }")
FIND = PageScript("test-find", "(selector) => document.querySelector(selector)")


def cross_site(pages: Pages, html: str) -> str:
    """The page under another site's name."""
    return pages.url(html).replace("127.0.0.1", "localhost")


async def words(driver: PlaywrightDriver) -> dict[str, str]:
    """What each frame says, by the path of its address."""
    return {
        frame.url.rpartition("/")[2] or frame.url: str(await driver.run_script(frame.id, WORDS, None))
        for frame in await driver.frames()
    }


async def test_frames_of_other_sites_nested(driver: PlaywrightDriver, pages: Pages) -> None:
    innermost = pages.url("three")
    inner = cross_site(pages, f"two<iframe src={innermost}></iframe>")
    outer = pages.url(f"one<iframe src={inner}></iframe><iframe src={pages.url('local')}></iframe>")
    await driver.navigate(outer)
    frames = {frame.url: frame for frame in await driver.frames()}
    assert frames[innermost].parent == frames[inner].id
    assert frames[inner].parent == frames[outer].id
    found = await words(driver)
    assert sorted(found.values()) == ["local", "one", "three", "two"]
    child = await driver.child_frame("", FIND, "iframe")
    assert child == frames[inner].id
    assert await driver.child_frame(str(child), FIND, "iframe") == frames[innermost].id


async def test_a_frame_that_moves_between_sites_and_back(driver: PlaywrightDriver, pages: Pages) -> None:
    here, there = pages.url("here"), cross_site(pages, "there")
    await driver.navigate(pages.url(f"top<iframe id=f src={here}></iframe>"))
    documents = []
    for address, said in [(there, "there"), (here, "here"), (there, "there")]:
        loaded = f"new Promise(done => {{ f.onload = () => done(1); f.src = {address!r}; }})"
        await driver.eval(loaded)
        frame = await only_child(driver)
        documents.append(frame.document)
        assert (frame.url, await driver.run_script(frame.id, WORDS, None)) == (address, said)
    assert len(set(documents)) == 3
    await driver.eval("f.remove()")
    assert len(await driver.frames()) == 1
    with pytest.raises(TargetError):
        await driver.run_script(frame.id, WORDS, None)


async def only_child(driver: PlaywrightDriver) -> Frame:
    _, frame = await driver.frames()
    return frame


async def test_a_page_that_breaks_its_own_world(driver: PlaywrightDriver, pages: Pages) -> None:
    hostile = """<p id=t>safe<script>
      JSON.stringify = JSON.parse = () => "broken"; Array.prototype.toJSON = () => "broken";
      Document.prototype.querySelector = () => null; Promise.prototype.then = () => {};
    </script>"""
    await driver.navigate(pages.url(hostile))
    assert await driver.run_script("", WORDS, None) == "safe"
    assert await driver.run_script("", STATE, [1, {"a": "b"}]) == [[1, {"a": "b"}]]
    assert await driver.eval("typeof known") == "undefined"


async def test_state_goes_with_its_document(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("x"))
    assert await driver.run_script("", STATE, 1) == [1]
    assert await driver.run_script("", STATE, 2) == [1, 2]
    await driver.eval("history.pushState(0, 0, '/elsewhere'); document.body.innerHTML = 'new'")
    assert await driver.run_script("", STATE, 3) == [1, 2, 3]
    await driver.navigate(pages.url("x"))
    assert await driver.run_script("", STATE, 4) == [4]


async def test_a_reload_between_calls_is_not_seen(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("x"))
    for _ in range(3):
        await driver.eval("void location.reload()")
        assert isinstance(await driver.run_script("", STATE, 1), list)


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ("() => { throw new TypeError('mine') }", DriverError, "mine"),
        ("() => Promise.reject(new Error('later'))", DriverError, "later"),
        ("() => { for (;;); }", DriverTimeout, "without end"),
        ("() => new Promise(() => {})", DriverTimeout, "5 s"),
        ("() => {{{", DriverError, "SyntaxError"),
    ],
    ids=["throws", "rejects", "loops", "hangs", "is none"],
)
async def test_a_script_that_goes_wrong(
    driver: PlaywrightDriver, pages: Pages, source: str, error: type[DriverError], said: str
) -> None:
    await driver.navigate(pages.url("still here"))
    with pytest.raises(error, match=said):
        await driver.run_script("", PageScript(f"test-{source}", source), None)
    assert await driver.run_script("", WORDS, None) == "still here"


async def test_values_go_both_ways_as_json(driver: PlaywrightDriver) -> None:
    echo = PageScript("test-echo", "(value) => value")
    for value in (None, True, 1.5, "é\u2028🚀</script>", [1, [2]], {"a": {"b": None}}):
        assert await driver.run_script("", echo, value) == value
    assert await driver.run_script("", PageScript("test-nothing", "() => undefined"), None) is None


async def test_a_frame_that_never_answers_does_not_hold_the_others(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("top<iframe src=/hang></iframe>"))
    assert await driver.run_script("", WORDS, None) == "top"
    assert len(await driver.frames()) == 2
