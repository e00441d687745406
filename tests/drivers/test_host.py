"""One browser, many sessions: apart from each other, behind the boundary, closed with their blocks."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import BrowserNotFound, Closed, InvalidInput, NavigationError, RequestRefused
from tests.drivers.pages import Pages

STORE = """<script>
document.cookie = "c=1; max-age=1000";
localStorage.setItem("l", "2");
const opening = indexedDB.open("shop", 1);
opening.onupgradeneeded = () => opening.result.createObjectStore("cart");
opening.onsuccess = () => {
  const change = opening.result.transaction("cart", "readwrite");
  change.objectStore("cart").put("3", "socks");
  change.oncomplete = () => { document.body.dataset.stored = "yes"; };
};
</script>"""
READ = """new Promise(done => {
  const opening = indexedDB.open("shop", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("cart");
  opening.onsuccess = () => {
    const reading = opening.result.transaction("cart").objectStore("cart").get("socks");
    reading.onsuccess = () => done([document.cookie, localStorage.getItem("l"), reading.result ?? null]);
  };
})"""


async def test_the_host_says_what_it_runs(host: BrowserHost) -> None:
    assert host.version.split(".")[0].isdigit()
    assert host.binary is not None and host.binary.path
    assert host.sandboxed == (os.geteuid() != 0)


async def test_sessions_are_apart(host: BrowserHost, pages: Pages) -> None:
    page = pages.url(STORE)
    async with host.driver(allow_private=True) as one, host.driver(allow_private=True) as two:
        await one.navigate(page)
        await one.wait_ready("body[data-stored]")
        await two.navigate(pages.url("<p>x"))
        assert await one.eval(READ) == ["c=1", "2", "3"]
        assert await two.eval(READ) == ["", None, None]


async def test_storage_state_comes_back(host: BrowserHost, pages: Pages) -> None:
    page, plain = pages.url(STORE), pages.url("<p>x")
    async with host.driver(allow_private=True) as driver:
        await driver.navigate(page)
        await driver.wait_ready("body[data-stored]")
        state = await driver.storage_state()
        assert len(await driver.tabs()) == 1
    async with host.driver(allow_private=True, storage_state=state) as driver:
        assert len(await driver.tabs()) == 1
        await driver.navigate(plain)
        assert await driver.eval(READ) == ["c=1", "2", "3"]


async def test_storage_state_that_is_none(host: BrowserHost) -> None:
    with pytest.raises(InvalidInput):
        async with host.driver(storage_state=b"\x00"):
            pass


async def test_a_session_reaches_what_it_may_and_nothing_else(host: BrowserHost, pages: Pages) -> None:
    async with Pages() as other:
        leaks = "".join(
            f"<{tag}>"
            for tag in (
                f"img src={other.origin}/img",
                f"iframe src={other.origin}/frame></iframe",
                f"script>fetch('{other.origin}/fetch').catch(() => {{}});"
                f"new WebSocket('ws{other.origin[4:]}/socket');</script",
                f"link rel=stylesheet href={other.origin}/css",
            )
        )
        async with host.driver(allow=[pages.origin]) as driver:
            async with driver.watch() as watched:
                await driver.navigate(pages.url(f"{leaks}<a id=b href={other.origin}/link>x</a><p id=t>open"))
            assert await driver.text("#t") == "open"
            assert watched.effects.refused == (other.origin.removeprefix("http://"),)
            [refusal] = watched.effects.refusals
            assert (refusal.place, refusal.rule) == (*watched.effects.refused, "not-allowed")
            assert refusal.requests >= 4
            with pytest.raises(RequestRefused) as caught:
                await driver.navigate(other.origin + "/goto")
            assert (caught.value.host, caught.value.rule) == ("127.0.0.1", "not-allowed")
            with pytest.raises(RequestRefused) as caught:
                await driver.navigate(f"{pages.origin}/redirect?to={other.origin}/redirected")
            assert caught.value.rule == "not-allowed"
            counted = {(each.host, each.port): each.allowed for each in driver.decisions}
            assert counted == {place(pages.origin): True, place(other.origin): False}
        assert other.seen == []


def place(origin: str) -> tuple[str, int]:
    """Host and port of an origin."""
    host, _, port = origin.removeprefix("http://").partition(":")
    return host, int(port)


async def test_the_start_url_opens_its_origin(host: BrowserHost, pages: Pages) -> None:
    async with host.driver(allow=[], start_url=pages.origin + "/") as driver:
        await driver.navigate(pages.url("<p id=t>x"))
        assert await driver.text("#t") == "x"
        with pytest.raises(RequestRefused):
            await driver.navigate("http://127.0.0.1:1/")


async def test_a_pattern_with_a_path_is_refused(host: BrowserHost) -> None:
    with pytest.raises(InvalidInput):
        async with host.driver(allow=["http://example.org/only/here"]):
            pass


async def test_a_host_that_does_not_answer_is_no_refusal(host: BrowserHost) -> None:
    async with Pages() as gone:
        origin = gone.origin
    async with host.driver(allow=[origin]) as driver:
        with pytest.raises(NavigationError, match="could not be opened"):
            await driver.navigate(origin + "/")


async def test_what_is_no_session_s_reaches_nothing(host: BrowserHost, pages: Pages) -> None:
    page = pages.path("<p>x")
    browser = await host.browser()
    async with await browser.new_context() as context:
        stray = await context.new_page()
        response = await stray.goto(pages.origin + page)
        assert response is not None and response.status == 403
    assert page not in pages.seen


async def test_the_proxies_of_the_product_are_not_reachable(host: BrowserHost) -> None:
    async with host.driver(allow_private=True) as driver:
        for port in list(host.own_ports._ports):
            with pytest.raises(RequestRefused) as caught:
                await driver.navigate(f"http://127.0.0.1:{port}/")
            assert caught.value.rule == "own-port"


async def test_a_launch_of_its_own_closes_all(pages: Pages) -> None:
    async with PlaywrightDriver.launch(allow=[pages.origin], viewport=(800, 600)) as driver:
        await driver.navigate(pages.url("<p id=t>x"))
        assert await driver.eval("[innerWidth, innerHeight]") == [800, 600]
    with pytest.raises(Closed):
        await driver.navigate(pages.url("<p>x"))


def children(*words: bytes) -> set[int]:
    """The processes of this one that have these words on their command lines."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and all(word in (folder / "cmdline").read_bytes() for word in words):
                found.add(int(folder.name))
        except (OSError, ValueError):
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")
@pytest.mark.parametrize("delay", [0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
async def test_a_launch_cancelled_at_any_moment_leaves_no_process(delay: float) -> None:
    async def launch() -> None:
        async with BrowserHost.launch() as host, host.driver():
            await asyncio.sleep(60)

    before = children(b"run-driver")
    task = asyncio.create_task(launch())
    await asyncio.sleep(delay)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children(b"run-driver") <= before


async def test_a_closed_host_opens_nothing() -> None:
    async with BrowserHost.launch() as host:
        pass
    with pytest.raises(Closed):
        async with host.driver():
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root surely has no browser sandbox")
async def test_a_sandbox_that_is_not_there_is_an_error_with_three_ways_on() -> None:
    with pytest.raises(BrowserNotFound) as caught:
        async with BrowserHost.launch(browser_sandbox="on"):
            pass
    for way in ("ordinary user", "seccomp", "--browser-sandbox off"):
        assert way in str(caught.value)


async def test_a_browser_that_does_not_start_is_told() -> None:
    with pytest.raises(BrowserNotFound, match="did not start"):
        async with BrowserHost.launch(executable="/bin/false"):
            pass
    with pytest.raises(InvalidInput):
        async with BrowserHost.launch(browser_sandbox="maybe"):  # type: ignore[arg-type]
            pass


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to read another's environment")
async def test_the_browser_is_told_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "MY_API_KEY", "sk-hidden")
    async with BrowserHost.launch():
        browsers = browser_environments()
    assert browsers
    assert not [environment for environment in browsers if b"sk-hidden" in environment]


def browser_environments() -> list[bytes]:
    """Those of the Chromium processes that this process or its children have started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--agentloop-host=" in (folder / "cmdline").read_bytes():
                found.append((folder / "environ").read_bytes())
        except OSError:
            continue
    return found


async def test_a_running_browser_is_held_to_the_boundary(running: str, pages: Pages) -> None:
    async with BrowserHost.launch(cdp_url=running) as host, host.driver(allow=[pages.origin]) as driver:
        assert host.binary is None
        await driver.navigate(pages.url("<p id=t>x"))
        assert await driver.text("#t") == "x"
        with pytest.raises(RequestRefused):
            await driver.navigate("http://127.0.0.2:2/")


async def test_an_address_without_a_browser() -> None:
    with pytest.raises(BrowserNotFound, match="no browser answers"):
        async with BrowserHost.launch(cdp_url="http://127.0.0.1:2"):
            pass


async def test_the_state_is_json(driver: PlaywrightDriver) -> None:
    assert set(json.loads(await driver.storage_state())) >= {"cookies", "origins"}
