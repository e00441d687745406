"""Both ways out, pages and scripts, against URLs that have fooled somebody's check; the servers count who came."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio

from agentloop.capabilities import BuildContext
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import DriverError, InvalidInput, NavigationError, RequestRefused
from agentloop.guard import Boundary, GuardedClient
from agentloop.packs.fetch import fetch_capability
from agentloop.sandbox import open_sandbox
from tests.guard.network.origin import Origin, origin, until
from tests.guard.network.table import HOSTS, SCHEMES, WHOLE
from tests.packs.web import Names


@dataclass(frozen=True, kw_only=True)
class World:
    """`ok` is allowed at its port, `forbidden` and what hides at `hidden`'s port are not."""

    ok: Origin
    forbidden: Origin
    hidden: Origin
    hidden_v6: Origin
    names: Names

    @property
    def site(self) -> str:
        return f"http://ok.test:{self.ok.port}"

    def row(self, text: str) -> str:
        return text.replace("{h}", str(self.hidden.port)).replace("{f}", str(self.forbidden.port)).replace(
            "{ok}", str(self.ok.port)
        )  # fmt: skip

    def away(self, url: str) -> str:
        """An allowed address that redirects twice, the second time to `url`."""
        return f"{self.site}/redirect?to={quote(f'{self.site}/redirect?to={quote(url)}')}"

    @property
    def arrived(self) -> dict[str, int]:
        return {**self.forbidden.hits, **self.hidden.hits, **self.hidden_v6.hits}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    names = Names(ok_test=["127.0.0.1"], evil_test=["127.0.0.2"], ok_test_evil_test=["127.0.0.2"])
    names.answers["xn--k-3tb.test"] = ["127.0.0.2"]
    async with (
        origin("127.0.0.1") as ok,
        origin("127.0.0.2") as forbidden,
        origin("127.0.0.1") as hidden,
        origin("::1", hidden.port) as hidden_v6,
    ):
        yield World(ok=ok, forbidden=forbidden, hidden=hidden, hidden_v6=hidden_v6, names=names)


@pytest_asyncio.fixture(scope="module")
async def names() -> Names:
    return Names()


@pytest_asyncio.fixture(scope="module")
async def host(names: Names) -> AsyncIterator[BrowserHost]:
    async with BrowserHost.launch(resolver=names) as host:
        yield host


@pytest.fixture
async def driver(host: BrowserHost, names: Names, world: World) -> AsyncIterator[PlaywrightDriver]:
    names.answers = world.names.answers
    async with host.driver(allow=[world.site]) as driver:
        yield driver


@asynccontextmanager
async def scripts(names: Names, *allow: str) -> AsyncIterator[Scripts]:
    """A sandbox whose scripts have `fetch`."""
    async with GuardedClient(Boundary(allow=[])) as client:
        capability = fetch_capability(allow=list(allow) or None, resolver=names)
        [pack] = await capability.build(BuildContext(http=client))
        async with open_sandbox(packs=[pack]) as sandbox:
            yield Scripts(sandbox)


class Scripts:
    def __init__(self, sandbox: object) -> None:
        self._sandbox = sandbox

    async def outcomes(self, urls: list[str], call: str = "String(fetch(url).status)") -> list[str]:
        """For each URL what the call gave, or the name of what it threw."""
        body = f"return args.urls.map(url => {{ try {{ return {call} }} catch (e) {{ return e.name }} }})"
        done = await self._sandbox.run(f"function run(args) {{ {body} }}", json.dumps({"urls": urls}))  # type: ignore[attr-defined]
        assert done.error is None, done.error
        found: list[str] = json.loads(done.value_json)
        return found


# Scripts ------------------------------------------------------------------------------------------


async def test_no_spelling_fools_fetch(world: World) -> None:
    urls = [world.row(text) for text in HOSTS + WHOLE + SCHEMES]
    async with scripts(world.names, world.site) as sandbox:
        direct = await sandbox.outcomes(urls)
        allowed = await sandbox.outcomes([f"{world.site}/fine", f"HTTP://OK.TEST.:{world.ok.port}/fine"])

    assert allowed == ["200", "200"]
    assert not [(url, how) for url, how in zip(urls, direct, strict=True) if how not in REFUSED]
    assert world.arrived == {}


