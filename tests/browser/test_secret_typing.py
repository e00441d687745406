"""Secrets into fields: into the right page, by any driver, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from agentloop.browser import Browser, Driver
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import InvalidInput, RequestRefused, TargetError
from agentloop.guard.secrets import Secret, Secrets
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods

VALUE = 'correct-horse "7"'

LOGIN = """<!doctype html><title>Sign in</title>
<form method="post" action="/in">
<label>User <input name="user"></label>
<label>Password <input name="password" type="password" id="pw"></label>
<label>Note <textarea name="note"></textarea></label>
<button>Sign in</button></form>"""


def bound(pages: PageServer, *hosts: str) -> Secrets:
    origins = [pages.address("", host=host) for host in hosts or ("127.0.0.1",)]
    return Secrets([Secret(name="LOGIN", value=VALUE, origins=origins)])


@pytest.fixture
def secrets(pages: PageServer) -> Secrets:
    return bound(pages)


@pytest.fixture
def place(secrets: Secrets) -> str:
    return secrets.get("LOGIN").placeholder


@pytest_asyncio.fixture(params=["abilities", "ten methods"])
async def browser(driver: PlaywrightDriver, secrets: Secrets, request: pytest.FixtureRequest) -> Browser:
    hands: Driver = driver if request.param == "abilities" else TenMethods(driver)
    return Browser(hands, secrets=secrets)


async def really(driver: Driver, selector: str = "#pw") -> str:
    """What a field of the page holds, as the page itself knows it."""
    return str(await driver.eval(f"document.querySelector('{selector}').value"))


async def show(browser: Browser, pages: PageServer, html: str) -> None:
    await browser.goto(pages.put(html))
    await browser.mark()
    browser.take_receipts()


# Into the right page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["User", "Password", "Note"])
async def test_the_value_is_typed_and_the_receipt_names_the_secret(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str, field: str
) -> None:
    await show(browser, pages, LOGIN)
    receipt = await browser.type(field, place)
    assert await really(driver, f"[name={field.lower()}]") == VALUE
    assert receipt.call.endswith(', secret("LOGIN"))') and receipt.note == "" and receipt.value is None
    assert VALUE not in repr(receipt) + "".join(browser.take_receipts())


@pytest.mark.parametrize("field", ["User", "Note"])
async def test_a_text_that_happens_to_be_a_secrets_value_is_not_called_altered(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str, field: str
) -> None:
    await show(browser, pages, LOGIN)
    receipt = await browser.type(field, VALUE)
    assert await really(driver, f"[name={field.lower()}]") == VALUE
    assert (receipt.value, receipt.note) == (None, "")
    receipt = await browser.type(field, f"I am {VALUE}", submit=False)
    assert (receipt.value, receipt.note) == (None, "")


async def test_what_a_page_made_of_such_a_text_is_told(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, LOGIN.replace("<input name=", '<input oninput="this.value += 1" name='))
    receipt = await browser.type("User", VALUE)
    assert receipt.value is not None and receipt.value.endswith("1") and VALUE not in receipt.value


async def test_it_replaces_what_was_there_and_the_page_hears_of_it(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    html = LOGIN.replace('id="pw"', 'id="pw" value="old" oninput="heard.textContent = this.value.length"')
    await show(browser, pages, html + "<output id=heard></output>")
    await browser.type("Password", place)
    assert await really(driver) == VALUE
    assert await driver.text("#heard") == str(len(VALUE))


async def test_submit_sends_it(browser: Browser, pages: PageServer, place: str) -> None:
    pages.put("<!doctype html><title>Welcome</title>", "/in")
    await show(browser, pages, LOGIN)
    receipt = await browser.type("Password", place, submit=True)
    assert receipt.title == "Welcome"


async def test_a_field_without_a_form_takes_it(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    await show(browser, pages, "<!doctype html><label>Key <input id=pw></label>")
    await browser.type("Key", place)
    assert await really(driver) == VALUE


async def test_a_page_that_does_not_keep_it_is_told_of(browser: Browser, pages: PageServer, place: str) -> None:
    await show(browser, pages, "<!doctype html><label>Key <input id=pw oninput=\"this.value = ''\"></label>")
    assert "did not keep" in (await browser.type("Key", place)).note


async def test_what_was_typed_is_never_told_again(browser: Browser, pages: PageServer, place: str) -> None:
    await show(browser, pages, LOGIN)
    await browser.type("User", place)
    assert await browser.value("User") == ""
    assert VALUE not in await browser.look() + repr(await browser.mark())
    assert await browser.eval("document.querySelector('[name=user]').value") == place


# Nowhere else --------------------------------------------------------------------------------------------------


async def refused(browser: Browser, field: str, place: str) -> str:
    with pytest.raises(RequestRefused) as caught:
        await browser.type(field, place)
    assert caught.value.rule == "secret"
    assert VALUE not in str(caught.value)
    return str(caught.value)


async def test_another_host_is_refused(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    pages.put(LOGIN)
    await browser.goto(pages.address(host="localhost"))
    told = await refused(browser, "Password", place)
    assert f"is for {pages.address('')} only, and the field is on {pages.address('', host='localhost')}" in told
    assert await really(driver) == ""


@pytest.mark.parametrize(
    "form",
    ["<form>", "<form method=get>", '<form method="GET" action="/x">', "<form method=nonsense>"],
)
async def test_a_get_form_is_refused(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str, form: str
) -> None:
    await show(browser, pages, LOGIN.replace('<form method="post" action="/in">', form))
    assert "sent by GET" in await refused(browser, "Password", place)
    assert await really(driver) == ""


@pytest.mark.parametrize(
    "more",
    ['<button formmethod="get">Other</button>', '<input type="image" alt="Go" src="x.png" formmethod="get">'],
)
async def test_a_button_that_sends_it_by_get_is_refused(
    browser: Browser, pages: PageServer, place: str, more: str
) -> None:
    await show(browser, pages, LOGIN.replace("</form>", f"{more}</form>"))
    assert "sent by GET" in await refused(browser, "Password", place)


async def test_a_form_whose_fields_bear_the_names_of_its_properties_is_read_all_the_same(
    browser: Browser, pages: PageServer, place: str
) -> None:
    hiding = "".join(f'<input type="hidden" name="{name}" value="post">' for name in ("method", "action", "elements"))
    await show(browser, pages, LOGIN.replace('method="post" action="/in">', f">{hiding}"))
    assert "sent by GET" in await refused(browser, "Password", place)


@pytest.mark.parametrize(
    "html",
    [
        LOGIN.replace('action="/in"', 'action="https://evil.example/in"'),
        LOGIN.replace("<button>", '<button formaction="https://evil.example/in">'),
    ],
)
async def test_a_form_that_is_sent_elsewhere_is_refused(
    browser: Browser, pages: PageServer, place: str, html: str
) -> None:
    await show(browser, pages, html)
    assert "its form is sent to https://evil.example" in await refused(browser, "Password", place)


@pytest.mark.parametrize("made", ["abc{0}", "{0} ", "{0}{0}", "Bearer {0}"])
async def test_among_other_words_it_is_refused(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str, made: str
) -> None:
    await show(browser, pages, LOGIN)
    with pytest.raises(InvalidInput, match="typed whole or not at all"):
        await browser.type("Password", made.format(place))
    assert await really(driver) == ""


async def test_a_placeholder_of_another_run_is_refused(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, LOGIN)
    with pytest.raises(InvalidInput, match="no placeholder of this run"):
        await browser.type("Password", bound(pages).get("LOGIN").placeholder)


async def test_parts_of_it_are_plain_text(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    await show(browser, pages, LOGIN)
    await browser.type("User", place[::-1])
    assert await really(driver, "[name=user]") == place[::-1]


@pytest.mark.parametrize(
    "field",
    [
        "<select aria-label=Field><option>a<option>b</select>",
        "<div role=textbox aria-label=Field contenteditable style='min-height:20px'></div>",
        "<label>Field <input type=date></label>",
        "<label>Field <input readonly></label>",
        "<button>Field</button>",
    ],
)
async def test_what_is_no_text_field_takes_no_secret(
    browser: Browser, pages: PageServer, place: str, field: str
) -> None:
    await show(browser, pages, f"<!doctype html>{field}")
    with pytest.raises(TargetError, match="a secret goes into text fields only"):
        await browser.type("Field", place)


# Frames ----------------------------------------------------------------------------------------------------------


async def in_frame(driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, top: str, inner: str) -> Browser:
    pages.put(LOGIN, "/inner")
    pages.put(f'<!doctype html><iframe src="{inner}" width=500 height=300></iframe>', "/top")
    browser = Browser(driver, secrets=secrets)
    await browser.goto(pages.address("/top", host=top))
    await browser.wait_text("Password")
    return browser


async def test_the_right_page_in_a_wrong_one_is_refused(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, place: str
) -> None:
    browser = await in_frame(driver, pages, secrets, "localhost", pages.address("/inner"))
    told = await refused(browser, "Password", place)
    assert f"in a frame within {pages.address('', host='localhost')}" in told


async def test_a_wrong_frame_in_the_right_page_is_refused(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, place: str
) -> None:
    browser = await in_frame(driver, pages, secrets, "127.0.0.1", pages.address("/inner", host="localhost"))
    assert "the field is on http://localhost" in await refused(browser, "Password", place)


async def test_a_wrong_frame_between_two_right_ones_is_refused(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, place: str
) -> None:
    pages.put(f'<!doctype html><iframe src="{pages.address("/inner")}" width=480 height=280></iframe>', "/between")
    browser = await in_frame(driver, pages, secrets, "127.0.0.1", pages.address("/between", host="localhost"))
    assert "in a frame within http://localhost" in await refused(browser, "Password", place)


async def test_a_frame_of_the_same_page_and_one_of_another_bound_host_take_it(
    driver: PlaywrightDriver, pages: PageServer
) -> None:
    secrets = bound(pages, "127.0.0.1", "localhost")
    for host in ("127.0.0.1", "localhost"):
        browser = await in_frame(driver, pages, secrets, "127.0.0.1", pages.address("/inner", host=host))
        receipt = await browser.type("Password", secrets.get("LOGIN").placeholder)
        assert receipt.note == ""


@pytest.mark.parametrize("sandbox", ["allow-scripts allow-forms", "allow-forms"])
async def test_a_frame_whose_origin_was_taken_away_is_refused(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, place: str, sandbox: str
) -> None:
    pages.put(LOGIN, "/inner")
    html = f'<!doctype html><iframe sandbox="{sandbox}" src="/inner" width=500 height=300></iframe>'
    browser = Browser(driver, secrets=secrets)
    await show(browser, pages, html)
    await browser.wait_text("Password")
    await refused(browser, "Password", place)


# Races and hostile pages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["onfocus", "onmousedown", "onclick"])
async def test_a_field_that_moves_to_another_form_meanwhile_gets_nothing(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str, event: str
) -> None:
    html = LOGIN.replace('id="pw"', f'id="pw" {event}="other.append(this)"')
    await show(browser, pages, html + '<form id="other" method="get" action="/other"></form>')
    with pytest.raises((RequestRefused, TargetError), match=r"sent by GET|nothing was typed"):
        await browser.type("Password", place)
    assert await really(driver) == ""


async def test_a_field_that_moves_all_the_time_never_gets_it_in_the_wrong_form(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, place: str
) -> None:
    html = (
        LOGIN
        + """<form id="other" method="get"></form><script>
      window.caught = [];
      const field = document.getElementById("pw"), own = field.form, away = document.getElementById("other");
      field.addEventListener("input", () => field.form === away && field.value && caught.push(field.value));
      setInterval(() => (field.form === own ? away : own).append(field), 3);
    </script>"""
    )
    browser = Browser(driver, secrets=secrets)
    await show(browser, pages, html)
    for _ in range(8):
        try:
            await browser.type("#pw", place)
        except (RequestRefused, TargetError):
            await asyncio.sleep(0)
    assert await driver.eval("caught") == []


async def test_a_page_that_goes_elsewhere_on_focus_takes_nothing_along(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    evil = pages.put(LOGIN.replace("Sign in", "Elsewhere"), "/evil").replace("127.0.0.1", "localhost")
    await show(browser, pages, LOGIN.replace('id="pw"', f'id="pw" onfocus="location.href=\'{evil}\'"'))
    try:
        await browser.type("Password", place)
    except (RequestRefused, TargetError):
        pass
    await browser.wait_url("localhost")
    assert await really(driver) == ""


async def test_a_wrong_page_that_breaks_what_scripts_stand_on_is_refused(
    browser: Browser, driver: PlaywrightDriver, pages: PageServer, place: str
) -> None:
    right = pages.address("")
    html = (
        LOGIN
        + f"""<script>
      window.got = [];
      Object.defineProperty(window, "origin", {{ get: () => "{right}" }});
      Array.prototype.includes = () => true;
      Array.prototype.findIndex = () => -1;
      const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
      Object.defineProperty(HTMLInputElement.prototype, "value", {{ set(v) {{ got.push(v); set.call(this, v); }} }});
    </script>"""
    )
    pages.put(html)
    await browser.goto(pages.address(host="localhost"))
    await refused(browser, "#pw", place)
    assert await driver.eval("got") == []
