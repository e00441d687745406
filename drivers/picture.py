"""Pictures of a page, taken through the protocol: nothing is changed in the page and no font is waited for."""

from __future__ import annotations

import base64
from typing import Any, Literal

from playwright.async_api import CDPSession

__all__ = ["take_picture"]

_QUALITY = 85


async def take_picture(
    cdp: CDPSession,
    *,
    clip: tuple[float, float, float, float] | None = None,
    scale: float = 1.0,
    format: Literal["png", "jpeg"] = "png",
    full_page: bool = False,
) -> bytes:
    """The viewport, a part of it (`clip`: x, y, width, height) or the whole page, `scale` pixels per CSS pixel."""
    request: dict[str, Any] = {"format": format, "optimizeForSpeed": True}
    if format == "jpeg":
        request["quality"] = _QUALITY
    if clip is not None or full_page or scale != 1.0:
        request["clip"] = await _area(cdp, clip, full_page=full_page) | {"scale": scale}
        request["captureBeyondViewport"] = full_page
    answer = await cdp.send("Page.captureScreenshot", request)
    return base64.b64decode(answer["data"])


async def _area(
    cdp: CDPSession, clip: tuple[float, float, float, float] | None, *, full_page: bool
) -> dict[str, float]:
    """The part of the document to take; the protocol counts from the document's corner, we from the viewport's."""
    metrics = await cdp.send("Page.getLayoutMetrics")
    if full_page and clip is None:
        size = metrics["cssContentSize"]
        return {"x": size["x"], "y": size["y"], "width": size["width"], "height": size["height"]}
    view = metrics["cssVisualViewport"]
    x, y, width, height = clip or (0.0, 0.0, view["clientWidth"], view["clientHeight"])
    return {"x": view["pageX"] + x, "y": view["pageY"] + y, "width": width, "height": height}
