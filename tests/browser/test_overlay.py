from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from agentloop.browser.base import Mark
from agentloop.browser.overlay import COLOURS, draw
from agentloop.errors import InvalidInput

GROUND = (252, 250, 247)
SIZE = (1280, 720)


def picture(size: tuple[int, int] = SIZE) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, GROUND).save(out, "PNG")
    return out.getvalue()


def mark(id: int, x: float, y: float, w: float, h: float) -> Mark:
    return Mark(id=id, tag="button", role="button", name=f"b{id}", x=x, y=y, w=w, h=h)


def grid(columns: int, rows: int, *, w: float = 90, h: float = 26, gap: float = 34) -> list[Mark]:
    """Buttons in rows, as a toolbar or a calendar has them."""
    return [
        mark(row * columns + column + 1, 60 + column * (w + gap), 40 + row * (h + gap), w, h)
        for row in range(rows)
        for column in range(columns)
    ]


def colour(at: int) -> tuple[int, int, int]:
    text = COLOURS[at % len(COLOURS)]
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def opened(image: bytes) -> Image.Image:
    return Image.open(BytesIO(image)).convert("RGB")


def label_of(drawn: Image.Image, at: int, one: Mark, *, reach: int = 30) -> tuple[int, int, int, int] | None:
    """Where the digits of a mark's label are: the white pixels near it that have its colour beside them."""
    left, top = max(0, int(one.x - one.w / 2) - reach), max(0, int(one.y - one.h / 2) - reach)
    right, bottom = int(one.x + one.w / 2) + reach, int(one.y + one.h / 2) + reach
    part = drawn.crop((left, top, min(right, drawn.width), min(bottom, drawn.height)))
    raw, stride = part.tobytes(), part.width * 3
    lines = [
        [tuple(raw[at : at + 3]) for at in range(start, start + stride, 3)] for start in range(0, len(raw), stride)
    ]
    white = [
        (left + x, top + y)
        for y, line in enumerate(lines)
        for x, pixel in enumerate(line)
        if pixel == (255, 255, 255) and colour(at) in line[max(0, x - 6) : x + 7]
    ]
    if not white:
        return None
    return min(x for x, _ in white), min(y for _, y in white), max(x for x, _ in white), max(y for _, y in white)


def test_every_box_and_every_number_is_in_the_picture() -> None:
    marks = [
        mark(1, 5, 5, 60, 24),
        mark(2, 1275, 8, 60, 24),
        mark(3, 640, 718, 200, 40),
        mark(44, 640, 360, 300, 200),
        mark(105, 1270, 715, 12, 12),
    ]
    drawn = opened(draw(picture(), marks))
    assert drawn.size == SIZE
    for at, one in enumerate(marks):
        assert label_of(drawn, at, one) is not None, one.id


def test_a_box_is_drawn_where_its_mark_is() -> None:
    drawn = opened(draw(picture(), [mark(1, 200, 100, 80, 30)]))
    for corner in ((160, 100), (240, 100), (200, 115)):
        assert drawn.getpixel(corner) == colour(0)
    assert drawn.getpixel((200, 100)) == GROUND


def test_labels_of_a_grid_do_not_touch_each_other() -> None:
    marks = grid(8, 6)
    drawn = opened(draw(picture(), marks))
    places = [label_of(drawn, at, one, reach=18) for at, one in enumerate(marks)]
    assert None not in places
    # Each label is a rectangle of one colour: a label that another covers would lose digits or pixels.
    alone = [label_of(opened(draw(picture(), [one])), 0, one, reach=18) for one in marks]
    sizes = [(a[2] - a[0], a[3] - a[1]) for a in places if a]
    assert sizes == [(a[2] - a[0], a[3] - a[1]) for a in alone if a]


def test_touching_rows_keep_every_number_whole() -> None:
    """A menu: each entry begins where the one above ends, so the place above is taken."""
    marks = [mark(number, 200, 40 + number * 28, 160, 28) for number in range(1, 16)]
    drawn = opened(draw(picture(), marks))
    for at, one in enumerate(marks):
        found = label_of(drawn, at, one)
        single = label_of(opened(draw(picture(), [one])), 0, one)
        assert found and single
        assert found[2] - found[0] == single[2] - single[0]


def test_the_number_of_a_big_box_is_inside_it() -> None:
    big = mark(7, 640, 360, 400, 300)
    found = label_of(opened(draw(picture(), [big])), 0, big)
    assert found is not None
    assert 440 <= found[0] < 480
    assert 210 <= found[1] < 240


def test_scale_is_pixels_of_the_picture_for_a_css_pixel() -> None:
    drawn = opened(draw(picture((2560, 1440)), [mark(1, 200, 100, 80, 30)], scale=2.0))
    assert drawn.getpixel((320, 200)) == colour(0)
    assert drawn.getpixel((480, 200)) == colour(0)


def test_no_more_marks_than_the_limit_are_drawn() -> None:
    marks = grid(8, 2)
    assert draw(picture(), marks, limit=10) == draw(picture(), marks[:10])


def test_without_marks_the_picture_is_as_it_was() -> None:
    assert opened(draw(picture(), [])).tobytes() == opened(picture()).tobytes()


def test_the_same_input_gives_the_same_bytes() -> None:
    marks = grid(8, 6)
    assert draw(picture(), marks) == draw(picture(), marks)
    assert draw(picture(), marks, format="jpeg") == draw(picture(), marks, format="jpeg")


def test_jpeg_in_and_out() -> None:
    out = BytesIO()
    Image.new("RGB", SIZE, GROUND).save(out, "JPEG")
    drawn = draw(out.getvalue(), grid(3, 1), format="jpeg")
    assert drawn.startswith(b"\xff\xd8")
    assert opened(drawn).size == SIZE


def test_a_mark_outside_the_picture_is_no_error() -> None:
    marks = [mark(1, -500, -500, 40, 20), mark(2, 9000, 100, 40, 20), mark(3, 100, 100, 0, 0)]
    assert opened(draw(picture(), marks)).size == SIZE


def test_a_picture_smaller_than_a_label_is_no_error() -> None:
    assert opened(draw(picture((4, 4)), [mark(123, 2, 2, 2, 2)])).size == (4, 4)


@pytest.mark.parametrize("broken", [b"", b"no picture", picture()[:60]])
def test_bytes_that_are_no_picture(broken: bytes) -> None:
    with pytest.raises(InvalidInput, match="PNG or JPEG"):
        draw(broken, [])
