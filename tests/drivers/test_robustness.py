"""Pages that do their worst: each ends in one clear error within its bound, and the session goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web

from agentloop.browser.base import DialogAnswer
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import BrowserLost, Closed, DriverError, DriverTimeout, InvalidInput, NavigationError
from tests.drivers.pages import Pages

FREEZE = "const until=Date.now()+60000;while(Date.now()<until);"


async def test_dialogs_are_answered_and_remembered(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p>x"))
    assert await driver.eval("[alert('hi'), confirm('sure?'), prompt('name?', 'Bo')]") == [None, False, None]
    await driver.on_dialog(DialogAnswer(accept=True, text="Ann"))
    assert await driver.eval("[confirm('sure?'), prompt('name?')]") == [True, "Ann"]
    await driver.on_dialog(None)
    assert await driver.eval("confirm('again?')") is False
    seen = [(dialog.kind, dialog.message, dialog.accepted) for dialog in await driver.dialogs()]
    assert seen == [
        ("alert", "hi", True),
        ("confirm", "sure?", False),
        ("prompt", "name?", False),
        ("confirm", "sure?", True),
        ("prompt", "name?", True),
        ("confirm", "again?", False),
    ]


async def test_dialog_at_load(driver: PlaywrightDriver, pages: Pages) -> None:
    async with driver.watch() as watched:
        await driver.navigate(pages.url("<script>alert('first')</script><p id=t>x"))
    assert [dialog.message for dialog in watched.effects.dialogs] == ["first"]
    assert await driver.text("#t") == "x"


async def test_page_that_asks_whether_to_leave_is_left(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<input id=i><script>onbeforeunload=e=>e.preventDefault()</script>"))
    await driver.send_keys("#i", "dirty")
    await driver.on_dialog(DialogAnswer(accept=False))
    await driver.navigate(pages.url("<p id=t>next"))
    assert await driver.text("#t") == "next"


async def test_endless_loop_in_eval(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p id=t>x"))
    began = time.monotonic()
    with pytest.raises(DriverTimeout, match="5 s"):
        await driver.eval("for(;;);")
    assert time.monotonic() - began < 8
    assert await driver.text("#t") == "x"


async def test_promise_that_never_ends(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p id=t>x"))
    with pytest.raises(DriverTimeout):
        await driver.eval("new Promise(() => {})")
    assert await driver.eval("1 + 1") == 2


async def test_endless_loop_of_the_page_s_own(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url(f'<p id=t>x</p><button id=b onclick="{FREEZE}">freeze</button>'))
    with pytest.raises(DriverTimeout, match="without end"):
        await driver.click("#b")
    assert await driver.text("#t") == "x"


async def test_endless_loop_is_ended_before_the_next_page(driver: PlaywrightDriver, pages: Pages) -> None:
    began = asyncio.Event()

    async def begin(_request: web.Request) -> web.Response:
        began.set()
        return web.Response()

    await driver.navigate(pages.url("<p>x"))
    # The page tells that it begins, which it waits for, and then runs without end.
    tell = f"const told = new XMLHttpRequest(); told.open('GET', '{pages.path(begin)}', false); told.send()"
    await driver.eval(f"void setTimeout(() => {{ {tell}; {FREEZE} }}, 0)")
    async with asyncio.timeout(10):
        await began.wait()
    await driver.navigate(pages.url("<p id=t>next"))
    assert await driver.text("#t") == "next"


async def test_crashed_page_is_replaced(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p>x"))
    with pytest.raises(DriverError, match="crashed and was replaced"):
        await crash_during_a_call(driver)
    await driver.navigate(pages.url("<p id=t>after"))
    assert await driver.text("#t") == "after"
    assert len(await driver.tabs()) == 1


async def test_two_crashes_in_a_row_lose_the_browser(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p>x"))
    with pytest.raises(DriverError, match="replaced"):
        await crash_during_a_call(driver)
    with pytest.raises(BrowserLost):
        await crash_during_a_call(driver)


async def crash_during_a_call(driver: PlaywrightDriver) -> None:
    """Kills the renderer while it evaluates."""

    session = driver._tabs.active
    assert session is not None
    evaluating = asyncio.Event()
    session.page.once("console", lambda _: evaluating.set())
    waiting = asyncio.create_task(driver.eval("new Promise(() => console.log('evaluating'))"))
    await evaluating.wait()
    crashing = asyncio.create_task(crash_page(driver))
    try:
        await waiting
    finally:
        crashing.cancel()


async def crash_page(driver: PlaywrightDriver) -> None:
    session = driver._tabs.active
    assert session is not None
    await session.cdp.send("Page.crash")  # it never answers


async def test_page_that_crashed_meanwhile_is_replaced_for_goto(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p>x"))
    session = driver._tabs.active
    assert session is not None
    crashing = asyncio.create_task(crash_page(driver))
    crashed = asyncio.Event()
    session.page.on("crash", lambda _: crashed.set())
    await crashed.wait()
    await driver.navigate(pages.url("<p id=t>after"))
    assert await driver.text("#t") == "after"
    crashing.cancel()


async def test_popup_storm(driver: PlaywrightDriver, pages: Pages) -> None:
    await driver.navigate(pages.url("<p id=b>x"))
    # From a timer, one after the other: no call of ours has to last as long as the storm.
    storm = "(function next(i) { if (i < 16) { window.open('/target?' + i); setTimeout(next, 0, i + 1) } })(0)"
    await driver.eval(f"void setTimeout(() => {storm}, 0)")
    async with asyncio.timeout(50):
        while driver._tabs.arrived < 17:
            await driver._tabs.expect(17)
    tabs = await driver.tabs()
    assert len(tabs) == 10
    await driver.switch_tab(tabs[0].id)
    assert await driver.text("#b") == "x"


async def test_frame_that_moves_the_top_page(driver: PlaywrightDriver, pages: Pages) -> None:
    inner = pages.path("<script>top.location='/target'</script>")
    await driver.navigate(pages.url(f"<iframe src={inner}></iframe>"))
    await driver.wait_ready("#t")
    assert await driver.eval("location.pathname") == "/target"


@pytest.mark.parametrize("path", ["/file", "/204"], ids=["download", "no content"])
async def test_address_without_a_page(driver: PlaywrightDriver, pages: Pages, path: str) -> None:
    await driver.navigate(pages.url("<p id=t>before"))
    if path == "/file":
        await driver.navigate(pages.origin + path)
    else:
        with pytest.raises(NavigationError):
            await driver.navigate(pages.origin + path)
    assert await driver.text("#t") == "before"


async def test_failures_in_plain_words(driver: PlaywrightDriver, pages: Pages, untrusted: str) -> None:
    closed = "http://127.0.0.1:2/"
    for url, words in [
        (closed, "could not be opened"),
        (untrusted, "certificate is not trusted"),
        (pages.origin + "/status/503", "503"),
    ]:
        with pytest.raises(NavigationError, match=words) as caught:
            await driver.navigate(url)
        assert caught.value.url == url
    await driver.navigate(pages.origin + "/auth")
    await driver.navigate(pages.origin + "/status/404")
    assert await driver.text("p") == "so it is"


async def test_the_page_after_a_failure_opens(driver: PlaywrightDriver, pages: Pages) -> None:
    page = pages.url("<p id=t>after")
    for _ in range(5):
        with pytest.raises(NavigationError):
            await driver.navigate("http://127.0.0.1:2/")
        await driver.navigate(page)
        assert await driver.text("#t") == "after"


async def test_watching_tells_the_status(driver: PlaywrightDriver, pages: Pages) -> None:
    async with driver.watch() as watched:
        await driver.navigate(pages.origin + "/status/404")
    assert watched.effects.status == 404


async def test_killed_browser(pages: Pages) -> None:
    async with BrowserHost.launch() as host:
        async with host.driver(allow_private=True) as driver:
            await driver.navigate(pages.url("<p>x"))
            await kill(host)
            with pytest.raises(BrowserLost):
                await driver.text("p")
            with pytest.raises(BrowserLost):
                await driver.navigate(pages.url("<p>x"))
        async with host.driver(allow_private=True) as driver:
            await driver.navigate(pages.url("<p>again"))
            assert await driver.text("p") == "again"


async def kill(host: BrowserHost) -> None:
    """Asks the browser to die at once, as if it had been killed."""
    browser = await host.browser()
    session = await browser.new_browser_cdp_session()
    with pytest.raises(Exception, match=r"closed|crash"):
        await session.send("Browser.crash")


async def test_driver_is_closed_with_its_block(host: BrowserHost, pages: Pages) -> None:
    async with host.driver(allow_private=True) as driver:
        await driver.navigate(pages.url("<p>x"))
    with pytest.raises(Closed):
        await driver.text("p")


@pytest.mark.parametrize("url", ["example.com", "", "http://", "localhost:8000"])
async def test_what_is_no_address(driver: PlaywrightDriver, url: str) -> None:
    with pytest.raises(InvalidInput):
        await driver.navigate(url)


PARENT = """
import asyncio, sys
from agentloop.drivers import PlaywrightDriver

async def main():
    async with PlaywrightDriver.launch(allow_private=True) as driver:
        await driver.navigate(sys.argv[1])
        await driver.navigate(sys.argv[1] + "file")
        print("ready", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to look for what is left")
async def test_nothing_is_left_of_a_killed_parent(pages: Pages, tmp_path: Path) -> None:
    here = os.environ | {"TMPDIR": str(tmp_path)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, pages.origin + "/", stdout=asyncio.subprocess.PIPE, env=here
    )
    assert parent.stdout is not None
    async with asyncio.timeout(40):
        assert await parent.stdout.readline() == b"ready\n"
    children = descendants(parent.pid)
    assert len(children) > 3
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    assert await asyncio.to_thread(left_after, 5.0, children, tmp_path) == []


def descendants(pid: int) -> set[int]:
    """The processes below this one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def left_after(seconds: float, pids: set[int], folder: Path) -> list[object]:
    """Processes alive and files there when nothing is left, or at the end of the time."""
    deadline = time.monotonic() + seconds
    while True:
        left: list[object] = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        left += folder.iterdir()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)
