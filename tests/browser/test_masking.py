"""Secrets in pictures: covered wherever they are drawn. There is no reading of pictures here: pixels are compared.

Each page is taken twice, once with the secret in it and once with another word of its length: where the two pictures
would differ, the covered one must be of one colour.
"""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from agentloop.artifacts.folder import FolderArtifacts
from agentloop.browser import Browser
from agentloop.browser.abilities import Capture
from agentloop.browser.masking import TRIES, cover
from agentloop.browser.redacting_driver import redacting_driver
from agentloop.drivers import PlaywrightDriver
from agentloop.errors import DriverError
from agentloop.guard.secrets import Secret, Secrets
from tests.browser.page_server import PageServer
from tests.browser.ten_methods import TenMethods

VALUE = "correct-horse-7"
OTHER = "perfect-mouse-1"
CORNER = (1275, 715)
COLOUR = (0x5F, 0x63, 0x68)
HEAD = "<!doctype html><title>Page</title><body style='margin:40px;font:20px monospace'><p>Some words first</p>"


@pytest.fixture
def secrets(pages: PageServer) -> Secrets:
    return Secrets([Secret(name="LOGIN", value=VALUE, origins=[pages.address("")])])


def picture(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data)).convert("RGB")


def different(one: bytes, other: bytes) -> Image.Image:
    """Where two pictures are not alike: white there, black elsewhere."""
    first, second = picture(one), picture(other)
    assert first.size == second.size
    return ImageChops.difference(first, second).convert("L").point(lambda value: 255 if value else 0)


def is_hidden(spots: Image.Image, shown: Image.Image) -> bool:
    """Whether the picture is of the one colour at all these spots. They must be some: else nothing would be shown."""
    assert spots.getbbox() is not None, "the page draws nothing of it: this test shows nothing"
    return only_there(spots, ImageChops.difference(shown, Image.new("RGB", shown.size, COLOUR))) is None


def only_there(spots: Image.Image, image: Image.Image) -> object:
    return ImageChops.darker(spots, image.convert("L").point(lambda value: 255 if value else 0)).getbbox()


async def taken(driver: PlaywrightDriver, pages: PageServer, html: str, path: str = "/") -> bytes:
    await driver.navigate(pages.put(html, path))
    return await driver.screenshot()


async def assert_covered(driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, html: str) -> None:
    """`{}` in the page is the secret: what it alone draws is covered, and the rest of the page is not."""
    plain = await taken(driver, pages, html.replace("{}", OTHER))
    bare = await taken(driver, pages, html.replace("{}", VALUE))
    shown = picture(await redacting_driver(driver, secrets).screenshot())
    assert is_hidden(different(plain, bare), shown)
    assert shown.getpixel(CORNER) == (255, 255, 255), "not all of the page is covered"


