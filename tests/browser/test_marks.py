"""Numbers that belong to elements, in every frame, whatever the page does; and what is asked of a control aimed at."""

from __future__ import annotations

import asyncio

import pytest

from agentloop.browser.abilities import Frames
from agentloop.browser.base import Mark
from agentloop.browser.listing import Aim, Listing, select_marks
from agentloop.browser.marks import Marks
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import InvalidInput, TargetError
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer
from tests.browser.scenarios import SCENARIOS, Scenario
from tests.browser.ten_methods import TenMethods

HEAD = "<!doctype html><body><script>window.seen = ''; window.hit = (what) => (window.seen += what)</script>"
NAMES = "<div id=l><button>a</button><button>b</button><button>c</button></div>"


def by_name(listing: Listing) -> dict[str, int]:
    return {mark.name: mark.id for mark in listing.marks}


def named(listing: Listing, name: str) -> Mark:
    return next(mark for mark in listing.marks if mark.name == name)


async def opened(driver: PlaywrightDriver | TenMethods, marks: Marks, pages: PageServer, body: str) -> Listing:
    await driver.navigate(pages.put(HEAD + body))
    return await eventually(marks.list, lambda listing: bool(listing.marks))


# Numbers -----------------------------------------------------------------------------------------------


async def test_an_element_keeps_its_number_and_none_is_given_twice(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    assert by_name(await opened(driver, marks, pages, NAMES)) == {"a": 1, "b": 2, "c": 3}
    await driver.eval("void l.insertAdjacentHTML('afterbegin', '<button>new</button>')")
    assert by_name(await marks.list()) == {"new": 4, "a": 1, "b": 2, "c": 3}
    await driver.eval("void l.children[1].remove()")
    assert by_name(await marks.list()) == {"new": 4, "b": 2, "c": 3}
    await driver.eval("void l.insertAdjacentHTML('beforeend', '<button>last</button>')")
    assert by_name(await marks.list()) == {"new": 4, "b": 2, "c": 3, "last": 5}


async def test_an_element_that_is_moved_keeps_its_number(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    await opened(driver, marks, pages, NAMES)
    await driver.eval("void l.append(l.firstChild)")
    assert by_name(await marks.list()) == {"b": 2, "c": 3, "a": 1}


async def test_reused_nodes_keep_their_numbers_under_new_names(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    await opened(driver, marks, pages, NAMES)
    await driver.eval("[...l.children].forEach((button, i) => { button.textContent = 'xyz'[i] })")
    assert by_name(await marks.list()) == {"x": 1, "y": 2, "z": 3}


async def test_out_of_sight_a_number_is_kept(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    await opened(driver, marks, pages, NAMES + "<div style='height:3000px'></div><button>end</button>")
    await driver.eval("scrollTo(0, 5000)")
    assert by_name(await marks.list()) == {"end": 4}
    assert marks.get(2).name == "b"
    await driver.eval("scrollTo(0, 0)")
    assert by_name(await marks.list()) == {"a": 1, "b": 2, "c": 3}


async def test_a_new_document_starts_at_one(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    first = await opened(driver, marks, pages, NAMES)
    again = await opened(driver, marks, pages, NAMES)
    assert by_name(again) == {"a": 1, "b": 2, "c": 3}
    assert first.document != again.document


async def test_a_frame_that_is_loaded_again_has_new_numbers(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = "<button>Top</button><iframe id=f srcdoc='<button>In</button>'></iframe><button>End</button>"
    await driver.navigate(pages.put(HEAD + body))
    listing = await eventually(marks.list, lambda listing: len(listing.marks) == 3)
    assert by_name(listing) == {"Top": 1, "In": 2, "End": 3}
    await driver.eval("void (f.srcdoc = '<button>Again</button>')")
    listing = await eventually(marks.list, lambda listing: "Again" in by_name(listing))
    assert by_name(listing) == {"Top": 1, "Again": 4, "End": 3}
    with pytest.raises(TargetError, match='mark 2 "In" is gone'):
        await marks.aim(marks.get(2))


async def test_a_sandboxed_frame_that_is_loaded_again_does_not_answer_for_its_old_elements(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    frame = "<iframe id=f sandbox=allow-scripts srcdoc='<button>In</button>'></iframe>"
    await opened(driver, marks, pages, frame)
    await driver.eval("void (f.srcdoc = '<button>Again</button>')")
    await eventually(marks.list, lambda listing: "Again" in by_name(listing))
    with pytest.raises(TargetError, match='mark 1 "In" is gone'):
        await marks.aim(marks.get(1))


async def test_filters_choose_and_never_renumber(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    body = "<button>Save all</button><div id=box onclick=1><a href=/>Saved</a><button>Go</button> card</div>"
    listing = await opened(driver, marks, pages, body)
    assert [mark.id for mark in select_marks(listing.marks, role="button")] == [1, 4]
    assert [mark.id for mark in select_marks(listing.marks, name=" sAVe ")] == [1, 2, 3]
    assert [mark.id for mark in select_marks(listing.marks, limit=2)] == [1, 2]
    assert await marks.inside("#box") == await marks.inside(2) == {3, 4}
    assert [mark.id for mark in select_marks(listing.marks, role="button", inside=await marks.inside(2))] == [4]
    with pytest.raises(TargetError, match="nothing on this page is '#none'"):
        await marks.inside("#none")


async def test_lists_no_more_than_two_thousand_and_says_so(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = "<style>button { width: 8px; height: 8px; padding: 0; border: 0; margin: 1px; float: left }</style>"
    listing = await opened(driver, marks, pages, body + "<button></button>" * 2100)
    assert (len(listing.marks), listing.left_out) == (2000, 100)


# Frames ------------------------------------------------------------------------------------------------

FRAME_STYLES = {
    "at an offset with a border": "position:absolute;left:300px;top:300px;border:10px solid",
    "scaled": "transform:scale(.8);transform-origin:0 0;position:absolute;left:99px;top:250px;padding:9px",
    "under a pointer cursor": "position:absolute;top:250px;cursor:pointer",
}
INNER = (
    "<body style='margin:0;height:900px'><button style='position:absolute;left:40px;top:140px;width:60px;height:20px' "
    "onclick='{0}'>In</button><script>"
    "(function go() {{ scrollTo(0, 100); if (scrollY < 100) requestAnimationFrame(go) }})()</script>"
)


@pytest.mark.parametrize("sandbox", ["", "sandbox=allow-scripts"], ids=["same origin", "sandboxed"])
@pytest.mark.parametrize("style", FRAME_STYLES.values(), ids=FRAME_STYLES)
async def test_points_in_frames_hit(
    style: str, sandbox: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    inner = INNER.format('parent.postMessage("in", "*")').replace('"', "&quot;")
    body = (
        "<div style='height:2000px'></div><script>onmessage = (event) => hit(event.data); scrollTo(0, 200)</script>"
        f'<iframe {sandbox} style="{style}" width=300 height=120 srcdoc="{inner}"></iframe>'
    )
    listing = await opened(driver, marks, pages, body)
    mark = named(listing, "In")
    scale = 0.8 if "scale" in style else 1
    assert (mark.w, mark.h) == (60 * scale, 20 * scale)
    await driver.pointer_click(mark.x, mark.y)
    assert await eventually(lambda: driver.eval("seen"), "in".__eq__) == "in"
    aim = await marks.aim(mark)
    assert (abs(aim.x - mark.x) < 1, abs(aim.y - mark.y) < 1, aim.scrolled) == (True, True, False)


async def test_a_frame_of_another_site_with_one_more_inside(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    pages.put("<button onclick=\"this.textContent = 'done'\">Deep</button>", "/deep")
    deep = pages.address("/deep")
    pages.put(f"<button>Inner</button><input aria-label=I><iframe src={deep} height=60></iframe>", "/inner")
    inner = pages.address("/inner", host="localhost")
    await driver.navigate(
        pages.put(f"{HEAD}<button>Top</button><p>x</p><iframe src={inner} style='margin:30px'></iframe>")
    )
    listing = await eventually(marks.list, lambda listing: len(listing.marks) == 4)
    assert by_name(listing) == {"Top": 1, "Inner": 2, "I": 3, "Deep": 4}
    aim = await marks.aim(named(listing, "Deep"))
    await driver.pointer_click(aim.x, aim.y)
    assert "done" in by_name(await eventually(marks.list, lambda listing: "done" in by_name(listing)))
    await driver.eval(
        "void document.body.insertAdjacentHTML('beforeend', '<div style=\"position:fixed;inset:0\"></div>')"
    )
    assert (await marks.list()).marks == ()


async def test_a_selector_is_found_in_any_frame_and_open_root(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = (
        "<p class=x hidden>not this</p><div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = "
        "'<button id=deep>D</button>'</script>"
        "<iframe sandbox=allow-scripts srcdoc='<button id=far>F</button>'></iframe>"
    )
    await opened(driver, marks, pages, body)
    await eventually(marks.list, lambda listing: len(listing.marks) == 2)
    assert (await marks.aim_selector("#deep")).frame == ""
    assert (await marks.aim_selector("#far")).frame != ""
    with pytest.raises(TargetError, match="nothing matches '#no'") as missing:
        await marks.aim_selector("#no")
    with pytest.raises(TargetError, match="not shown") as hidden:
        await marks.aim_selector(".x")
    assert (missing.value.reason, hidden.value.reason) == ("missing", "hidden")
    with pytest.raises(InvalidInput, match="is not a CSS selector"):
        await marks.aim_selector("#")


SHADOWS = {
    "three roots deep": "nest(document.body, 3)",
    "a root in a frame": "nest(document.body.appendChild(document.createElement('iframe')).contentDocument.body, 1)",
}
NEST = (
    "<script>function nest(parent, depth) { const host = parent.ownerDocument.createElement('div'); "
    "parent.append(host); const root = host.attachShadow({mode: 'open'}); if (depth > 1) { "
    "const inner = document.createElement('p'); root.append(inner); nest(inner, depth - 1) } "
    "else root.innerHTML = '<button>Sh</button>'; "
    "root.querySelector('button')?.addEventListener('click', () => hit(1)) }; "
)


@pytest.mark.parametrize("build", SHADOWS.values(), ids=SHADOWS)
async def test_shadow_roots_in_each_other_and_in_frames(
    build: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    listing = await opened(driver, marks, pages, f"{NEST}{build}</script>")
    aim = await marks.aim(named(listing, "Sh"))
    await driver.pointer_click(aim.x, aim.y)
    assert await eventually(lambda: driver.eval("seen"), "1".__eq__) == "1"


async def test_of_a_carousel_only_the_slide_in_sight_is_listed(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    slide = "<div {0} style='flex:0 0 300px'><button>Slide {1}</button></div>"
    slides = slide.format("inert", 3) + slide.format("", 1) + slide.format("", 2) + slide.format("inert", 1)
    strip = f"<div style='display:flex;margin-left:-300px'>{slides}</div>"
    body = f"<div style='width:300px;overflow:hidden;display:flex'>{strip}</div>"
    assert by_name(await opened(driver, marks, pages, body)) == {"Slide 1": 1}


# Pages that fight --------------------------------------------------------------------------------------

HOSTILE = """<script>
Element.prototype.getBoundingClientRect = () => ({left: 9, top: 9, right: 9, bottom: 9, width: 0, height: 0});
Document.prototype.elementFromPoint = () => document.body;
Document.prototype.querySelectorAll = () => { throw new Error("no") };
Array.prototype.map = function () { return ["x"] };
Object.prototype.toJSON = () => "broken";
JSON.stringify = () => "broken"; JSON.parse = () => ({}); WeakMap.prototype.get = () => 1; Map = null; Set = null;
globalThis.getComputedStyle = () => ({});
</script>"""


async def test_a_page_that_breaks_its_own_world_is_listed_right(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    body = HOSTILE + "<button onclick='hit(1)'>Real</button><label>Name <input></label>"
    listing = await opened(driver, marks, pages, body)
    assert [(mark.id, mark.role, mark.name) for mark in listing.marks] == [
        (1, "button", "Real"),
        (2, "textbox", "Name"),
    ]
    aim = await marks.aim(listing.marks[0])
    await driver.pointer_click(aim.x, aim.y)
    assert await eventually(lambda: driver.eval("seen"), "1".__eq__) == "1"


async def test_the_page_sees_nothing_of_it(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    watch = (
        "<script>window.changes = 0; new MutationObserver((all) => { changes += all.length }).observe(document, "
        "{attributes: true, childList: true, subtree: true, characterData: true}); "
        "window.before = Object.getOwnPropertyNames(globalThis).length</script>"
    )
    listing = await opened(driver, marks, pages, NAMES + watch)
    await driver.eval("new Promise((done) => { onload = done; if (document.readyState === 'complete') done() })")
    await driver.eval("void (changes = 0)")
    await marks.look()
    await marks.aim(listing.marks[0])
    assert await driver.eval("changes") == 0
    assert await driver.eval("Object.getOwnPropertyNames(globalThis).length - before") <= 1  # `onload`, set above


# Names without a name ----------------------------------------------------------------------------------

HINTS = {
    "<button class='btn btn-trash'></button>": "trash",
    "<button id=closeDialog></button>": "close dialog",
    "<button><i class='fa fa-star'></i></button>": "star",
    "<button><img src='/img/shopping-cart.svg?x=1'></button>": "shopping cart",
    "<button><svg width=9 height=9><use href='#icon-menu'></use></svg></button>": "menu",
    "<input name=user_email>": "user email",
    "<p>Amount due</p><button class='css-1x2y3z'></button>": "",
    "<div>Amount due <button class='css-1x2y3z'></button></div>": "Amount due",
}


@pytest.mark.parametrize(("html", "hint"), HINTS.items(), ids=HINTS)
async def test_a_hint_stands_in_for_a_name(
    html: str, hint: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    style = "<style>button { width: 30px; height: 20px }</style>"
    (mark,) = (await opened(driver, marks, pages, style + html)).marks
    assert (mark.name, mark.hint) == ("", hint)


async def test_generated_content_names_only_what_has_no_other_name(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    rule = ".{0}::before {{ content: '{1}' }}"
    rules = rule.format("star", "*") + rule.format("word", "Close") + rule.format("icon", "\\f00d")
    style = f"<style>{rules}</style>"
    body = "<button class=star>Save</button><button class=word></button><button class='icon shut'></button>"
    listing = await opened(driver, marks, pages, style + body)
    assert [(mark.name, mark.hint) for mark in listing.marks] == [("Save", ""), ("Close", ""), ("", "shut")]


async def test_context_is_the_row_without_the_name(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    rows = "".join(
        f"<li>{name} <b>{price} EUR</b> <button>Add</button></li>" for name, price in (("Oak", 9), ("Elm", 8))
    )
    listing = await opened(driver, marks, pages, f"<ul>{rows}</ul>")
    assert [mark.context for mark in listing.marks] == ["Oak 9 EUR", "Elm 8 EUR"]


# A control that is aimed at ----------------------------------------------------------------------------


async def aimed(driver: PlaywrightDriver, marks: Marks, pages: PageServer, body: str) -> Aim:
    return await marks.aim((await opened(driver, marks, pages, body)).marks[0])


async def test_tells_what_a_control_is(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    aim = await aimed(driver, marks, pages, "<textarea aria-label=T>a\nb</textarea>")
    state = await marks.state(aim)
    assert (state.tag, state.role, state.value, state.filled, state.editable) == (
        "textarea",
        "textbox",
        "a\nb",
        True,
        True,
    )
    aim = await aimed(driver, marks, pages, "<input type=password value=p readonly>")
    state = await marks.state(aim)
    assert (state.type, state.value, state.filled, state.editable, state.readonly) == (
        "password",
        None,
        True,
        False,
        True,
    )
    aim = await aimed(driver, marks, pages, "<select><option>a<option selected>b</select>")
    state = await marks.state(aim)
    assert (state.value, state.options, state.editable) == ("b", ("a", "b"), False)
    await driver.eval("void document.querySelector('select').remove()")
    with pytest.raises(TargetError, match="no longer on the page"):
        await marks.state(aim)


FILLS = {
    "date": "2031-05-06",
    "time": "09:30",
    "month": "2031-05",
    "week": "2031-W07",
    "datetime-local": "2031-05-06T09:30",
    "color": "#336699",
    "range": "40",
    "number": "7",
}


@pytest.mark.parametrize(("kind", "value"), FILLS.items(), ids=FILLS)
async def test_fills_what_cannot_be_typed(
    kind: str, value: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    aim = await aimed(driver, marks, pages, f"<input type={kind} oninput=\"hit('i')\" onchange=\"hit('c')\">")
    assert await marks.fill(aim, value) == value
    assert await driver.eval("[document.querySelector('input').value, seen]") == [value, "ic"]


async def test_a_framework_that_tracks_values_sees_what_is_filled(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    tracker = (
        "<script>const input = document.querySelector('input'); const real = Object.getOwnPropertyDescriptor("
        "HTMLInputElement.prototype, 'value'); let known = ''; Object.defineProperty(input, 'value', {get: () => "
        "real.get.call(input), set: (value) => { known = value; real.set.call(input, value) }}); "
        "input.oninput = () => { if (real.get.call(input) !== known) hit('changed') }</script>"
    )
    aim = await aimed(driver, marks, pages, "<input type=date>" + tracker)
    await marks.fill(aim, "2031-05-06")
    assert await driver.eval("seen") == "changed"


async def test_what_takes_no_value_says_so(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    aim = await aimed(driver, marks, pages, "<button>Go</button>")
    with pytest.raises(TargetError, match='mark 1 "Go" takes no value') as caught:
        await marks.fill(aim, "x")
    assert caught.value.reason == "unfit"


SIZES = (
    "<select aria-label=Size onchange='hit(this.value)'><option value=''>Choose<option value=s>Small"
    "<option value=m>Medium size<option value=l disabled>Large</select>"
)


@pytest.mark.parametrize(
    ("wanted", "label", "value"),
    [
        ("Small", "Small", "s"),
        ("m", "Medium size", "m"),
        ("sMALL ", "Small", "s"),
        ("medium", "Medium size", "m"),
        ("3", "Medium size", "m"),
    ],
)
async def test_selects_by_label_value_part_or_place(
    wanted: str, label: str, value: str, driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    aim = await aimed(driver, marks, pages, SIZES)
    assert await marks.select(aim, [wanted]) == (label,)
    assert await driver.eval("[seen, document.querySelector('select').value]") == [value, value]


async def test_an_option_that_is_not_there_is_refused_with_those_that_are(
    driver: PlaywrightDriver, marks: Marks, pages: PageServer
) -> None:
    aim = await aimed(driver, marks, pages, SIZES)
    for wanted in (["Large"], ["Small", "Medium size"]):
        with pytest.raises(TargetError, match=r"options: Choose, Small, Medium size$") as caught:
            await marks.select(aim, wanted)
        assert caught.value.reason == "unfit"
    assert await driver.eval("seen") == ""
    aim = await aimed(driver, marks, pages, "<button>Go</button>")
    with pytest.raises(TargetError, match="is a button and has no options"):
        await marks.select(aim, ["x"])


async def test_selects_several_where_several_may_be(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    aim = await aimed(driver, marks, pages, "<select multiple><option>a<option selected>b<option>c</select>")
    assert await marks.select(aim, ["a", "c"]) == ("a", "c")
    assert await driver.eval("[...document.querySelector('select').selectedOptions].map((o) => o.text)") == ["a", "c"]


async def test_text_that_appears_nearby_is_seen(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    body = "<p>" + "far away " * 80 + "</p><form><label>Name <input></label><p id=e></p><button>Send</button></form>"
    aim = await aimed(driver, marks, pages, body)
    before = await marks.nearby(aim)
    await driver.eval("void (e.textContent = 'Name is required')")
    after = await marks.nearby(aim)
    assert "Name is required" in after
    assert "Name is required" not in before
    assert "far away" not in after
    assert len(after) <= 400


async def test_a_tag_is_there_only_inside_its_block(driver: PlaywrightDriver, marks: Marks, pages: PageServer) -> None:
    aim = await aimed(driver, marks, pages, "<button>Go</button>")
    before = await driver.eval("document.body.outerHTML")
    async with marks.tag(aim) as selector:
        assert await driver.text(selector) == "Go"
    assert await driver.eval("document.body.outerHTML") == before
    with pytest.raises(asyncio.CancelledError):
        async with marks.tag(aim):
            raise asyncio.CancelledError
    assert await driver.eval("document.body.outerHTML") == before


# Ten methods -------------------------------------------------------------------------------------------

# A selector cannot say where on the element to click, and a driver may decline what calls itself disabled.
BEYOND_SELECTORS = ("L", "Title", "half", "edge", "ad")
WITHOUT_FRAMES = [scenario for scenario in SCENARIOS if "frame" not in scenario.name]


@pytest.mark.parametrize("scenario", WITHOUT_FRAMES, ids=lambda scenario: scenario.name)
async def test_ten_methods_are_enough_to_list_and_click(
    scenario: Scenario, driver: PlaywrightDriver, pages: PageServer
) -> None:
    ten = TenMethods(driver)
    marks = Marks(ten)
    assert not isinstance(ten, Frames)
    await ten.navigate(pages.put(scenario.html))
    listing = await marks.list()
    assert tuple((mark.role, mark.name) for mark in listing.marks) == scenario.marks
    for name, seen in scenario.clicks.items():
        if name in BEYOND_SELECTORS:
            continue
        await ten.eval("void (window.seen = '')")
        async with marks.tag(await marks.aim(named(listing, name))) as selector:
            await ten.click(selector)
        assert await eventually(lambda: ten.eval("window.seen"), seen.__eq__) == seen


async def test_ten_methods_type_by_number(driver: PlaywrightDriver, pages: PageServer) -> None:
    ten = TenMethods(driver)
    marks = Marks(ten)
    await ten.navigate(pages.put(HEAD + "<input aria-label=Q value=old><div contenteditable aria-label=E>x</div>"))
    listing = await marks.list()
    aim = await marks.aim(listing.marks[0])
    await marks.fill(aim, "")
    async with marks.tag(aim) as selector:
        await ten.send_keys(selector, "new")
    assert (await marks.state(aim)).value == "new"
    assert "new" in (await marks.look()).text
    assert await ten.eval("Object.keys(globalThis).filter((name) => name.startsWith('__'))") == []
