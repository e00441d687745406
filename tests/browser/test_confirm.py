"""A person is asked before acts happen: real pages, a server that counts what reaches it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from agentloop.browser import browser_capability
from agentloop.browser.settle import SettleLimits
from agentloop.capabilities import BuildContext
from agentloop.drivers import BrowserHost, PlaywrightDriver
from agentloop.errors import EndRun, InvalidInput
from agentloop.guard.grants import CONFIRMABLE, Grant, confirmable, covers
from agentloop.packs.base import Pack
from agentloop.records import Json, Status
from agentloop.sandbox import Outcome, open_sandbox
from tests.browser.counting_server import CountingServer, counting_server
from tests.browser.eventually import eventually
from tests.browser.ten_methods import TenMethods

FORM = """<!doctype html><title>Order</title><h1>Order</h1>
<form method=post action=/buy><input name=secret value=s3cret type=hidden>
<label>Name <input name=name></label><label>Card <input name=card></label><button>Place order</button></form>"""


@dataclass
class Person:
    """Who is asked: keeps each question and what was approved; `meanwhile` happens while a question is open."""

    answer: bool = True
    asked: list[str] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def ask(
        self, message: str, *, kind: str = "confirm", grant: Grant, need: Grant | None = None, **scopes: object
    ) -> bool:
        if any(covers(known, need or grant) for known in self.grants):
            return True
        self.asked.append(message)
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.answer:
            self.grants.append(grant)
        return self.answer


@pytest_asyncio.fixture
async def site() -> AsyncIterator[CountingServer]:
    async with counting_server() as site:
        yield site


@dataclass
class Browsing:
    """A page with scripts, and who is asked about them."""

    pack: Pack
    person: Person
    driver: PlaywrightDriver
    events: list[tuple[str, Json]]

    async def run(self, script: str) -> Outcome:
        async with open_sandbox(packs=[self.pack]) as sandbox:
            return await sandbox.run(f"function run(args) {{ {script} }}")

    async def error(self, script: str) -> str:
        """What the script caught."""
        outcome = await self.run(f"try {{ {script} }} catch (e) {{ return e.name + ': ' + e.message }}")
        assert outcome.error is None, outcome.error
        text: str = json.loads(outcome.value_json or '"nothing was thrown"')
        return text

    async def ok(self, script: str) -> None:
        outcome = await self.run(script)
        assert outcome.error is None, outcome.error


@asynccontextmanager
async def browsing(
    driver: PlaywrightDriver, site: CountingServer, html: str, *actions: str, answer: bool = True
) -> AsyncIterator[Browsing]:
    site.pages["/"] = html
    person = Person(answer)
    events: list[tuple[str, Json]] = []

    async def emit(type: str, **fields: Json) -> None:
        events.append((type, fields.get("content")))

    context = BuildContext(start_url=site.at(), ask=person.ask, emit=emit)
    [pack] = await browser_capability(driver, confirm=actions, globals=True).build(context)
    site.hits.clear()
    try:
        yield Browsing(pack, person, driver, events)
    finally:
        assert pack.aclose is not None
        await pack.aclose()


# Submits ---------------------------------------------------------------------------------------------

FORM_IN = "<!doctype html><form method=post action=/buy>%s</form>"

SUBMITS = {
    "a button without a type": (FORM_IN % "<input name=a><button>Go</button>", 'click("Go")'),
    "an input of type submit": (FORM_IN % "<input name=a><input type=submit value=Go>", 'click("Go")'),
    "a picture as button": (FORM_IN % '<input name=a><input type=image alt=Go src="/x.png">', 'click("Go")'),
    "a label of a button": (
        FORM_IN % "<input name=a><button id=b>Go</button><label for=b id=l>Send it</label>",
        'click("#l")',
    ),
    "a word in a button": (FORM_IN % "<button><b id=w>Go</b></button>", 'click("#w")'),
    "a button outside of its form": (FORM_IN % "<input name=a>" + "<button form=f>Go</button>", 'click("Go")'),
    "a double click": (FORM_IN % "<button>Go</button>", 'browser.doubleClick("Go")'),
    "a point": (
        FORM_IN % "<button style='position:absolute;left:0;top:0;width:99px;height:99px'>Go</button>",
        "click({x: 9, y: 9})",
    ),
    "Enter in a field": (FORM_IN % "<input name=a aria-label=A>", 'press("Enter", "A", 1)'),
    "Enter where the focus is": (FORM_IN % "<input name=a autofocus>", 'press("Enter")'),
    "Enter on a button": (FORM_IN % "<button autofocus>Go</button>", 'press("Enter")'),
    "Space on a button": (FORM_IN % "<button autofocus>Go</button>", 'press(" ")'),
    "typing and Enter": (FORM_IN % "<input name=a aria-label=A>", 'type("A", 1, "x", {submit: true})'),
    "a form named by its fields": (
        FORM_IN % "<input name=action><input name=elements><input name=method><button>Go</button>",
        'click("Go")',
    ),
    "another action of the button": (
        "<form method=get action=/no><button formaction=/buy formmethod=post>Go</button></form>",
        'click("Go")',
    ),
    "a shadow root": (
        "<!doctype html><div id=h></div><script>document.querySelector('#h').attachShadow({mode: 'open'}).innerHTML ="
        " '<form method=post action=/buy><button>Go</button></form>'</script>",
        'click("Go")',
    ),
    "a frame of another site": (
        '<iframe src="http://localhost:{port}/in" width=300 height=200></iframe>',
        'click("Go")',
    ),
    # What only the request tells.
    "a script that submits": (
        "<form id=f method=post action=/buy></form><a href=# onclick='f.submit()'>Go</a>",
        'click("Go")',
    ),
    "a script that requests a submit": (
        "<form id=f method=post action=/buy></form><span role=button onclick='f.requestSubmit()'>Go</span>",
        'click("Go")',
    ),
    "a box that submits": (
        FORM_IN % "<label><input type=checkbox name=a onchange='this.form.submit()'>Go</label>",
        'click("Go")',
    ),
    "a list that submits": (
        FORM_IN % "<select aria-label=Go name=a onchange='this.form.submit()'><option>a<option>b</select>",
        'select("Go", 1, "b")',
    ),
    "a window": (
        "<form id=f method=post action=/buy target=_blank></form><a href=# onclick='f.submit()'>Go</a>",
        'click("Go")',
    ),
    "a form in a frame": (
        "<iframe name=t></iframe><form id=f method=post action=/buy target=t></form>"
        "<a href=# onclick='f.submit()'>Go</a>",
        'click("Go")',
    ),
    "an expression": ("<form id=f method=post action=/buy></form>", 'browser.eval("f.submit()")'),
    "a drop": (
        "<form id=f method=post action=/buy></form><div id=d draggable=true style='width:50px;height:50px'>Drag</div>"
        "<div id=t style='width:90px;height:90px' ondragover='event.preventDefault()' ondrop='f.submit()'>There</div>",
        'browser.drag("#d", "#t")',
    ),
    "a pointer down": (
        "<form id=f method=post action=/buy></form><a href=# onmousedown='f.submit()'>Go</a>",
        'click("Go")',
    ),
    "a script a little later": (
        "<form id=f method=post action=/buy></form><a href=# onclick='setTimeout(() => f.submit(), 20)'>Go</a>",
        'click("Go")',
    ),
}


def page(html: str, site: CountingServer) -> str:
    site.pages["/in"] = FORM_IN % "<button>Go</button>"
    return html.replace("{port}", str(site.port)).replace(
        "<form method=post action=/buy>", "<form id=f method=post action=/buy>"
    )


@pytest.mark.parametrize("case", SUBMITS)
async def test_nothing_is_sent_before_a_yes(driver: PlaywrightDriver, site: CountingServer, case: str) -> None:
    html, act = SUBMITS[case]
    async with browsing(driver, site, page(html, site), "submit") as it:
        seen: list[int] = []

        async def meanwhile() -> None:
            seen.append(len(site.posts()))

        it.person.meanwhile = meanwhile
        await it.ok(act)
        assert await eventually(site.posted, bool) == ["/buy"]
        assert seen == [0], it.person.asked
        assert it.person.asked[0].startswith("Allow the browser to submit ")


@pytest.mark.parametrize("case", SUBMITS)
async def test_a_no_sends_nothing_and_is_caught(driver: PlaywrightDriver, site: CountingServer, case: str) -> None:
    html, act = SUBMITS[case]
    async with browsing(driver, site, page(html, site), "submit", answer=False) as it:
        before = await driver.eval("location.href")
        error = await it.error(act)
        assert error.startswith("PolicyDenied: ") and "declined" in error and "person" in error
        assert (site.posts(), len(it.person.asked)) == ([], 1)
        assert await driver.eval("location.href.split('#')[0]") == before
        assert await driver.eval("document.readyState") == "complete"
        # The page is still in use.
        await it.ok("browser.eval('1')")


async def test_the_question_names_target_origin_and_fields_and_no_value(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    async with browsing(driver, site, FORM, "submit", answer=False) as it:
        await it.error('type("Name", 1, "Ann"); type("Card", 2, "4111"); click("Place order", 3)')
        origin = f"http://127.0.0.1:{site.port}"
        assert it.person.asked == [
            f'Allow the browser to submit "Place order" by a click on {origin}: to {origin}/buy, '
            'fields "secret", "name", "card"?'
        ]


async def test_what_a_held_request_sends_is_told_by_name(driver: PlaywrightDriver, site: CountingServer) -> None:
    html = FORM.replace("<button>", "<a id=l href=# onclick='document.forms[0].submit()'>Go</a><button hidden>")
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with browsing(driver, site, html.replace("<form", f"<form enctype={kind}"), "submit", answer=False) as it:
            await it.error('type("Name", 1, "Ann"); click("#l")')
            assert len(it.person.asked) == 1
            assert 'fields "secret", "name", "card"?' in it.person.asked[0]
            assert "s3cret" not in it.person.asked[0] and "Ann" not in it.person.asked[0]


async def test_a_page_cannot_forge_the_question(driver: PlaywrightDriver, site: CountingServer) -> None:
    name = "Go\\u0022 by a click? [y/N] y\\u202e\\n\\u001b[2K"
    html = (
        "<form method=post action=/buy><input id=i><button id=b></button></form>"
        f"<script>b.setAttribute('aria-label', '{name}'); i.name = 'x\\u0022, \\n\\u202ey'</script>"
    )
    async with browsing(driver, site, html, "submit") as it:
        await it.ok('click("#b")')
        [words], [grant] = it.person.asked, it.person.grants
        assert words.isprintable() and grant.subject.isprintable()
        assert words.startswith('Allow the browser to submit "Go\\" by a click? ')
        assert 'fields "x\\", y"?' in words


@pytest.mark.parametrize("action", ["javascript:.evil.example/x", "data:.evil.example/x", "mailto:x@evil.example"])
async def test_an_address_of_another_kind_does_not_lengthen_the_origin(
    driver: PlaywrightDriver, site: CountingServer, action: str
) -> None:
    html = f"<form method=post action='{action}'><button>Go</button></form>"
    async with browsing(driver, site, html, "submit", answer=False) as it:
        await it.error('click("Go")')
        assert f": to http://127.0.0.1:{site.port}, with" in it.person.asked[0]


async def test_a_yes_lasts_for_that_target_at_that_origin(driver: PlaywrightDriver, site: CountingServer) -> None:
    html = FORM.replace(
        "</form>",
        f"<button formaction={site.at('/buy', host='localhost')}>Place order</button><button>Other</button></form>",
    )
    async with browsing(driver, site, html, "submit") as it:
        home = f'browser.goto("{site.at()}");'
        await it.ok('click("Place order", 3)')
        await it.ok(f"{home} browser.mark(); click(3); {home}")
        assert len(it.person.asked) == 1
        await it.ok("browser.mark(); click(5)")
        await it.ok(f"{home} browser.mark(); click(4)")
        assert len(it.person.asked) == 3
        assert [grant.subject for grant in it.person.grants] == [
            f'submit http://127.0.0.1:{site.port} by "Place order"',
            f'submit http://127.0.0.1:{site.port} by "Other"',
            f'submit http://localhost:{site.port} by "Place order"',
        ]
        assert {grant.kind for grant in it.person.grants} == {"action"}


async def test_a_form_that_is_changed_while_the_question_is_open_is_asked_about_again(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    async with browsing(driver, site, FORM, "submit") as it:
        asked = it.person.asked

        async def meanwhile() -> None:
            if len(asked) == 1:
                await driver.eval(f"void (document.forms[0].action = '{site.at('/stolen', host='localhost')}')")
            else:
                it.person.answer = False

        it.person.meanwhile = meanwhile
        assert "declined" in await it.error('click("Place order")')
        assert len(asked) == 2 and f"http://localhost:{site.port}/stolen" in asked[1]
        assert site.posts() == []


async def test_a_post_that_goes_elsewhere_than_was_approved_is_held(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    evil = site.at("/stolen", host="localhost")
    for html in (
        FORM.replace("<form", f"<form onsubmit=\"this.action='{evil}'\""),
        FORM.replace("action=/buy", f"action=/to/307/{evil}"),
    ):
        async with browsing(driver, site, html, "submit") as it:

            async def meanwhile(it: Browsing = it) -> None:
                it.person.answer = len(it.person.asked) == 1

            it.person.meanwhile = meanwhile
            assert "declined" in await it.error('click("Place order")')
            assert len(it.person.asked) == 2 and f"http://localhost:{site.port}" in it.person.asked[1]
            assert "/stolen" not in site.posts()


async def test_what_submits_nothing_is_not_asked_about(driver: PlaywrightDriver, site: CountingServer) -> None:
    html = """<form method=post action=/buy><input aria-label=A><button type=button>Plain</button>
    <button type=reset>Clear</button><input type=checkbox aria-label=B></form><button>Alone</button>
    <dialog open><form method=dialog><button>Close</button></form></dialog><a href=/next>Link</a>"""
    async with browsing(driver, site, html, "submit") as it:
        await it.ok('click("Plain"); click("Clear"); click("Alone"); browser.check("B"); press("Tab");')
        await it.ok(
            'type("A", 1, "x"); press("a"); browser.hover("Plain"); browser.rightClick("Plain"); click("Close")'
        )
        await it.ok('click("Link")')
        assert it.person.asked == [] and site.posts() == []


async def test_requests_that_open_no_document_are_not_held(driver: PlaywrightDriver, site: CountingServer) -> None:
    html = "<a href=# onclick=\"fetch('/api', {method: 'POST'}); navigator.sendBeacon('/beacon')\">Go</a>"
    async with browsing(driver, site, html, "submit", "new-host") as it:
        await it.ok('click("Go")')
        assert it.person.asked == [] and "/api" in site.posts()


@pytest.mark.parametrize("verb", ["click", "goto"])
async def test_an_act_takes_as_long_as_the_person(host: BrowserHost, site: CountingServer, verb: str) -> None:
    """The bounds of what waits are shorter here than the wait: they would end it if they went on meanwhile."""
    short = SettleLimits(total_s=0.1, navigation_s=0.1, load_s=0.1, document_s=0.1)
    html = "<form id=f method=post action=/buy></form><a href=# onclick='f.submit()'>Go</a>"
    actions = ("submit", "new-host")
    async with (
        host.driver(allow_private=True, settle=short) as driver,
        browsing(driver, site, html, *actions) as it,
    ):

        async def meanwhile() -> None:
            await asyncio.sleep(0.5)

        it.person.meanwhile = meanwhile
        there = site.at("/there", host="localhost")
        outcome = await it.run('return click("Go")' if verb == "click" else f'return goto("{there}")')
        assert outcome.error is None
        assert json.loads(outcome.value_json or "{}")["url"] == (site.at("/buy") if verb == "click" else there)


# New hosts -------------------------------------------------------------------------------------------

TO_OTHER = {
    "goto": ("", 'goto("{url}")'),
    "a link": ("<a href='{url}'>Go</a>", 'click("Go")'),
    "a redirect": ("<a href='/to/302/{url}'>Go</a>", 'click("Go")'),
    "a redirect of goto": ("", 'goto("/to/302/{url}")'),
    "two redirects": ("<a href='/to/302//to/302/{url}'>Go</a>", 'click("Go")'),
    "a form": ("<form action='{url}'><button>Go</button></form>", 'click("Go")'),
    "a window": ("<a href='{url}' target=_blank>Go</a>", 'click("Go")'),
    "a window without opener": ("<a href='{url}' target=_blank rel=noopener>Go</a>", 'click("Go")'),
    "a window by a script": ("<a href=# onclick=\"window.open('{url}')\">Go</a>", 'click("Go")'),
    "a script": ("<a href=# onclick=\"location = '{url}'\">Go</a>", 'click("Go")'),
    "an expression": ("", "browser.eval(\"void (location.href = '{url}')\")"),
    "a refresh": ("<a href=/refresh>Go</a>", 'click("Go"); browser.waitUrl("localhost")'),
    "a window that is redirected": ("<a href='/to/302/{url}' target=_blank>Go</a>", 'click("Go")'),
}


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("case", TO_OTHER)
async def test_a_new_host_is_asked_about(
    driver: PlaywrightDriver, site: CountingServer, case: str, answer: bool
) -> None:
    other = site.at("/there", host="localhost")
    html, act = (text.replace("{url}", other) for text in TO_OTHER[case])
    if case == "a refresh":
        site.pages["/refresh"] = f"<meta http-equiv=refresh content='0;url={other}'>"
        act = act if answer else act.partition(";")[0]
    async with browsing(driver, site, html, "new-host", answer=answer) as it:
        seen: list[int] = []

        async def meanwhile() -> None:
            seen.append(len(site.asked_of("localhost")))

        it.person.meanwhile = meanwhile
        error = await it.error(act)
        await driver.settled()
        assert seen == [0], it.person.asked
        assert f"http://localhost:{site.port}, a host that is new here" in it.person.asked[0]
        if answer:
            assert error == "nothing was thrown"
            assert (await eventually(site.beside, bool))[0].rstrip("?") == "/there"
            assert [grant.subject for grant in it.person.grants] == [f"new-host http://localhost:{site.port}"]
        else:
            assert site.asked_of("localhost") == []
            if case != "a refresh":
                assert error.startswith("PolicyDenied") and "declined by a person" in error


async def test_a_host_is_new_once(driver: PlaywrightDriver, site: CountingServer) -> None:
    other = site.at("/there", host="localhost")
    html = f"<a href='{other}'>Go</a><iframe src='{other}'></iframe><img src='{other}'>"
    async with browsing(driver, site, html, "new-host") as it:
        assert it.person.asked == []
        await it.ok(f'click("Go"); goto("{site.at()}"); goto("{other}/again"); browser.back()')
        assert len(it.person.asked) == 1


async def test_what_is_never_reached_is_not_asked_about(host: BrowserHost, site: CountingServer) -> None:
    link = "<a href='http://localhost:1/'>Go</a>"
    async with host.driver(allow=[site.at()[:-1]]) as driver, browsing(driver, site, link, "new-host") as it:
        assert "RequestRefused" in await it.error('goto("http://10.0.0.1/")')
        await it.run('click("Go")')
        assert it.person.asked == []


async def test_a_start_that_leads_elsewhere_and_is_declined_ends_the_run(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    person = Person(answer=False)
    start = site.at(f"/to/302/{site.at(host='localhost')}")
    capability = browser_capability(driver, confirm=["new-host"])
    with pytest.raises(EndRun) as ended:
        await capability.build(BuildContext(start_url=start, ask=person.ask))
    assert (ended.value.status, ended.value.reason) == (Status.REFUSED, "declined")
    assert site.asked_of("localhost") == []


# Downloads, uploads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [True, False])
async def test_a_download_is_kept_after_a_yes(driver: PlaywrightDriver, site: CountingServer, answer: bool) -> None:
    async with browsing(driver, site, "<a href=/file>Go</a>", "download", answer=answer) as it:
        error = await it.error('click("Go")')
        assert it.person.asked == [f'Allow the browser to keep the download "a.bin" from http://127.0.0.1:{site.port}?']
        [download] = await driver.downloads()
        if answer:
            assert error == "nothing was thrown"
            assert (await driver.wait_download(download.id)).state == "done"
            await it.ok('click("Go")')
            assert len(it.person.asked) == 1
        else:
            assert "declined by a person" in error
            assert ((await driver.wait_download(download.id)).state, download.path) == ("declined", "")


@pytest.mark.parametrize("answer", [True, False])
async def test_files_reach_a_page_after_a_yes(
    driver: PlaywrightDriver, site: CountingServer, tmp_path_factory: pytest.TempPathFactory, answer: bool
) -> None:
    file = tmp_path_factory.mktemp("files") / "a \u202e.txt"
    file.write_text("x")
    async with browsing(driver, site, "<input type=file aria-label=F>", "upload", answer=answer) as it:
        error = await it.error(f"browser.upload('F', 1, {json.dumps(str(file))})")
        assert len(it.person.asked) == 1 and it.person.asked[0].isprintable()
        assert "a \\u202e.txt" in it.person.asked[0] and f"http://127.0.0.1:{site.port}" in it.person.asked[0]
        assert await driver.eval("document.querySelector('input').files.length") == int(answer)
        assert error.startswith("nothing" if answer else "PolicyDenied")


# The names -------------------------------------------------------------------------------------------


def test_what_can_be_confirmed() -> None:
    assert confirmable(["submit", "new-host"]) == {"submit", "new-host"}
    with pytest.raises(InvalidInput, match="submit, download, upload, new-host"):
        confirmable(["send"])
    with pytest.raises(InvalidInput):
        browser_capability(TenMethods, confirm="submit")  # type: ignore[arg-type]


@pytest.mark.parametrize("action", CONFIRMABLE)
async def test_a_driver_that_cannot_hold_is_refused(driver: PlaywrightDriver, action: str) -> None:
    capability = browser_capability(TenMethods(driver), confirm=[action])
    if action == "upload":
        [pack] = await capability.build(BuildContext())
        assert pack.aclose is not None
        await pack.aclose()
        return
    with pytest.raises(InvalidInput, match=f"cannot wait with: {action}"):
        await capability.build(BuildContext())


# What goes wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ['goto("{url}")', 'click("Go")'])
async def test_a_question_goes_with_its_run(driver: PlaywrightDriver, site: CountingServer, act: str) -> None:
    """Whoever waits for an answer is cancelled: nobody is asked any more, nothing went out, the page is in use."""
    other = site.at("/there", host="localhost")
    asked, gone = asyncio.Event(), asyncio.Event()

    async def never() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with browsing(driver, site, f"<a href='{other}'>Go</a>", "new-host") as it:
        it.person.meanwhile = never
        running = asyncio.create_task(it.run(act.replace("{url}", other)))
        await asked.wait()
        running.cancel()
        await asyncio.wait([running])
        await driver.close()
        async with asyncio.timeout(5):
            await gone.wait()
        assert site.asked_of("localhost") == []


async def test_what_a_page_begins_by_itself_is_asked_about_and_told(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    asked = asyncio.Event()

    async def meanwhile() -> None:
        asked.set()

    html = "<form id=f method=post action=/buy></form>"
    async with browsing(driver, site, html, "submit", answer=False) as it:
        it.person.meanwhile = meanwhile
        await driver.eval("void setTimeout(() => f.submit(), 0)")
        async with asyncio.timeout(10):
            await asked.wait()
        await driver.settled()
        assert len(it.person.asked) == 1 and " by itself: the page sends " in it.person.asked[0]
        assert site.posts() == []
        assert any(type == "warning" and "begun by the page itself" in str(told) for type, told in it.events)


async def test_a_page_that_asks_without_end_is_refused_unasked(driver: PlaywrightDriver, site: CountingServer) -> None:
    html = """<button onclick="for (let n = 0; n < 60; n++) send(n)">Go</button><script>
    const send = (n) => {
      document.body.insertAdjacentHTML("beforeend", `<iframe name=t${n}></iframe><form id=f${n} method=post target=t${n}
        action="http://h${n}.localhost:${location.port}/buy"></form>`);
      document.getElementById("f" + n).submit();
    };</script>"""
    async with browsing(driver, site, html, "submit", answer=False) as it:
        assert "declined by a person" in await it.error('click("Go")')
        await driver.settled()
        assert 20 <= len(it.person.asked) <= 40
        assert site.posts() == []


async def test_a_start_page_that_submits_by_itself_stays_when_that_is_declined(
    driver: PlaywrightDriver, site: CountingServer
) -> None:
    html = "<h1>Here</h1><form id=f method=post action=/buy></form><script>onload = () => f.submit()</script>"
    async with browsing(driver, site, html, "submit", answer=False) as it:
        await driver.settled()
        assert len(it.person.asked) == 1 and site.posts() == []
        assert await driver.text("h1") == "Here"


async def test_nobody_to_ask_is_a_no(driver: PlaywrightDriver, site: CountingServer) -> None:
    site.pages["/"] = FORM
    capability = browser_capability(driver, confirm=["submit"], globals=True)
    [pack] = await capability.build(BuildContext(start_url=site.at()))
    assert pack.aclose is not None
    async with open_sandbox(packs=[pack]) as sandbox:
        outcome = await sandbox.run('function run() { click("Place order") }')
    await pack.aclose()
    assert outcome.error is not None and outcome.error.name == "PolicyDenied"
    assert site.posts() == []


async def test_over_https_nothing_connects_before_a_yes(driver: PlaywrightDriver, site: CountingServer) -> None:
    connections = 0

    def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    server = await asyncio.start_server(count, "127.0.0.1", 0)
    secure = f"https://localhost:{server.sockets[0].getsockname()[1]}/x"
    html = f"<form method=post action='{secure}'><button>Send</button></form><a href='{secure}'>Go</a>"
    async with server, browsing(driver, site, html, "submit", "new-host", answer=False) as it:
        for act in ('click("Go")', "browser.eval('document.forms[0].submit()')", f'goto("{secure}")'):
            assert "declined" in await it.error(act), act
        assert (connections, len(it.person.asked)) == (0, 3)
        it.person.answer = True
        await it.run('click("Go")')
        assert connections > 0


@pytest.mark.parametrize(
    "act", ['click("Go")', 'select("Go")', 'browser.press("Go")', 'type("#q", "x", {submit: true})']
)
async def test_a_search_is_asked_about_too(driver: PlaywrightDriver, site: CountingServer, act: str) -> None:
    html = "<form action=/found><input id=q name=q><button>Go</button></form>"
    async with browsing(driver, site, html, "submit", answer=False) as it:
        assert (await it.error(act)).startswith("PolicyDenied")
        assert len(it.person.asked) == 1 and site.hits == []


@pytest.mark.parametrize("act", ['click("Place order")', "browser.eval('document.forms[0].submit()')"])
async def test_what_ends_the_run_passes(driver: PlaywrightDriver, site: CountingServer, act: str) -> None:
    async def end() -> None:
        raise EndRun(Status.CANCELLED, "api")

    async with browsing(driver, site, FORM, "submit") as it:
        it.person.meanwhile = end
        with pytest.raises(EndRun):
            await it.run(act)
        assert site.posts() == []