DRAWN = {
    "text": "<p>your key is {} today</p>",
    "beside names of properties": "<img name=createRange><form><input type=hidden name=getClientRects>is {}</form>",
    "text input": '<input value="{}" size=30>',
    "number of a field": '<input type=search value="a {} b" size=30>',
    "textarea": "<textarea cols=40>is {}</textarea>",
    "select": "<select><option>nothing<option selected>{}</select>",
    "button": "<input type=button value='{}'>",
    "placeholder": '<input placeholder="{}" size=30>',
    "pseudo element": "<style>#x::after{content:attr(data-x)}</style><p id=x data-x='{}'>Say </p>",
    "alternative text": '<img alt="{}" src="/none.png" width=400 height=50>',
    "capitals": "<p style='text-transform:uppercase'>{}</p>",
    "open shadow root": "<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<p>{}</p>'</script>",
    "svg": "<svg width=400 height=60><text x=10 y=40>{}</text></svg>",
    "turned": "<p style='transform:rotate(20deg);margin:90px 40px;width:300px'>{}</p>",
    "shadow far away": "<p style='text-shadow:0 120px 4px black;width:300px'>{}</p>",
    "mirrored": "<div style='-webkit-box-reflect:below 30px;width:300px'>{}</div>",
    "stroked": "<p style='-webkit-text-stroke:6px black;font-size:40px'>{}</p>",
    "frame": '<iframe width=500 height=80 srcdoc="<p>{}</p>"></iframe>',
    "address in a link": "<a href=#>https://shop.example/?key={}</a>",
    "several lines": "<p style='width:90px;overflow-wrap:anywhere'>{}</p>",
    "below a like word": "<p>CORRECT</p><p>{}</p>",
    "scrolled box": "<div style='height:60px;overflow:auto' id=s><p style='margin:300px 0'>{}</p></div>"
    "<script>s.scrollTop=290</script>",
    "editable": "<div contenteditable>{}</div>",
    "details": "<details open><summary>{}</summary>text</details>",
    "marker": "<ul style='list-style-type:\"{}\";padding-left:300px'><li>x</ul>",
    "repeated drawing": "<svg width=0 height=0><defs><text id=t y=30>{}</text></defs></svg>"
    "<svg width=400 height=60><use href='#t'/></svg>",
    "thick outline": "<svg width=500 height=160><text x=80 y=90 stroke=black stroke-width=30>{}</text></svg>",
    "list of options": "<select size=3><option>nothing<option>{}</select>",
    "group of options": "<select size=3><optgroup label='{}'><option>nothing</select>",
    "title of a picture that is none": "<img title='{}' src='/none.png' width=400 height=60>",
    "closed shadow root": "<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML='<p>{}</p>'</script>",
    "closed roots in closed roots": "<x-a id=h></x-a><script>const root = h.attachShadow({mode: 'closed'});"
    "root.innerHTML = '<x-b></x-b>'; root.firstChild.attachShadow({mode: 'closed'}).innerHTML = '<p>{}</p>'</script>",
}


@pytest.mark.parametrize("html", DRAWN.values(), ids=DRAWN.keys())
async def test_every_way_to_draw_it_is_covered(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, html: str
) -> None:
    await assert_covered(driver, pages, secrets, HEAD + html)


