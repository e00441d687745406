"""Typing, choosing and ticking on real pages."""

from __future__ import annotations

import time

import pytest
import pytest_asyncio

from agentloop.browser import Browser, Driver
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import TargetError
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods

TEXT = "naïve İ 🚀\nline2"

FIELDS = """<!doctype html><title>Fields</title>
<form onsubmit="document.title='submitted'; return false">
<label>Name <input name="name" value="old"></label>
<label>Bio <textarea name="bio">old
text</textarea></label>
<label>Short <input name="short" maxlength="5"></label>
<label>Fixed <input name="fixed" value="stays" readonly></label>
<label>Secret <input name="secret" type="password"></label>
<label>Count <input name="count" type="number"></label>
<label>Day <input name="day" type="date"></label>
<label>Hour <input name="hour" type="time"></label>
<label>Month <input name="month" type="month"></label>
<label>Week <input name="week" type="week"></label>
<label>Moment <input name="moment" type="datetime-local"></label>
<label>Colour <input name="colour" type="color"></label>
<label>Level <input name="level" type="range" min="0" max="10"></label>
<label>File <input name="file" type="file"></label>
<div role="textbox" aria-label="Editor" contenteditable style="border:1px solid;min-height:40px"><p>old</p></div>
<button>Send</button>
</form>"""

# A controlled field as frameworks build them: they keep the last value on the element and ignore
# events after which it has not changed; the state is drawn back into the field after each event.
CONTROLLED = """<!doctype html><title>Controlled</title>
<label>Free <input id="free"></label><output id="state"></output><button id="go" disabled>Go</button>
<label>Digits <input id="digits"></label>
<label>Stuck <input id="stuck" value="kept"></label>
<script>
function control(id, reduce, seen) {
  const field = document.getElementById(id);
  const native = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  let tracked = field.value;
  let state = field.value;
  Object.defineProperty(field, "value", {
    configurable: true,
    get() { return native.get.call(this); },
    set(value) { tracked = value; native.set.call(this, value); },
  });
  field.addEventListener("input", () => {
    const value = native.get.call(field);
    if (value === tracked) return;
    tracked = value;
    state = reduce(value, state);
    if (seen) seen(state);
    Promise.resolve().then(() => { field.value = state; });
  });
}
control("free", (value) => value, (value) => { state.textContent = value; go.disabled = !value; });
control("digits", (value) => value.replace(/\\D/g, ""));
control("stuck", (value, old) => old);
</script>"""

CHOICES = """<!doctype html><title>Choices</title>
<label>Shipping <select id="shipping"><option>Standard<option>Express<option disabled>Drone</select></label>
<label>Toppings <select id="toppings" multiple><option>Ham<option>Olives<option>Corn</select></label>
<label><input type="checkbox" id="terms"> I agree</label>
<label><input type="radio" name="size" value="s" id="small"> Small</label>
<label><input type="radio" name="size" value="l" id="large"> Large</label>
<label><input type="checkbox" id="stubborn" onclick="event.preventDefault()"> Stubborn</label>
<button id="fake" aria-haspopup="listbox" onclick="menu.hidden = !menu.hidden">Colour</button>
<div role="listbox" id="menu" hidden>
  <div role="option" tabindex="0" onclick="fake.textContent = 'Colour: red'; menu.hidden = true">Red</div>
  <div role="option" tabindex="0" onclick="fake.textContent = 'Colour: blue'; menu.hidden = true">Blue</div>
</div>
<input role="combobox" aria-label="City" id="city">
<div id="cities"></div>
<script>
city.addEventListener("input", () => setTimeout(() => {
  cities.innerHTML = ["Paris", "Parma"].filter((name) => name.startsWith(city.value))
    .map((name) => `<div role="option" tabindex="0" onclick="city.value='${name} chosen'">${name}</div>`).join("");
}, 600));
</script>"""


@pytest_asyncio.fixture(params=["abilities", "ten methods"])
async def browser(driver: PlaywrightDriver, request: pytest.FixtureRequest) -> Browser:
    """A browser over a driver with every ability, and over one with none."""
    hands: Driver = driver if request.param == "abilities" else TenMethods(driver)
    return Browser(hands)


async def show(browser: Browser, pages: PageServer, html: str) -> None:
    await browser.goto(pages.put(html))
    await browser.mark()
    browser.take_receipts()


async def held(browser: Browser, name: str) -> str:
    return str(await browser.eval(f"document.querySelector('[name={name}]').value"))


