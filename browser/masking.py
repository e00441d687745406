"""Secrets in pictures: every place where one is drawn is covered before anybody has the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal, TypeAlias

from agentloop.browser.base import Driver
from agentloop.browser.scripts import Scripts
from agentloop.errors import BrowserLost, DriverError
from agentloop.guard.secrets import Secrets

__all__ = ["TRIES", "Box", "Drawn", "Mask", "cover"]

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom in CSS pixels of the viewport."""

TRIES = 6
"""Pictures taken at most until the page stood still for one."""

_COLOUR = "#5f6368"
_FRAME_DEPTH = 10
_ROOT_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Where secrets are drawn: the boxes of each place, in order.

    `changes` counts what was done to the page so far; `present`: it holds one, be it out of sight.
    """

    places: tuple[tuple[Box, ...], ...] = ()
    changes: int = 0
    scroll: tuple[float, float] = (0.0, 0.0)
    present: bool = False


class Mask:
    """Covers secrets in the pictures of one driver's page.

    What is drawn is read, in every frame, right before and right after a picture is taken, and the pages' texts are
    looked through here: no secret enters a page for it. While a page that shows one changes meanwhile, the picture is
    taken again. What it cannot know: text that a page paints into a canvas, an image or a video by itself.
    """

    def __init__(self, driver: Driver, secrets: Secrets) -> None:
        self._scripts = Scripts(driver)
        self._secrets = secrets

    async def covered(
        self,
        take: Callable[[], Awaitable[bytes]],
        *,
        clip: Box | None = None,
        scale: float = 1.0,
        format: Literal["png", "jpeg"] = "png",
        full_page: bool = False,
    ) -> bytes:
        """The picture that `take` takes, covered. Raises `DriverError` when it could not be, instead of giving it."""
        if not self._secrets:
            return await take()
        try:
            image, boxes, scroll = await self._still(take)
        except BrowserLost:
            raise
        except DriverError as error:
            raise DriverError(f"no picture: it could not be told where secrets are drawn ({error})") from None
        if not boxes:
            return image
        left, top = (clip[0], clip[1]) if clip else (-scroll[0], -scroll[1]) if full_page else (0.0, 0.0)
        moved = [tuple((edge - at) * scale for edge, at in zip(box, (left, top) * 2, strict=True)) for box in boxes]
        return await asyncio.to_thread(cover, image, moved, format=format)

    async def _still(self, take: Callable[[], Awaitable[bytes]]) -> tuple[bytes, list[Box], tuple[float, float]]:
        seen = [await self.drawn()]
        for _ in range(TRIES):
            image = await take()
            seen.append(await self.drawn())
            before, after = seen[-2:]
            if after == before or not (before.present or after.present):
                break
        else:
            # Something moves all the time; what holds the secret may be as still as ever.
            if any(drawn.places != after.places for drawn in seen):
                raise DriverError("what holds one moves while it is looked at")
        return image, _hull(before, after), after.scroll

    async def drawn(self) -> Drawn:
        """Where secrets are drawn now. Raises what the driver raises, `DriverError` for a page that cannot be read."""
        raw = await self._read("")
        places = self._matched(raw["pieces"])
        present = bool(places) or bool(self._secrets.redactor.finds("\0".join(map(str, raw["hidden"]))))
        for key, box in raw["frames"]:
            if await self._holds("", key, depth=0):
                present, places = True, [*places, (_box(box),)]
        return Drawn(
            places=tuple(places),
            changes=int(raw["changes"]),
            scroll=(raw["scroll"][0], raw["scroll"][1]),
            present=present,
        )

    async def _read(self, frame: str) -> dict[str, Any]:
        told = await self._drawn_in(frame)
        # A closed root may hold others.
        for _ in range(_ROOT_ROUNDS):
            if not told.get("suspects") or not await self._scripts.open_roots(frame):
                break
            told = await self._drawn_in(frame)
        return told

    async def _drawn_in(self, frame: str) -> dict[str, Any]:
        told = await self._scripts.run(frame, {"op": "drawn"})
        if not isinstance(told, dict) or not isinstance(told.get("pieces"), list):
            raise DriverError("the page does not say what it draws")
        return told

    async def _holds(self, parent: str, key: str, *, depth: int) -> bool:
        """Whether a secret is drawn anywhere in the frame of another site inside the keyed element."""
        frame = await self._scripts.child(parent, key)
        if frame is None or depth > _FRAME_DEPTH:
            return False
        raw = await self._read(frame)
        if self._matched(raw["pieces"]):
            return True
        return any([await self._holds(frame, inner, depth=depth + 1) for inner, _ in raw["frames"]])

    def _matched(self, pieces: Sequence[Any]) -> list[tuple[Box, ...]]:
        """The boxes of each piece in which a secret, or a part of one, stands; side by side, pieces are one text."""
        texts: list[str] = []
        owners: list[int] = []
        for at, (text, joined, _) in enumerate(pieces):
            apart = "" if joined and at and pieces[at - 1][1] else "\0"
            texts.append(apart + text)
            owners += [at] * (len(apart) + len(text))
        finds = self._secrets.redactor.finds("".join(texts))
        touched = dict.fromkeys(at for find in finds for at in owners[find.start : find.end])
        return [tuple(map(_box, pieces[at][2])) for at in touched]


def _box(edges: Sequence[float]) -> Box:
    left, top, right, bottom = map(float, edges)
    return left, top, right, bottom


def _hull(before: Drawn, after: Drawn) -> list[Box]:
    """All places, and for those that moved the way between too."""
    boxes = [box for drawn in (before, after) for place in drawn.places for box in place]
    if before.places != after.places and len(before.places) == len(after.places):
        boxes += [_around([*one, *two]) for one, two in zip(before.places, after.places, strict=True)]
    return boxes


def _around(boxes: Sequence[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def cover(image: bytes, boxes: Sequence[Sequence[float]], *, format: Literal["png", "jpeg"] = "png") -> bytes:
    """The picture with these boxes filled, in its pixels, and nothing of its own besides. It is work for a thread."""
    from PIL import Image, ImageDraw

    with Image.open(BytesIO(image)) as opened:
        canvas = opened.convert("RGB")
    pen = ImageDraw.Draw(canvas)
    for left, top, right, bottom in boxes:
        if right > 0 and bottom > 0 and left < canvas.width and top < canvas.height:
            pen.rectangle((left, top, right, bottom), fill=_COLOUR)
    out = BytesIO()
    if format == "jpeg":
        canvas.save(out, "JPEG", quality=85)
    else:
        canvas.save(out, "PNG", compress_level=1)
    return out.getvalue()