async def test_no_redirect_fools_fetch(world: World) -> None:
    urls = [world.row(text) for text in HOSTS + SCHEMES]
    async with scripts(world.names, world.site) as sandbox:
        after = await sandbox.outcomes([world.away(url) for url in urls])
        allowed = await sandbox.outcomes([world.away(f"{world.site}/fine")])

    assert allowed == ["200"]
    assert not [(url, how) for url, how in zip(urls, after, strict=True) if how not in (*REFUSED, "WorldError")]
    assert world.arrived == {}


REFUSED = ("RequestRefused", "InvalidInput", "PolicyDenied")


async def test_an_empty_list_allows_nothing(world: World) -> None:
    async with GuardedClient(Boundary(allow=[])) as client:
        [pack] = await fetch_capability(allow=[], resolver=world.names).build(BuildContext(http=client))
        async with open_sandbox(packs=[pack]) as sandbox:
            assert await Scripts(sandbox).outcomes([world.site, "http://public.test/"]) == ["RequestRefused"] * 2
    assert world.names.asked == []


# Pages --------------------------------------------------------------------------------------------


def chunks(texts: list[str]) -> list[list[str]]:
    return [texts[start : start + 12] for start in range(0, len(texts), 12)]


@pytest.mark.parametrize("texts", chunks(HOSTS + SCHEMES))
async def test_no_spelling_fools_a_page(driver: PlaywrightDriver, world: World, texts: list[str]) -> None:
    for text in texts:
        url = world.row(text)
        with pytest.raises((RequestRefused, InvalidInput)) as refused:
            await driver.navigate(url)
        assert not isinstance(refused.value, RequestRefused) or refused.value.rule, url
        with pytest.raises((RequestRefused, NavigationError)):
            await driver.navigate(world.away(url))
        assert await driver.eval("location.protocol") in ("about:", "http:", "chrome-error:"), url

    assert world.arrived == {}
    await driver.navigate(f"{world.site}/fine")
    assert await driver.eval("document.body.innerText") == "127.0.0.1 /fine"


def links(world: World, urls: list[str]) -> str:
    """A page with a frame, a link into another frame and a redirected frame for each URL."""
    parts = []
    for number, url in enumerate(urls):
        there, away = html.escape(url, quote=True), html.escape(world.away(url), quote=True)
        parts += [
            f'<iframe src="{there}"></iframe><iframe src="{away}"></iframe>',
            f'<iframe name="f{number}"></iframe><a href="{there}" target="f{number}">go</a>',
        ]
    return "<!doctype html><meta charset=utf-8>" + "".join(parts)


@pytest.mark.parametrize("texts", chunks(HOSTS))
async def test_no_frame_and_no_link_leads_out(driver: PlaywrightDriver, world: World, texts: list[str]) -> None:
    urls = [world.row(text) for text in texts]
    world.ok.pages["/links"] = links(world, urls)
    await driver.navigate(f"{world.site}/links")
    await driver.eval("document.querySelectorAll('a').forEach(link => link.click())")
    # One is no URL; of the other a tunnel does not show that it is not http.
    asked = [url for url in urls if "%40" not in url and not url.startswith("https://ok.test:")]

    def refused() -> int:
        return sum(count.count for count in driver.decisions if not count.allowed)

    await until(lambda: refused() >= 2 * len(asked))
    assert world.arrived == {}
    assert {count.host for count in driver.decisions if count.allowed} == {"ok.test"}


OPENED = ("file", "view-source", "data", "javascript", "chrome", "devtools", "filesystem", "chrome-extension")


async def test_a_page_opens_nothing_of_another_scheme(driver: PlaywrightDriver, world: World) -> None:
    for text in SCHEMES:
        await driver.navigate(f"{world.site}/fine")
        act = (
            "(url => { for (const way of ["
            "() => window.open(url),"
            "() => Object.assign(document.createElement('a'), {href: url, target: '_blank'}).click(),"
            "() => { const form = Object.assign(document.createElement('form'), {action: url, target: '_blank'});"
            " document.body.append(form); form.submit(); },"
            "() => { location.href = url; },"
            f"]) {{ try {{ way(); }} catch {{ }} }} }})({json.dumps(world.row(text))})"
        )
        try:
            await driver.eval(act)
        except DriverError:
            pass  # the page went away under it
        for tab in await driver.tabs():
            assert tab.url.split(":")[0] not in OPENED, (text, tab.url)
            if not tab.active:
                await driver.close_tab(tab.id)
    assert world.arrived == {}


