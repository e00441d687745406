"""Whatever a driver tells of a page, it tells without secrets; hostile pages included."""

from __future__ import annotations

import base64
import json
import re

import pytest

from agentloop.browser import Browser, Driver
from agentloop.browser import abilities as room
from agentloop.browser.redacting_driver import redacting_driver
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import DriverError, InvalidInput
from agentloop.guard.secrets import Secret, Secrets
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods

VALUE = 'correct-horse "7" & é'
SHOWN = VALUE.replace("&", "&amp;").replace('"', "&quot;")

ROWS = f"""<!doctype html><title>{SHOWN}</title>
<p>Before {SHOWN} after</p><input aria-label="Echo" value="{SHOWN}"><textarea aria-label="Area">{SHOWN}</textarea>
<a href="#{SHOWN}">Link {SHOWN}</a><select aria-label="List"><option>{SHOWN}</select>
<table><tr><td>{SHOWN}</td><td><button onclick="document.title = 'one'">Open</button></td></tr>
<tr><td>Other</td><td><button onclick="document.title = 'two'">Open</button></td></tr></table>
<button aria-label="{"long words " * 8}{SHOWN}">x</button>
<img alt="{SHOWN}" src="/none.png" width="80" height="20"><div role="status">{SHOWN}</div>
<script>const value = {json.dumps(VALUE)}, word = value;</script>"""


@pytest.fixture
def secrets(pages: PageServer) -> Secrets:
    return Secrets([Secret(name="LOGIN", value=VALUE, origins=[pages.address("")])])


@pytest.fixture(params=["abilities", "ten methods"])
def browser(driver: PlaywrightDriver, secrets: Secrets, request: pytest.FixtureRequest) -> Browser:
    hands: Driver = driver if request.param == "abilities" else TenMethods(driver)
    return Browser(hands, secrets=secrets)


def shows(secrets: Secrets, *told: object) -> bool:
    return any(secrets.redactor.sees(str(each)) or "correct-h" in str(each) for each in told)


async def test_every_reading_of_a_page_has_the_placeholder(
    browser: Browser, pages: PageServer, secrets: Secrets
) -> None:
    await browser.goto(pages.put(ROWS))
    told = [
        await browser.look(),
        await browser.look(chars=400),
        await browser.markdown(),
        await browser.title(),
        await browser.text("body"),
        await browser.value("Echo"),
        repr(await browser.mark()),
        await browser.eval("value"),
        await browser.eval("({v: [value, {[value]: 1}]})"),
        await browser.eval("JSON.stringify(JSON.stringify(value))"),
        await browser.eval("encodeURIComponent(value)"),
        await browser.eval("[...new TextEncoder().encode(value)].map((b) => b.toString(16).padStart(2, '0')).join('')"),
        await browser.eval("btoa(String.fromCharCode(...new TextEncoder().encode('xx' + value + 'yy')))"),
        await browser.eval("value.split('').join('\\\\u200b')"),
        await browser.eval("value.toUpperCase()"),
    ]
    assert not shows(secrets, *told)
    place = secrets.get("LOGIN").placeholder
    assert all(place in text for text in map(str, told[2:6])), told[2:6]


@pytest.mark.parametrize(
    "html",
    [
        "<p><b>{a}</b><i>{b}</i></p>",
        "<p><span>{a}</span><code>{b}</code></p>",
        "<iframe srcdoc='<p><b>{a}</b>{b}</p>'></iframe>",
        "<button><b>{a}</b>{b}</button>",
    ],
)
async def test_what_is_put_together_from_pieces_has_it_too(
    browser: Browser, pages: PageServer, secrets: Secrets, html: str
) -> None:
    value = secrets.get("LOGIN").value
    await browser.goto(pages.put(html.format(a=value[:9], b=value[9:])))
    for told in (await browser.look(), await browser.markdown(), repr(await browser.mark())):
        assert not secrets.redactor.sees(re.sub(r"[*`]", "", told)), told


async def test_what_is_changed_beyond_recognition_is_not_known(browser: Browser, pages: PageServer) -> None:
    """The limit that the documentation names: this is no promise, but nobody should believe it to be one."""
    await browser.goto(pages.put(ROWS))
    assert await browser.eval("value.split('').reverse().join('')") == VALUE[::-1]


async def test_errors_and_receipts_have_it_too(browser: Browser, pages: PageServer, secrets: Secrets) -> None:
    await browser.goto(pages.put(ROWS))
    await browser.mark()
    with pytest.raises(DriverError) as caught:
        await browser.eval("(() => { throw new Error(value) })()")
    receipt = await browser.click("Link " + secrets.get("LOGIN").placeholder)
    assert receipt.effects.url is not None
    assert not shows(secrets, caught.value, receipt, *browser.take_receipts(), await browser.url())


async def test_a_row_that_shows_it_can_be_acted_on(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    browser = Browser(driver, secrets=secrets)
    await browser.goto(pages.put(ROWS))
    first, second = [mark for mark in await browser.mark() if mark.name == "Open"]
    await browser.click(second.id)
    assert await browser.title() == "two"
    await browser.click(first.id)
    assert await browser.title() == "one"


async def test_dialogs_tabs_and_downloads(driver: PlaywrightDriver, pages: PageServer, secrets: Secrets) -> None:
    data = base64.b64encode(b"x").decode()
    html = (
        ROWS
        + f"""<button onclick="window.open('/other?' + encodeURIComponent(word)); alert('say ' + word);
      document.title = word + ' again'">Go</button>
      <a id="file" download="{SHOWN}.txt" href="data:text/plain;base64,{data}">File</a>"""
    )
    pages.put(ROWS, "/other")
    browser = Browser(driver, secrets=secrets)
    await browser.goto(pages.put(html))
    receipts = [await browser.click("File"), await browser.click("Go")]
    told = [await browser.dialogs(), await browser.tabs(), await browser.downloads(), *receipts]
    assert receipts[1].effects.dialogs and receipts[1].effects.opened
    assert not shows(secrets, *told)


def test_the_wrapped_driver_can_do_what_the_driver_can(driver: PlaywrightDriver, secrets: Secrets) -> None:
    names = [name for name in room.__all__ if getattr(getattr(room, name), "_is_runtime_protocol", False)]
    assert names
    for inner in (driver, TenMethods(driver)):
        hidden = redacting_driver(inner, secrets)
        assert [isinstance(hidden, getattr(room, name)) for name in names] == [
            isinstance(inner, getattr(room, name)) for name in names
        ]
    assert redacting_driver(hidden, secrets) is hidden


async def test_no_recording_is_made_of_pages_with_secrets(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, tmp_path: object
) -> None:
    hidden = redacting_driver(driver, secrets)
    assert isinstance(hidden, room.Recorder)
    with pytest.raises(InvalidInput, match="would hold the secrets"):
        await hidden.start_recording(str(tmp_path), trace=True)
