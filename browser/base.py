"""The words of the browser room: what a driver must do, may do, and what passes between them.

A driver is ten methods. Everything more is an ability: a small protocol that a driver may also
satisfy (`agentloop.browser.abilities`).

Contract of every method, here and in the abilities: it is bounded in time by the driver, raises
only errors of `agentloop.errors` (`DriverError` and below, `RequestRefused`, `InvalidInput`,
`Closed`), honours cancellation, and is called by one task at a time, except that scripts of several
frames may run side by side. Coordinates are CSS pixels
of the top window's viewport. Whoever opened the driver closes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from agentloop.records import Json

__all__ = [
    "Act",
    "ActObserver",
    "Dialog",
    "DialogAnswer",
    "Download",
    "Driver",
    "Effects",
    "Mark",
    "MouseButton",
    "Receipt",
    "Refusal",
    "Tab",
    "Target",
    "Vision",
]


class Driver(Protocol):
    """The ten methods that everything the pack does can be built on.

    A selector is CSS. `click`, `send_keys`, `text` and `value` act on the first element that matches
    and raise `TargetError(reason="missing")` when none does within their bound.
    """

    async def navigate(self, url: str) -> None:
        """Opens `url` (http, https or about:blank) and returns once its DOM is parsed.

        Raises `InvalidInput` for what is no full address, `RequestRefused` for another scheme and for what the boundary
        declines, `NavigationError` with the address for what cannot be opened, `DriverTimeout`.
        """

    async def click(self, selector: str) -> None:
        """Clicks with trusted input."""

    async def send_keys(self, selector: str, text: str) -> None:
        """Focuses the element and types `text` after what it holds; newline is text where the element takes it."""

    async def wait_visible(self, selector: str) -> None:
        """Returns when an element matches and can be seen. Raises `DriverTimeout`."""

    async def wait_ready(self, selector: str) -> None:
        """Returns when an element matches. Raises `DriverTimeout`."""

    async def text(self, selector: str) -> str:
        """The rendered text of the element."""

    async def value(self, selector: str) -> str:
        """The current value of the form control."""

    async def eval(self, expression: str) -> Json:
        """The JSON value of a JavaScript expression in the page's main world; promises are awaited,
        `undefined` is None. Raises `DriverError` with the exception's text."""

    async def key_event(self, text: str) -> None:
        """Presses a named key ("Enter", "Control+a") or types `text` into whatever has the focus."""

    async def screenshot(self) -> bytes:
        """The viewport as PNG bytes, one pixel per CSS pixel."""


# What passes between driver, browser, recorder and player ------------------------------------------

MouseButton = Literal["left", "right", "middle"]