async def test_parts_of_it_side_by_side_are_covered(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    html = HEAD + "<p>is <b>{a}</b><i>{b}</i><span style='display:none'>x</span>{c}</p>"
    plain = await taken(driver, pages, html.format(a=OTHER[:5], b=OTHER[5:9], c=OTHER[9:]))
    bare = await taken(driver, pages, html.format(a=VALUE[:5], b=VALUE[5:9], c=VALUE[9:]))
    shown = picture(await redacting_driver(driver, secrets).screenshot())
    assert is_hidden(different(plain, bare), shown)


PARTS = {
    "two fields": "<p><input value='{a}'> <input value='{b}'></p>",
    "generated around": "<style>#x::before{{content:'{a}'}}#x::after{{content:'{b}'}}</style><p id=x></p>",
    "generated before": "<style>#x::before{{content:'{a}'}}</style><p id=x>{b}</p>",
    "generated far away": "<style>#x::after{{content:attr(data-x);position:absolute;left:300px;top:200px}}</style>"
    "<p id=x data-x='{a}{b}' style='position:relative;width:90px'>Say</p>",
    "generated after": "<style>#x::after{{content:'{b}'}}</style><p id=x>{a}</p>",
}


@pytest.mark.parametrize("html", PARTS.values(), ids=PARTS.keys())
async def test_its_halves_are_covered(driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, html: str) -> None:
    plain = await taken(driver, pages, HEAD + html.format(a=OTHER[:7], b=OTHER[7:]))
    bare = await taken(driver, pages, HEAD + html.format(a=VALUE[:7], b=VALUE[7:]))
    assert is_hidden(different(plain, bare), picture(await redacting_driver(driver, secrets).screenshot()))


async def test_the_dots_of_a_password_are_covered_and_with_them_its_length(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    empty = await taken(driver, pages, HEAD + "<input type=password size=30>")
    bare = await taken(driver, pages, HEAD + f'<input type=password size=30 value="{VALUE}">')
    shown = picture(await redacting_driver(driver, secrets).screenshot())
    assert is_hidden(different(empty, bare), shown)


async def test_a_frame_of_another_site_that_shows_it_is_covered(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    inner = pages.address("/inner", host="localhost")
    html = HEAD + f'<iframe width=500 height=120 src="{inner}"></iframe>'
    pages.put(f"<p>{OTHER}</p>", "/inner")
    plain = await taken(driver, pages, html)
    pages.put(f"<p>{VALUE}</p>", "/inner")
    bare = await taken(driver, pages, html)
    shown = picture(await redacting_driver(driver, secrets).screenshot())
    assert is_hidden(different(plain, bare), shown)
    assert shown.getpixel(CORNER) == (255, 255, 255)


async def test_a_page_without_it_is_left_as_it_is(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    bare = await taken(driver, pages, HEAD + f"<p>{OTHER}</p>")
    assert await redacting_driver(driver, secrets).screenshot() == bare
    assert await redacting_driver(driver, Secrets()).screenshot() == bare


async def test_after_scrolling_and_with_marks_drawn_in_it_is_covered(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    html = (
        HEAD + "<button>First</button><p style='margin-top:900px'><button>Near</button> {}</p><p style='height:900px'>"
    )
    browser = Browser(driver, secrets=secrets)
    views = []
    for word in (OTHER, VALUE):
        await browser.goto(pages.put(html.replace("{}", word)))
        await browser.scroll(0, 600)
        views.append(await driver.screenshot())
    spots = different(*views)
    assert is_hidden(spots, picture(await browser.driver.screenshot()))
    # Boxes and numbers may lie over what is covered, the secret may not.
    bare, marked = picture(views[1]), picture(await browser.picture())
    same = ImageChops.invert(ImageChops.difference(bare, marked).convert("L").point(lambda value: 255 if value else 0))
    assert ImageChops.darker(spots, same).getbbox() is None


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
async def test_parts_and_whole_pages_at_any_scale_are_covered(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, scale: float
) -> None:
    html = HEAD + "<p style='margin-top:400px'>is {}</p><p style='height:900px'>"
    clip = (20.0, 300.0, 500.0, 300.0)
    plain: list[bytes] = []
    bare: list[bytes] = []
    for word, into in ((OTHER, plain), (VALUE, bare)):
        await driver.navigate(pages.put(html.replace("{}", word)))
        await driver.eval("scrollTo(0, 100)")
        into += [await driver.capture(clip=clip, scale=scale), await driver.capture(full_page=True, scale=scale)]
    hidden = redacting_driver(driver, secrets)
    assert isinstance(hidden, Capture)
    shown = [
        await hidden.capture(clip=clip, scale=scale),
        await hidden.capture(full_page=True, scale=scale),
    ]
    for one, two, data in zip(plain, bare, shown, strict=True):
        assert is_hidden(different(one, two), picture(data))


async def test_a_driver_of_ten_methods_gives_covered_pictures_too(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    html = HEAD + "<p>your key is {} today</p><input value='{}'>"
    plain = await taken(driver, pages, html.replace("{}", OTHER))
    bare = await taken(driver, pages, html.replace("{}", VALUE))
    shown = picture(await redacting_driver(TenMethods(driver), secrets).screenshot())
    assert is_hidden(different(plain, bare), shown)


# Pages that move ------------------------------------------------------------------------------------------------


async def test_a_page_that_shows_and_hides_it_all_the_time_is_never_seen_with_it(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    page = (
        HEAD
        + """<p id=x style="position:absolute;display:none">{}</p><script>
      let n = 0;
      setInterval(() => { x.style.display = n % 3 ? "none" : ""; x.style.top = (n % 7) * 90 + "px"; n++; }, 7);
    </script>"""
    )
    await driver.navigate(pages.put(page.replace("{}", VALUE)))
    hidden = redacting_driver(driver, secrets)
    empty = await taken(driver, pages, HEAD, "/empty")
    await driver.navigate(pages.address())
    taken_, refused = [], 0
    for _ in range(8):
        try:
            taken_.append(await hidden.screenshot())
        except DriverError as error:
            assert VALUE not in str(error)
            refused += 1
    assert refused or taken_
    for data in taken_:
        assert data == empty or is_hidden(different(empty, data), picture(data))


async def test_what_moves_steadily_is_covered_or_there_is_no_picture(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    style = (
        "<style>@keyframes go{to{transform:translateX(600px)}}#x{animation:go 1s linear infinite;width:200px}</style>"
    )
    empty = await taken(driver, pages, HEAD + style, "/empty")
    await driver.navigate(pages.put(HEAD + style + f"<p id=x>{VALUE}</p>"))
    for _ in range(3):
        try:
            data = await redacting_driver(driver, secrets).screenshot()
        except DriverError as error:
            assert "moves" in str(error)
            continue
        assert is_hidden(different(empty, data), picture(data))


async def test_a_page_that_is_busy_elsewhere_is_pictured_all_the_same(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    busy = "<p id=c>0</p><script>setInterval(() => { c.textContent = performance.now() }, 5)</script>"
    await driver.navigate(pages.put(HEAD + f"<p>{VALUE}</p>" + busy))
    shown = picture(await redacting_driver(driver, secrets).screenshot())
    assert COLOUR in {color for _, color in shown.getcolors(1 << 20) or ()}
    await driver.navigate(pages.put(HEAD + f"<p hidden>{VALUE}</p>" + busy))
    assert await redacting_driver(driver, secrets).screenshot()


async def test_no_picture_rather_than_one_that_could_not_be_looked_through(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    await driver.navigate(
        pages.put(HEAD + VALUE + "<script>document.createRange = null; JSON.stringify = () => 'no'</script>")
    )
    with pytest.raises(DriverError, match="no picture"):
        await redacting_driver(TenMethods(driver), secrets).screenshot()
    assert TRIES > 1


# Where pictures go ------------------------------------------------------------------------------------------------


class Seeing:
    """A model that sees pictures; keeps what it saw."""

    def __init__(self) -> None:
        self.saw: list[bytes] = []

    async def __call__(self, image: bytes, question: str, *, mime: str = "image/png") -> str:
        self.saw.append(image)
        return f"it says {VALUE}"


async def test_neither_the_model_nor_the_folder_gets_it(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets, tmp_path: Path
) -> None:
    html = HEAD + "<button>Go</button><p>is {}</p>"
    spots = different(
        await taken(driver, pages, html.replace("{}", OTHER)), await taken(driver, pages, html.replace("{}", VALUE))
    )
    vision = Seeing()
    browser = Browser(driver, vision=vision, artifacts=FolderArtifacts(tmp_path), secrets=secrets)
    answers = [await browser.ask("What is the key?"), await browser.ask_marks("And now?")]
    assert answers == [f"it says {secrets.get('LOGIN').placeholder}"] * 2, "a model may know it from elsewhere"
    files = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert len(files) == 2
    for data in [*vision.saw, *files]:
        assert is_hidden(spots, picture(data))


def test_boxes_beyond_the_picture_are_cut_and_nothing_else_changes() -> None:
    out = BytesIO()
    Image.new("RGB", (40, 20), "white").save(out, "PNG")
    shown = picture(cover(out.getvalue(), [(-5, -5, 3, 3), (30, 10, 99, 99), (100, 100, 200, 200), (-9, 0, -1, 5)]))
    dark = {(x, y) for x in range(40) for y in range(20) if shown.getpixel((x, y)) == COLOUR}
    assert dark == {(x, y) for x in range(4) for y in range(4)} | {(x, y) for x in range(30, 40) for y in range(10, 20)}


async def test_a_cancelled_picture_leaves_nothing_behind(
    driver: PlaywrightDriver, pages: PageServer, secrets: Secrets
) -> None:
    await driver.navigate(pages.put(HEAD + VALUE))
    hidden = redacting_driver(driver, secrets)
    for delay in (0, 0.001, 0.02, 0.05):
        task = asyncio.create_task(hidden.screenshot())
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert picture(await hidden.screenshot()).size == (1280, 720)
