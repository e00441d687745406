"""Elements that are named like properties stand in their place on forms and documents: no script of ours may mind."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from agentloop.browser import Browser
from agentloop.browser.marks import Marks
from agentloop.browser.page import evaluate, has_text, markdown, title
from agentloop.drivers import PlaywrightDriver
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods


def scripts() -> str:
    rooms = (files("agentloop.browser"), files("agentloop.drivers"))
    return "\n".join(file.read_text("utf-8") for room in rooms for file in room.iterdir() if file.name.endswith(".js"))


def names() -> list[str]:
    """Every property that a script of ours reads of anything, and the names that it leaves in a world."""
    read = re.findall(r"\.([A-Za-z]\w*)", scripts())
    captured = re.findall(r'(?:getter|method|getterOf|property|shared)\((?:\w+, )?"(\w+)"', scripts())
    left = re.findall(r'"(__\w+)"', scripts())
    return sorted({*read, *captured, *left})


NAMES = names()
HEAD = "<!doctype html><title>T</title><script>function zz(what) { globalThis.zzSeen = what }</script>"
STYLE = (
    "<style>form.f { display: inline-block; width: 24px; height: 12px } .f button { width: 20px; height: 10px }</style>"
)
CONTROLS = (
    "<h2>Order</h2><button type=button onclick='zz(this.value)' value=pressed>Press</button>"
    "<label>Name <input value=old></label>"
    "<label><input type=checkbox onchange='zz(this.checked)'> Agree</label>"
    "<label>Size <select onchange='zz(this.value)'><option>small<option>large</select></label>"
    "<details><summary>More</summary>inside</details><ul><li>one <a href='#l'>link</a><li>two</ul>"
    "<div style='height:40px;overflow:auto' id=pane><p>a</p><p>b</p><p>c</p></div>"
    "<table><tr><td>x<td><input aria-label=Cell></table><textarea aria-label=Note></textarea>"
)


def test_the_names_are_read_from_the_scripts() -> None:
    known = "parentElement assignedSlot matches getAttribute childNodes ownerDocument shadowRoot nodeType elements"
    assert {*known.split(), "body", "activeElement", "defaultView", "innerText", "labels"} - {"elements"} <= {*NAMES}
    assert len(NAMES) > 200


def fields(prefix: str = "") -> str:
    return "".join(f"<input type=hidden name={prefix}{name}>" for name in NAMES)


def in_forms(prefix: str) -> str:
    """A form for each name, with a button in it."""
    form = "<form class=f><input type=hidden name={0}><button type=button aria-label={1}></button></form>"
    return HEAD + STYLE + "".join(form.format(prefix + name, f"b{place}") for place, name in enumerate(NAMES))


def in_one_form(prefix: str) -> str:
    """Controls of every kind in one form that has fields of all names, and is a control itself."""
    return f"{HEAD}<form tabindex=0 title=All>{fields(prefix)}<p>Hello</p>{CONTROLS}</form>"


def in_document(prefix: str, tag: str, attribute: str) -> str:
    """The same controls in a document that has elements of all names."""
    named = "".join(f"<{tag} hidden {attribute}={prefix}{name}></{tag}>" for name in NAMES)
    return HEAD + CONTROLS + named.replace("</img>", "")


async def seen(driver: PlaywrightDriver | TenMethods, pages: PageServer, html: str) -> tuple[object, ...]:
    """The listing without what belongs to one document only, and the text."""
    marks = Marks(driver)
    await driver.navigate(pages.put(html))
    look = await marks.look()
    listed = [mark.to_dict() | {"context": mark.context} for mark in look.listing.marks]
    return listed, look.text, look.listing.title, look.listing.scroll


DOCUMENTS = {"img": "name", "form": "name", "embed": "name", "object": "id", "a": "id"}


async def test_fields_named_like_properties_change_nothing(driver: PlaywrightDriver, pages: PageServer) -> None:
    harmless = await seen(driver, pages, in_forms("x_"))
    named = await seen(driver, pages, in_forms(""))
    assert len(harmless[0]) == len(NAMES)  # type: ignore[arg-type]
    found = {mark["name"] for mark in named[0]}  # type: ignore[attr-defined]
    assert [name for place, name in enumerate(NAMES) if f"b{place}" not in found] == []
    assert named == harmless


async def test_a_form_of_all_names_is_listed_as_any_other(driver: PlaywrightDriver, pages: PageServer) -> None:
    assert await seen(driver, pages, in_one_form("")) == await seen(driver, pages, in_one_form("x_"))


@pytest.mark.parametrize(("tag", "attribute"), DOCUMENTS.items(), ids=DOCUMENTS)
async def test_a_document_of_all_names_is_listed_as_any_other(
    tag: str, attribute: str, driver: PlaywrightDriver, pages: PageServer
) -> None:
    harmless = await seen(driver, pages, in_document("x_", tag, attribute))
    assert await seen(driver, pages, in_document("", tag, attribute)) == harmless


async def test_frames_named_like_a_document_s_properties(driver: PlaywrightDriver, pages: PageServer) -> None:
    of_document = re.findall(r'(?:getter|method)\(Document, "(\w+)"', scripts())
    frames = "".join(f"<iframe hidden name={name}></iframe>" for name in of_document)
    assert len(of_document) > 5
    assert (await seen(driver, pages, HEAD + CONTROLS + frames))[:2] == (await seen(driver, pages, HEAD + CONTROLS))[:2]


async def test_ten_methods_read_such_a_page_too(driver: PlaywrightDriver, pages: PageServer) -> None:
    ten = TenMethods(driver)
    assert await seen(ten, pages, in_one_form("")) == await seen(ten, pages, in_one_form("x_"))


BLINDED = {"form": in_one_form(""), "document": in_document("", "img", "name")}


@pytest.mark.parametrize("html", BLINDED.values(), ids=BLINDED)
async def test_every_verb_works_on_such_a_page(html: str, driver: PlaywrightDriver, pages: PageServer) -> None:
    browser = Browser(driver)
    await browser.goto(pages.put(html))
    await eventually(browser.mark, bool)
    await browser.click("Press")
    assert await driver.eval("zzSeen") == "pressed"
    assert (await browser.type("Name", "new")).value is None
    assert await browser.value("Name") == "new"
    await browser.check("Agree")
    assert await driver.eval("zzSeen") is True
    await browser.select("Size", "large")
    assert await driver.eval("zzSeen") == "large"
    await browser.type("Note", "a\n" * 30)
    assert await browser.value("Note") == "a\n" * 30
    assert (await browser.scroll(0, 20, "#pane")).changed
    assert await browser.text("link") == "link"
    await browser.click("More")
    assert "inside" in await browser.look()


@pytest.mark.parametrize("html", BLINDED.values(), ids=BLINDED)
async def test_such_a_page_is_read(html: str, driver: PlaywrightDriver, pages: PageServer) -> None:
    await driver.navigate(pages.put(html))
    assert await title(driver) == "T"
    assert [tab.title for tab in await driver.tabs()] == ["T"]
    assert await has_text(driver, "one link")
    assert (await markdown(driver)).startswith("## Order" if "<p>Hello" not in html else "Hello")
    still = await evaluate(driver, "stillness", {"quiet": 0, "cap": 0})
    assert still["url"] == pages.address()
    async with driver.watch() as watched:
        await driver.eval("void document.querySelectorAll; void (globalThis.zzSeen = 1)")
    assert not watched.effects.timed_out


FOREIGN = ("select", "input", "textarea", "slot", "form", "label", "option", "iframe", "area", "summary", "details")


async def test_elements_of_another_namespace_are_not_what_they_are_called(
    driver: PlaywrightDriver, pages: PageServer
) -> None:
    shapes = "".join(f"<{name} tabindex='0' onclick='1'><text y='20'>x</text></{name}>" for name in FOREIGN)
    script = (
        "<div id=h></div><script>h.append(new DOMParser().parseFromString(`<svg xmlns='http://www.w3.org/2000/svg' "
        f"width='90' height='30'>{shapes}</svg>`, 'image/svg+xml').documentElement)</script>"
    )
    listed, text, *_ = await seen(driver, pages, HEAD + "<button>Go</button>" + script)
    assert 'button "Go"' in str(text)
    assert listed[0]["name"] == "Go"  # type: ignore[index]