async def test_typing_replaces_what_a_field_holds(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type(("Name", 1), "Ann Lee")
    assert receipt.value is None and receipt.changed
    assert await held(browser, "name") == "Ann Lee"
    assert browser.take_receipts() == ('type("Name", 1, "Ann Lee") -> ok',)


async def test_a_newline_is_text_and_never_submits(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    await browser.type("Bio", TEXT)
    assert await held(browser, "bio") == TEXT
    one_line = await browser.type("Name", TEXT)
    assert await held(browser, "name") == one_line.value
    assert one_line.value is not None and one_line.value.replace(" ", "") == TEXT.replace("\n", "").replace(" ", "")
    assert await browser.title() == "Fields"


async def test_an_editor_takes_lines_and_gives_up_its_old_text(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type("Editor", TEXT)
    text = await browser.eval("document.querySelector('[contenteditable]').innerText")
    lines = [line for line in text.split("\n") if line]
    assert "".join(lines) == TEXT.replace("\n", "")
    # What came out otherwise than it was typed is told.
    assert (receipt.value is None) == (lines == TEXT.split("\n"))


async def test_an_empty_text_empties_the_field(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type("Name", "")
    assert (await held(browser, "name"), receipt.value) == ("", None)


async def test_submit_presses_enter_afterwards(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    await browser.type("Name", "Ann", submit=True)
    assert await browser.title() == "submitted"
    assert browser.take_receipts()[0].startswith('type("Name", 1, "Ann", {submit: true}) -> ')


async def test_a_field_that_holds_something_else_is_reported(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type("Short", "Istanbul")
    assert receipt.value == "Istan"
    assert 'holds "Istan"' in browser.take_receipts()[0]
    assert (await browser.type("Count", "12a.5")).value == "12.5"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("day", "2026-01-31"),
        ("hour", "08:30"),
        ("month", "2026-01"),
        ("week", "2026-W05"),
        ("moment", "2026-01-31T08:30"),
        ("colour", "#ff8800"),
        ("level", "7"),
    ],
)
async def test_dates_times_colours_and_ranges_are_set_by_value(
    browser: Browser, pages: PageServer, name: str, value: str
) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type(f"[name={name}]", value)
    assert (await held(browser, name), receipt.value) == (value, None)


async def test_a_date_written_otherwise_is_reported(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    assert (await browser.type("Day", "31 January")).value == ""


async def test_a_password_is_typed_and_never_shown(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    receipt = await browser.type("Secret", "hunter2")
    assert await held(browser, "secret") == "hunter2"
    assert "hunter2" not in repr(receipt) + "".join(browser.take_receipts()) + repr(await browser.mark())


async def test_what_is_no_field_says_so_and_names_the_nearest(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, FIELDS)
    with pytest.raises(
        TargetError, match=r'button "Send" is no text field.*nearest text field is \[\d+\] textbox "Editor"'
    ):
        await browser.type("Send", "text")
    with pytest.raises(TargetError, match="read-only"):
        await browser.type("Fixed", "text")
    with pytest.raises(TargetError, match="upload"):
        await browser.type("[name=file]", "text")
    assert await held(browser, "fixed") == "stays"


async def test_four_thousand_lines_go_in_at_once(driver: PlaywrightDriver, pages: PageServer) -> None:
    browser = Browser(driver)
    await show(browser, pages, FIELDS)
    text = "\n".join(f"line {number}" for number in range(4000))
    started = time.monotonic()
    receipt = await browser.type("Bio", text)
    assert time.monotonic() - started < 10
    assert receipt.value is None and await held(browser, "bio") == text


async def test_a_controlled_field_sees_the_change(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CONTROLLED)
    await browser.type("Free", "Ann 🚀")
    assert await browser.text("#state") == "Ann 🚀"
    assert await browser.eval("go.disabled") is False


async def test_a_controlled_field_that_alters_or_refuses_is_reported(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CONTROLLED)
    assert (await browser.type("Digits", "a1b2")).value == "12"
    refused = await browser.type("Stuck", "new")
    assert refused.value == "kept"
    assert browser.take_receipts()[-1] == 'type("Stuck", 3, "new") -> holds "kept"; the page kept its old value'


async def test_options_are_chosen_by_label(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    await browser.select(("Shipping", 1), "Express")
    assert browser.take_receipts() == ('select("Shipping", 1, "Express") -> ok',)
    assert await browser.eval("shipping.value") == "Express"
    await browser.select("Toppings", ["Ham", "Corn"])
    assert await browser.eval("[...toppings.selectedOptions].map(o => o.text)") == ["Ham", "Corn"]


async def test_an_unknown_option_quotes_those_there_are(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    with pytest.raises(TargetError, match="Standard, Express") as caught:
        await browser.select("Shipping", "Overnight")
    assert caught.value.reason == "unfit"
    with pytest.raises(TargetError, match=r'which option.*"Standard", "Express"'):
        await browser.select("Shipping")


@pytest.mark.parametrize(("name", "id"), [("I agree", "terms"), ("Large", "large")])
async def test_select_on_what_is_ticked_is_a_click(browser: Browser, pages: PageServer, name: str, id: str) -> None:
    await show(browser, pages, CHOICES)
    await browser.select(name, name)
    assert await browser.eval(f"{id}.checked") is True
    line = browser.take_receipts()[0]
    assert line.startswith(f'click("{name}", ') and line.endswith("; select is for lists: this was a click")


async def test_a_list_made_of_other_elements_is_opened_and_chosen_from(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    await browser.select("Colour", "Blue")
    assert await browser.text("#fake") == "Colour: blue"
    with pytest.raises(TargetError, match='"Red", "Blue"'):
        await browser.select("#fake", "Green")


async def test_a_combobox_that_fills_late_is_typed_into_and_chosen_from(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    await browser.select("City", "Parma")
    assert await browser.value("City") == "Parma chosen"


async def test_type_on_a_combobox_of_options_is_a_select(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    await browser.type("Shipping", "Express")
    assert await browser.eval("shipping.value") == "Express"
    assert browser.take_receipts()[0].startswith('select("Shipping", 1, "Express") -> ok; type is for text fields')


async def test_check_sets_and_does_not_toggle(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    assert (await browser.check("I agree")).changed
    again = await browser.check("I agree")
    assert not again.changed and "already" in again.note
    assert await browser.eval("terms.checked") is True
    await browser.check("I agree", False)
    assert await browser.eval("terms.checked") is False


async def test_check_tells_what_cannot_be_checked_or_does_not_stay(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, CHOICES)
    with pytest.raises(TargetError, match="use click"):
        await browser.check("Colour")
    await browser.check("Small")
    with pytest.raises(TargetError, match="another one"):
        await browser.check("Small", False)
    assert "did not keep it" in (await browser.check("Stubborn")).note