# Names that change --------------------------------------------------------------------------------


async def test_a_name_that_turns_private_is_refused_by_both_doors(host: BrowserHost, names: Names) -> None:
    async with origin("127.0.0.1", 80) as inside:
        answers = Names(rebind_test=["93.184.216.34", "127.0.0.1"])
        async with scripts(answers) as sandbox:
            assert await sandbox.outcomes(["http://rebind.test"], "String(allowUrls(url))") == ["true"]
            assert await sandbox.outcomes(["http://rebind.test/"]) == ["RequestRefused"]

        names.answers = {"rebind.test": ["93.184.216.34", "127.0.0.1"]}
        async with host.driver() as driver:
            with pytest.raises(
                RequestRefused, match=r"rebind.test:80, which is not reachable \(rule private-address\)"
            ):
                await driver.navigate("http://rebind.test/")
        assert inside.hits == {}


async def test_an_allowed_private_name_that_moves_is_refused_by_both_doors(
    host: BrowserHost, names: Names, world: World
) -> None:
    moving = {"rebind.test": ["127.0.0.1", "127.0.0.1", "127.0.0.2"]}
    async with origin("127.0.0.1", world.forbidden.port) as allowed:
        url = f"http://rebind.test:{allowed.port}"
        answers = Names()
        answers.answers = {name: list(found) for name, found in moving.items()}
        async with scripts(answers, url) as sandbox:
            outcomes = await sandbox.outcomes([f"{url}/1", f"{url}/2", f"{url}/3"])
        assert outcomes == ["200", "200", "RequestRefused"]

        names.answers = {name: list(found) for name, found in moving.items()}
        async with host.driver(allow=[url]) as driver:
            await driver.navigate(f"{url}/page")
            with pytest.raises(RequestRefused, match="rebinding"):
                await driver.navigate(f"{url}/again")
        assert allowed.hits["/page"] == 1
    assert world.arrived == {}


# Everything a page can do -------------------------------------------------------------------------


async def test_no_way_of_a_page_leads_out_of_a_session(driver: PlaywrightDriver, world: World) -> None:
    vectors = Path(__file__).with_name("vectors.html")
    world.ok.pages["/vectors"] = await asyncio.to_thread(vectors.read_text, "utf-8")
    await driver.navigate(f"{world.site}/vectors?to=http://evil.test:{world.forbidden.port}")
    ways = await driver.eval("names.length")
    await driver.eval("go()")

    def refused() -> int:
        return sum(count.count for count in driver.decisions if not count.allowed)

    # A session has ten tabs and no service worker, and behind a proxy nothing is prefetched from other sites.
    await until(lambda: refused() >= ways - 6)
    assert world.arrived == {}
    assert {count.rule for count in driver.decisions if not count.allowed} == {"not-allowed"}


async def test_a_script_is_kept_off_the_browsers_ports(host: BrowserHost, world: World) -> None:
    taken = [port for port in range(1024, 65536) if port in host.own_ports]
    assert taken
    async with GuardedClient(Boundary(allow=[])) as client:
        context = BuildContext(http=client, own_ports=host.own_ports)
        [pack] = await fetch_capability(allow_private=True).build(context)
        async with open_sandbox(packs=[pack]) as sandbox:
            urls = [f"http://{name}:{port}/" for port in taken for name in ("127.0.0.1", "localhost", "[::1]", "0")]
            call = "(fetch(url), 'reached')"
            outcomes = await Scripts(sandbox).outcomes(urls, call)
            told = await Scripts(sandbox).outcomes([f"{world.ok.url}/fine"], "String(fetch(url).status)")
    assert set(outcomes) == {"RequestRefused"}
    assert told == ["200"]
