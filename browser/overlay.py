"""Numbered boxes drawn on a screenshot, never into the page.

Labels know of each other: the smallest boxes choose first, and each takes the cheapest of eleven places
around its box, where covering another label costs most and covering another box less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from math import ceil
from typing import Literal, TypeAlias

from PIL import Image, ImageDraw, ImageFont

from agentloop.browser.base import Mark
from agentloop.errors import InvalidInput

__all__ = ["COLOURS", "draw"]

COLOURS = ("#d60000", "#0055d4", "#007a1f", "#8b00b5", "#b85c00", "#00757a", "#c2006b", "#4b4b00")
"""Dark enough for white digits; a label has the colour of its box."""

_Box: TypeAlias = tuple[float, float, float, float]
_Font: TypeAlias = ImageFont.FreeTypeFont | ImageFont.ImageFont

_LABEL_COST = 20.0
_BOX_COST = 1.5
_OWN_COST, _OWN_COST_IN_LARGE = 1.0, 0.05
# Small steps made labels of link rows jump about, so that one could not tell whose they were.
_STEP_COST = 14.0
_BOLD = 0.4


@dataclass
class _Grid:
    """Boxes hashed by cell, so that a page of hundreds of marks stays cheap."""

    cell: int
    cells: dict[tuple[int, int], list[_Box]] = field(default_factory=lambda: defaultdict(list))

    def _keys(self, box: _Box) -> Iterator[tuple[int, int]]:
        x0, y0, x1, y1 = (int(edge // self.cell) for edge in box)
        return ((x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1))

    def add(self, box: _Box) -> None:
        for key in self._keys(box):
            self.cells[key].append(box)

    def covered(self, box: _Box, *, but: _Box | None = None) -> float:
        """How much of the boxes kept here `box` would cover, in square pixels."""
        near = {id(other): other for key in self._keys(box) for other in self.cells.get(key, ())}
        return sum(_overlap(box, other) for other in near.values() if other is not but)


def draw(
    image: bytes,
    marks: Sequence[Mark],
    *,
    scale: float = 1.0,
    limit: int = 150,
    format: Literal["png", "jpeg"] = "png",
) -> bytes:
    """The screenshot with a numbered box around each of the first `limit` marks, as PNG or JPEG bytes.

    `scale` is pixels of the picture per CSS pixel. The same input gives the same bytes. It is work for a
    thread (about 100 ms for 100 marks at 1280x720, most of it PNG). Raises `InvalidInput` when `image` is no
    picture. Beyond 150 marks labels hide what they name.
    """
    canvas = _open(image)
    shown = marks[:limit]
    boxes = [_box(mark, scale, canvas.size) for mark in shown]
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(shown))]
    pen = ImageDraw.Draw(canvas)
    for box, colour in zip(boxes, colours, strict=True):
        pen.rectangle(box, outline=colour, width=max(1, round(1.5 * scale)))
    font = _font(max(11, round(13 * scale)))
    sprites = [_sprite(str(mark.id), font, colour) for mark, colour in zip(shown, colours, strict=True)]
    for sprite, spot in zip(sprites, _spots([sprite.size for sprite in sprites], boxes, canvas.size), strict=True):
        canvas.paste(sprite, spot)
    return _encode(canvas, format)


def _open(image: bytes) -> Image.Image:
    try:
        return Image.open(BytesIO(image)).convert("RGB")
    except OSError as error:
        raise InvalidInput("The screenshot is no picture that can be drawn on: give PNG or JPEG bytes.") from error


def _encode(canvas: Image.Image, format: Literal["png", "jpeg"]) -> bytes:
    out = BytesIO()
    if format == "jpeg":
        canvas.save(out, "JPEG", quality=85)
    else:
        canvas.save(out, "PNG", compress_level=1)
    return out.getvalue()


def _box(mark: Mark, scale: float, size: tuple[int, int]) -> _Box:
    """The mark's box in pixels, cut to the picture; one that lies outside shrinks to a point on its edge."""
    right, bottom = size[0] - 1, size[1] - 1
    x0, y0 = (mark.x - mark.w / 2) * scale, (mark.y - mark.h / 2) * scale
    x1, y1 = x0 + mark.w * scale, y0 + mark.h * scale
    return _clamp(x0, right), _clamp(y0, bottom), _clamp(x1, right), _clamp(y1, bottom)


def _font(size: int) -> _Font:
    return ImageFont.load_default(size)


def _sprite(text: str, font: _Font, colour: str) -> Image.Image:
    # The built-in font has one weight; a stroke in the text's own colour makes it bold. All digits give the
    # height, so that labels of one picture are equally tall.
    pen = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    width = pen.textlength(text, font=font)
    _, top, _, bottom = pen.textbbox((0, 0), "0123456789", font=font, stroke_width=_BOLD)
    sprite = Image.new("RGB", (ceil(width) + 7, ceil(bottom - top) + 4), colour)
    ImageDraw.Draw(sprite).text((3.5, 2 - top), text, font=font, fill="white", stroke_width=_BOLD)
    return sprite


def _spots(
    labels: Sequence[tuple[int, int]], boxes: Sequence[_Box], size: tuple[int, int]
) -> Sequence[tuple[int, int]]:
    """Where each label goes: its top left corner."""
    all_boxes, placed = _Grid(64), _Grid(48)
    for box in boxes:
        all_boxes.add(box)
    spots = [(0, 0)] * len(boxes)
    for at in sorted(range(len(boxes)), key=lambda at: (_area(boxes[at]), at)):
        spots[at] = _cheapest(labels[at], boxes[at], size, all_boxes, placed)
        placed.add(_at(spots[at], labels[at]))
    return spots


def _cheapest(label: tuple[int, int], box: _Box, size: tuple[int, int], boxes: _Grid, placed: _Grid) -> tuple[int, int]:
    large = box[2] - box[0] > 3 * label[0] and box[3] - box[1] > 3 * label[1]
    own_cost = _OWN_COST_IN_LARGE if large else _OWN_COST
    best, best_cost = (0, 0), float("inf")
    for step, (x, y) in enumerate(_candidates(label, box, large=large)):
        spot = int(_clamp(x, size[0] - label[0])), int(_clamp(y, size[1] - label[1]))
        here = _at(spot, label)
        cost = (
            _LABEL_COST * placed.covered(here)
            + _BOX_COST * boxes.covered(here, but=box)
            + own_cost * _overlap(here, box)
            + _STEP_COST * step
        )
        if cost < best_cost:
            best, best_cost = spot, cost
        if best_cost <= _STEP_COST * (step + 1):
            break
    return best


def _candidates(label: tuple[int, int], box: _Box, *, large: bool) -> Sequence[tuple[float, float]]:
    w, h = label
    x0, y0, x1, y1 = box
    above = (x0, y0 - h + 2)
    inside = [(x0, y0), (x1 - w, y0), (x1 - w, y1 - h)]
    around = [
        (x0 - w + 2, y0),
        (x1 - w, y0 - h + 2),
        (x1 - 2, y0),
        (x0, y1),
        (x1 - w, y1),
        (x0 - w, y1 - h),
        (x1, y1 - h),
    ]
    if large:
        return [inside[0], above, *inside[1:], *around]
    return [above, *around, *inside]


def _at(spot: tuple[int, int], label: tuple[int, int]) -> _Box:
    return spot[0], spot[1], spot[0] + label[0], spot[1] + label[1]


def _overlap(a: _Box, b: _Box) -> float:
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return w * h if w > 0 and h > 0 else 0.0


def _area(box: _Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _clamp(value: float, highest: float) -> float:
    return min(max(0.0, value), max(0.0, highest))