Target: TypeAlias = int | str | tuple[str, int] | Mapping[str, float]
"""What a verb acts on: a mark's number, a CSS selector, a mark's name and number together, or `{"x": …, "y": …}`."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something a person could click or type into now.

    `id` belongs to the element until its document goes. `x`, `y` are the centre and `w`, `h` the size of
    its visible box. State fields are None where they do not apply; `value` is never a password's
    (`filled` tells whether it holds one). `hint` stands in where there is no name: id, class, title,
    image file or nearest text. `context` is the text of the nearest ancestor that says more than the
    mark itself (its row, its card). `key` names the element inside `frame` for the page script.
    """

    id: int
    tag: str
    role: str
    name: str
    x: float
    y: float
    w: float
    h: float
    type: str = ""
    hint: str = ""
    context: str = ""
    checked: bool | None = None
    expanded: bool | None = None
    selected: bool | None = None
    invalid: bool | None = None
    disabled: bool | None = None
    required: bool | None = None
    focused: bool | None = None
    filled: bool | None = None
    value: str | None = None
    options: tuple[str, ...] = ()
    more_options: int = 0
    frame: str = ""
    key: str = ""
    point: tuple[float, float] = (0.0, 0.0)

    def to_dict(self) -> dict[str, Json]:
        """What scripts see: id, tag, role, name, x, y, w, h, then state and hint where there is any."""
        data: dict[str, Json] = {
            "id": self.id,
            "tag": self.tag,
            "role": self.role,
            "name": self.name,
            "x": self.x,
            "y": self.y,
            "w": self.w,
            "h": self.h,
        }
        for name in ("checked", "expanded", "selected", "invalid", "disabled", "required", "focused", "filled"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        if self.value is not None:
            data["value"] = self.value
        if self.options:
            data["options"] = list(self.options)
        if self.hint and not self.name:
            data["hint"] = self.hint
        return data


@dataclass(frozen=True, kw_only=True)
class Dialog:
    """A dialog that the page opened and the driver answered. `kind`: alert, confirm, prompt, beforeunload."""

    kind: str
    message: str
    accepted: bool
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class DialogAnswer:
    """How to answer dialogs from now on; `text` is given to prompts."""

    accept: bool
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A page of the session. `id` is stable while it is open ("t1", "t2", …)."""

    id: str
    url: str
    title: str
    active: bool


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file the page gave. `name` is a bare file name; `path` is set once it is complete; `state` is
    running, done, failed, too_large or declined."""

    id: str
    name: str
    url: str
    state: str
    path: str = ""
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """How many requests to one "host:port" the boundary declined by one rule."""

    place: str
    rule: str
    requests: int = 1


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What happened while an act and its settling ran.

    `url` is set when the main frame has a new address (also by script or hash); `document` is True
    when its document was replaced. `status` is the HTTP status of that document. `opened` are tabs.
    `refused` are "host:port" that the boundary declined; `refusals` the same with rules and counts, where the driver
    knows them.
    """

    url: str | None = None
    document: bool = False
    status: int | None = None
    opened: tuple[Tab, ...] = ()
    dialogs: tuple[Dialog, ...] = ()
    downloads: tuple[Download, ...] = ()
    requests: int = 0
    mutations: int = 0
    refused: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    timed_out: bool = False
    settle_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class Act:
    """A verb about to be done: `call` is how a script would write it, `values` what it puts in."""

    verb: str
    call: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What an act caused, as one line that repeats the call itself.

    `changed` is False when nothing was seen to follow. `note` tells what the host did differently from
    what was asked ("by name; 11 was \\"Cancel\\""); `appeared` is new text near the target.
    """

    call: str
    changed: bool
    effects: Effects = Effects()
    title: str = ""
    appeared: str = ""
    note: str = ""
    value: str | None = None

    def to_dict(self) -> dict[str, Json]:
        """What the verb returns to a script; empty fields are left out."""
        effects = self.effects
        data: dict[str, Json] = {"changed": self.changed}
        optional: dict[str, Json] = {
            "url": effects.url,
            "title": self.title,
            "status": effects.status,
            "opened": [tab.url for tab in effects.opened],
            "dialogs": [{"kind": d.kind, "message": d.message, "accepted": d.accepted} for d in effects.dialogs],
            "downloads": [d.name for d in effects.downloads],
            "requests": effects.requests,
            "appeared": self.appeared,
            "note": self.note,
            "value": self.value,
        }
        return data | {name: value for name, value in optional.items() if value not in (None, "", [], 0)}


class ActObserver(Protocol):
    """Sees every act. Through it recorder and player watch and re-aim."""

    async def before(self, act: Act, target: Target | None, marks: Sequence[Mark]) -> Target | None:
        """Called before the act with the marks listed last; returns the target to use instead, usually the same.

        It may raise `EndRun` or `EndTurn`.
        """

    async def after(self, act: Act, receipt: Receipt) -> None:
        """Called once the act has settled."""


class Vision(Protocol):
    """Answers a question about a picture (PNG or JPEG bytes). Raises `ModelError`."""

    async def __call__(self, image: bytes, question: str, *, mime: str = "image/png") -> str: ...
