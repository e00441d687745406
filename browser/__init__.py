"""The browser: what drives a page (`base`), marks, and every verb over them.

Only the words of `base` are loaded here; the rest comes when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentloop.browser.abilities import (
    Activity,
    Capture,
    Dialogs,
    Downloads,
    Files,
    Frame,
    Frames,
    Hidden,
    Keys,
    PageScript,
    Pointer,
    Recorder,
    StorageState,
    Tabs,
    Watched,
)
from agentloop.browser.base import (
    Act,
    ActObserver,
    Dialog,
    DialogAnswer,
    Download,
    Driver,
    Effects,
    Mark,
    MouseButton,
    Receipt,
    Refusal,
    Tab,
    Target,
    Vision,
)

if TYPE_CHECKING:
    from agentloop.browser.browser import Browser
    from agentloop.browser.look import Look
    from agentloop.browser.marks import Marks
    from agentloop.browser.pack import browser_capability, browser_pack
    from agentloop.browser.vision import LLMVision

__all__ = [
    "Act",
    "ActObserver",
    "Activity",
    "Browser",
    "Capture",
    "Dialog",
    "DialogAnswer",
    "Dialogs",
    "Download",
    "Downloads",
    "Driver",
    "Effects",
    "Files",
    "Frame",
    "Frames",
    "Hidden",
    "Keys",
    "LLMVision",
    "Look",
    "Mark",
    "Marks",
    "MouseButton",
    "PageScript",
    "Pointer",
    "Receipt",
    "Recorder",
    "Refusal",
    "StorageState",
    "Tab",
    "Tabs",
    "Target",
    "Vision",
    "Watched",
    "browser_capability",
    "browser_pack",
]

_LAZY = {
    "Browser": "agentloop.browser.browser",
    "LLMVision": "agentloop.browser.vision",
    "Look": "agentloop.browser.look",
    "Marks": "agentloop.browser.marks",
    "browser_capability": "agentloop.browser.pack",
    "browser_pack": "agentloop.browser.pack",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
