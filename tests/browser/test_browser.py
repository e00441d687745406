"""Every verb on real pages."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio

from agentloop.browser import Browser, DialogAnswer
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import DriverTimeout, InvalidInput, TargetError
from tests.browser.eventually import eventually
from tests.browser.page_server import PageServer
from tests.browser.shop_page import SHOP, number_of, show
from tests.browser.ten_methods import TenMethods

MENU = """<!doctype html><title>Menu</title><style>li ul{display:none} li:hover ul{display:block}</style>
<ul><li><a href="#" onclick="return false">Products</a>
<ul><li><button onclick="document.title='lamps'">Lamps</button></li></ul></li></ul>
<div id="card" draggable="true" tabindex="0" role="button"
  ondragstart="event.dataTransfer.setData('text', 'x')">Card</div>
<div id="bin" tabindex="0" role="button" style="height:80px" ondragover="event.preventDefault()"
  ondrop="document.title='dropped'">Bin</div>
<input type="file" id="file" aria-label="Attachment">"""

TERMS = f"""<!doctype html><title>Terms</title>
<div id="box" tabindex="0" role="region" aria-label="Terms" style="height:100px;overflow:auto">
<p>{"text " * 900}</p><button>Accept</button></div><p style="height:3000px">far</p><button>Bottom</button>"""


@pytest_asyncio.fixture
async def browser(driver: PlaywrightDriver) -> Browser:
    return Browser(driver)


async def test_going_places(browser: Browser, pages: PageServer) -> None:
    address = await show(browser, pages, SHOP)
    assert (await browser.url(), await browser.title()) == (address, "Shop")
    receipt = await browser.goto("/cart")
    assert receipt.effects.document and receipt.title == "Cart"
    assert (await browser.back()).title == "Shop"
    assert (await browser.forward()).title == "Cart"
    await browser.eval("document.title = 'changed'")
    assert (await browser.reload()).title == "Cart"
    assert browser.take_receipts()[1:] == (
        'back() -> opened / "Shop"',
        'forward() -> opened /cart "Cart"',
        'reload() -> opened /cart "Cart"',
    )


@pytest.mark.parametrize(
    "trick",
    [
        "<script>Object.defineProperty(document, 'title', {get() { throw new Error('no'); }})</script>",
        "<script>Object.defineProperty(document, 'title', {get() { return 'Order placed'; }})</script>",
        "<script>for (const key of ['title', 'URL']) {"
        " Object.defineProperty(Document.prototype, key, {get() { throw new Error('no'); }}); }</script>",
        "<img name=title>",
        "<form name=title></form>",
    ],
)
async def test_a_page_has_no_say_in_its_title(browser: Browser, pages: PageServer, trick: str) -> None:
    await show(browser, pages, f"<!doctype html><title>Shop</title>{trick}<p>Socks")
    assert await browser.title() == "Shop"
    assert (await browser.reload()).title == "Shop"


async def test_an_act_is_told_on_a_page_that_moves_on_at_once(browser: Browser, pages: PageServer) -> None:
    moving = "<!doctype html><title>Moving</title><script>setTimeout(() => location.reload(), 20)</script><p>Socks"
    pages.put(moving, "/moving")
    await show(browser, pages, SHOP)
    assert (await browser.goto("/moving")).effects.document


async def test_a_click_is_trusted_and_told(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    receipt = await browser.click("Try")
    assert receipt.changed
    assert await browser.text("#said") == "trusted true"
    assert browser.take_receipts()[0].startswith('click("Try", 3) -> ')


async def test_numbers_have_verbs_of_their_own(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, "<label>Name <input></label><button onclick='this.textContent=\"Sent\"'>Send</button>")
    await browser.mark()
    await browser.type_mark(1, "Ann")
    assert await browser.value("input") == "Ann"
    await browser.click_mark(2)
    assert await browser.text("button") == "Sent"


async def test_what_a_page_announces_elsewhere_is_told(browser: Browser, pages: PageServer) -> None:
    page = """<!doctype html><title>Shop</title><main><form><button type=button>Add</button></form></main>
    <p>words</p><div id=toast role=status hidden></div>
    <script>document.querySelector("button").onclick = () => setTimeout(() => {
      toast.hidden = false; toast.textContent = "It is in your cart." })</script>"""
    await show(browser, pages, page)
    receipt = await browser.click("Add")
    assert receipt.appeared == "It is in your cart."


async def test_a_click_that_opens_a_page_says_where(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    receipt = await browser.click(("Cart", 4))
    assert (receipt.changed, receipt.title) == (True, "Cart")
    assert browser.take_receipts() == ('click("Cart", 4) -> opened /cart "Cart"',)


async def test_a_new_tab_becomes_the_active_one(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    receipt = await browser.click("Cart in a tab")
    assert len(receipt.effects.opened) == 1
    assert await browser.title() == "Cart"
    with pytest.raises(TargetError, match="the page changed"):
        await browser.click(1)
    first, second = await browser.tabs()
    assert second.active and not first.active
    await browser.switch_tab(first.id)
    assert await browser.title() == "Shop"
    await browser.switch_tab(second.id)
    await browser.close_tab()
    assert [tab.id for tab in await browser.tabs()] == [first.id]
    await browser.click(("Try", 3))
    assert await browser.title() == "Shop"


async def test_dialogs_are_answered_as_told(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    await browser.click("Ask")
    assert 'a dialog "Sure?" was dismissed' in browser.take_receipts()[0]
    await browser.on_dialog(DialogAnswer(accept=True))
    await browser.click("Ask")
    assert await browser.text("#said") == "true"
    assert [dialog.accepted for dialog in await browser.dialogs()] == [False, True]


async def test_a_download_is_told(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    await browser.click("Get file")
    assert [download.name for download in await browser.downloads()] == ["a.csv"]
    assert "a.csv" in browser.take_receipts()[0]


async def test_double_and_right_clicks(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    await browser.double_click("Try")
    assert await browser.text("#said") == "twice"
    await browser.right_click(("Try", 3))
    assert await browser.text("#said") == "right"
    assert browser.take_receipts()[1].startswith('rightClick("Try", 3) -> ')


async def test_a_hover_menu_is_opened_and_used(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, MENU)
    assert (await browser.hover("Products")).changed
    await browser.click("Lamps")
    assert await browser.title() == "lamps"


async def test_a_drag(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, MENU)
    card, bin = await number_of(browser, "Card"), await number_of(browser, "Bin")
    await browser.drag(("Card", card), bin)
    assert await browser.title() == "dropped"
    assert browser.take_receipts()[0].startswith(f'drag("Card", {card}, "Bin", {bin}) -> ')


async def test_an_upload(browser: Browser, pages: PageServer, tmp_path: Path) -> None:
    await show(browser, pages, MENU)
    (tmp_path / "note.txt").write_text("hello")
    await browser.upload("Attachment", str(tmp_path / "note.txt"))
    assert await browser.eval("file.files[0].name") == "note.txt"


async def test_keys(browser: Browser, pages: PageServer) -> None:
    await show(
        browser,
        pages,
        "<!doctype html><input aria-label='Name' onkeydown='document.title = event.key'><button>Save</button>",
    )
    await browser.press("Enter", "Name")
    assert await browser.title() == "Enter"
    await browser.press("esc")
    assert await browser.title() == "Escape"
    assert browser.take_receipts()[0].startswith('press("Enter", "Name", 1) -> ')
    with pytest.raises(InvalidInput, match="keys are Enter, Tab"):
        await browser.press("Hyper+Q")


@pytest.mark.parametrize("keys", [("Save", None), ("Save", 1), (1, None), ("Save", 9)])
async def test_a_press_of_a_mark_is_a_click(
    browser: Browser, pages: PageServer, keys: tuple[str | int, int | None]
) -> None:
    await show(browser, pages, "<!doctype html><button onclick=\"document.title='saved'\">Save</button><input>")
    await browser.press(*keys)
    assert await browser.title() == "saved"
    assert "press is for keys: this was a click" in browser.take_receipts()[0]


async def test_scrolling_the_page_and_inside_it(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, TERMS)
    assert (await browser.scroll(0, 400)).changed
    assert await browser.eval("[scrollY, box.scrollTop]") == [400, 0]
    await browser.scroll(0, -400)
    assert "further" in (await browser.scroll(0, -400)).note
    await browser.scroll(0, 300, "#box")
    assert await browser.eval("[scrollY, box.scrollTop > 0]") == [0, True]
    await browser.click("#box button")
    assert await browser.eval("scrollY") == 0


async def test_what_is_in_view_is_not_scrolled_to(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, TERMS)
    await browser.scroll(0, 50)
    await browser.click("#box")
    assert await browser.eval("scrollY") == 50


async def test_looking_marks_and_their_filters(browser: Browser, pages: PageServer) -> None:
    await show(browser, pages, SHOP)
    text = await browser.look()
    assert text.startswith('PAGE NOW: "Shop" /') and '[4] link "Cart"' in text
    assert len(await browser.look(chars=200)) <= 220
    assert [mark.id for mark in await browser.mark(role="link", limit=1)] == [4]
    assert len(await browser.mark(within="ul")) == 2
    await browser.unmark()
    await browser.click(("Try", 3))


async def test_reading_text_value_and_markdown(browser: Browser, pages: PageServer) -> None:
    await show(
        browser,
        pages,
        SHOP
        + "<input aria-label=Name value=Ann><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>",
    )
    assert await browser.text("h1") == "Products"
    assert await browser.value("Name") == "Ann"
    assert await browser.text("Try") == "Try"
    markdown = await browser.markdown()
    assert markdown.startswith("# Products\n")
    assert "- Glass lamp 96 EUR" in markdown and "| A | B |\n| --- | --- |\n| 1 | 2 |" in markdown
    assert f"[Cart]({pages.address('/cart')})" in markdown
    assert await browser.eval("1 + 1") == 2


async def test_waiting(browser: Browser, pages: PageServer) -> None:
    late = "p.innerHTML = '<b>Ready  now</b>'; location.hash = 'done'"
    late = f"<!doctype html><p id=p></p><script>setTimeout(() => {{ {late} }}, 300)</script>"
    await browser.goto(pages.put(late))
    await browser.wait_text("Ready now")
    assert (await browser.wait_url("*#done")).endswith("#done")
    await browser.wait_visible("b")
    await browser.wait_ready("b")
    for waiting in (browser.wait_text("never", timeout=0.2), browser.wait_url("never", timeout=0.2)):
        with pytest.raises(DriverTimeout, match=r"never.*0.2 s"):
            await waiting
    with pytest.raises(DriverTimeout):
        await browser.wait_ready("#never", timeout=0.2)


async def test_asking_about_a_picture(driver: PlaywrightDriver, pages: PageServer) -> None:
    asked: list[tuple[bytes, str]] = []

    async def vision(image: bytes, question: str, *, mime: str = "image/png") -> str:
        asked.append((image, question))
        return "a shop"

    browser = Browser(driver, vision=vision)
    await show(browser, pages, SHOP)
    assert await browser.ask("What is it?") == "a shop"
    assert await browser.ask_marks("Which number?") == "a shop"
    assert [question for _, question in asked] == ["What is it?", "Which number?"]
    assert all(image.startswith(b"\x89PNG") for image, _ in asked) and asked[0][0] != asked[1][0]
    with pytest.raises(InvalidInput, match="vision"):
        await Browser(driver).ask("What is it?")


async def test_ten_methods_do_the_reference_verbs(driver: PlaywrightDriver, pages: PageServer) -> None:
    browser = Browser(TenMethods(driver))
    await show(browser, pages, SHOP)
    await browser.click(("Add to cart", 2))
    assert await browser.text("#said") == "oak"
    assert (await browser.scroll(0, 10)).note
    assert "Products" in await browser.markdown()
    await browser.press("Tab")
    await browser.click("Cart")
    assert browser.take_receipts()[-1] == 'click("Cart", 4) -> opened /cart "Cart"'
    assert (await browser.back()).title == "Shop"


async def test_verbs_beyond_the_driver_name_what_it_lacks(driver: PlaywrightDriver, pages: PageServer) -> None:
    browser = Browser(TenMethods(driver))
    await show(browser, pages, SHOP)
    for verb, missing in (
        (browser.hover("Try"), "Pointer"),
        (browser.double_click("Try"), "Pointer"),
        (browser.drag(1, 2), "Pointer"),
        (browser.click({"x": 1, "y": 1}), "Pointer"),
        (browser.upload("Try", "a"), "Files"),
        (browser.tabs(), "Tabs"),
        (browser.dialogs(), "Dialogs"),
        (browser.downloads(), "Downloads"),
    ):
        with pytest.raises(InvalidInput, match=missing):
            await verb


async def test_a_transparent_file_input_over_a_button(browser: Browser, pages: PageServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    html = (
        "<div style='position:relative;width:120px;height:30px;background:#ddd'>Upload<input type=file id=f "
        "aria-label='Upload file' style='position:absolute;inset:0;opacity:0;width:100%;height:100%'></div>"
    )
    await show(browser, pages, html)
    await browser.upload("Upload file", str(tmp_path / "a.txt"))
    assert await browser.eval("f.files[0].name") == "a.txt"


async def test_below_the_fold_of_a_frame_of_another_site(browser: Browser, pages: PageServer) -> None:
    pages.put(
        "<button>In</button><p style='height:400px'></p><button onclick='this.textContent=`hit`'>Below</button>", "/i"
    )
    frame = f"<iframe src={pages.address('/i', host='localhost')} style='margin:20px;height:100px'></iframe>"
    await show(browser, pages, f"<button>Top</button>{frame}")
    marks = await eventually(browser.mark, lambda marks: len(marks) == 2)
    assert [mark.name for mark in marks] == ["Top", "In"]
    await browser.scroll(0, 400, "In")
    marks = await eventually(browser.mark, lambda marks: marks[-1].name == "Below")
    await browser.click("Below")
    marks = await eventually(browser.mark, lambda marks: marks[-1].name == "hit")
    assert marks[-1].name == "hit"
