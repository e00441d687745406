"""The words of the browser room: what a driver must do, may do, and what passes between them.

A driver is ten methods. Everything more is an ability: a small protocol that a driver may also
satisfy; the pack offers only what the driver in hand can do (`isinstance(driver, Pointer)`).

Contract of every method, here and in the abilities: it is bounded in time by the driver, raises
only errors of `agentloop.errors` (`DriverError` and below, `RequestRefused`, `InvalidInput`,
`Closed`), honours cancellation, and is called by one task at a time. Coordinates are CSS pixels
of the top window's viewport. Whoever opened the driver closes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from agentloop.records import Json

__all__ = [
    "Act",
    "ActObserver",
    "Activity",
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
    "Mark",
    "MouseButton",
    "PageScript",
    "Pointer",
    "Receipt",
    "Recorder",
    "StorageState",
    "Tab",
    "Tabs",
    "Target",
    "Vision",
    "Watched",
]


class Driver(Protocol):
    """The ten methods that everything the pack does can be built on.

    A selector is CSS. `click`, `send_keys`, `text` and `value` act on the first element that matches
    and raise `TargetError(reason="missing")` when none does within their bound.
    """

    async def navigate(self, url: str) -> None:
        """Opens `url` (http, https or about:blank) and returns once its DOM is parsed.

        Raises `NavigationError`, `RequestRefused` for what the boundary declines, `DriverTimeout`.
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
    running, done, failed or too_large."""

    id: str
    name: str
    url: str
    state: str
    path: str = ""
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What happened while an act and its settling ran.

    `url` is set when the main frame has a new address (also by script or hash); `document` is True
    when its document was replaced. `status` is the HTTP status of that document. `opened` are tabs.
    `refused` are "host:port" that the boundary declined.
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


# Abilities: each at most six methods, each optional ------------------------------------------------


@dataclass(frozen=True)
class PageScript:
    """A known script: `source` is a function expression of one JSON argument. `name` is unique per source."""

    name: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame of the active page. `document` changes when the frame's document does."""

    id: str
    parent: str | None
    url: str
    document: str


@runtime_checkable
class Frames(Protocol):
    """Frames, and a world of our own in each, which the page can neither see nor break."""

    async def frames(self) -> tuple[Frame, ...]:
        """All frames of the active page, the main frame first. Costs no round trip into the pages."""

    async def run_script(self, frame: str, script: PageScript, argument: Json) -> Json:
        """The JSON value of `script(argument)` in the frame's isolated world; a promise is awaited.

        The function is installed once per document and keeps its state there. `frame` "" is the main
        frame. Raises `TargetError(reason="stale")` when the frame is gone.
        """

    async def child_frame(self, frame: str, script: PageScript, argument: Json) -> str | None:
        """The id of the frame inside the <iframe> element that `script(argument)` returns, None when it has none."""


@runtime_checkable
class Hidden(Protocol):
    """What page script cannot see: closed shadow roots, and elements that only listen."""

    async def listeners(self, frame: str, script: PageScript) -> int:
        """Calls `script({"clickables": [elements], "roots": [[host, root], …]})` in the frame's isolated
        world with the elements that listen for clicks and the closed shadow roots; gives their number."""


@runtime_checkable
class Pointer(Protocol):
    """Trusted mouse input at a point."""

    async def pointer_click(
        self, x: float, y: float, *, button: MouseButton = "left", count: int = 1, modifiers: Sequence[str] = ()
    ) -> None:
        """Moves there, presses and releases `count` times."""

    async def pointer_move(self, x: float, y: float) -> None:
        """Moves there, as a hover does."""

    async def pointer_drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Presses at `start`, moves in steps, releases at `end`; HTML drag-and-drop is set off too."""

    async def wheel(self, x: float, y: float, dx: float, dy: float) -> None:
        """Turns the wheel over a point, in CSS pixels."""


@runtime_checkable
class Keys(Protocol):
    """Trusted keyboard input into the focused element, in whatever frame it is."""

    async def press(self, keys: str) -> None:
        """Presses one chord: "Enter", "Control+a", "Shift+Tab". Raises `InvalidInput` for an unknown key."""

    async def insert_text(self, text: str) -> None:
        """Puts text in at the caret in one go, as an input method does; it never submits a form."""

    async def type_text(self, text: str) -> None:
        """Types character by character with key events, for pages that need them."""


@runtime_checkable
class Activity(Protocol):
    """What an act causes, and when that is over."""

    def watch(self) -> AbstractAsyncContextManager[Watched]:
        """Opened around an act. Leaving it waits (bounded) until what the act caused is over, then fills
        `effects`; leaving it by an exception does not wait."""


@dataclass
class Watched:
    """The handle of one `watch`; `effects` is complete after its block."""

    effects: Effects = field(default_factory=Effects)


@runtime_checkable
class Tabs(Protocol):
    """The session's pages; the newest tab that an act opened becomes the active one."""

    async def tabs(self) -> tuple[Tab, ...]:
        """Open tabs, oldest first."""

    async def switch_tab(self, tab: str) -> None:
        """Makes a tab the active one. Raises `InvalidInput` for an unknown id."""

    async def close_tab(self, tab: str) -> None:
        """Closes a tab; the last one left is replaced by an empty page."""


@runtime_checkable
class Dialogs(Protocol):
    """Dialogs are answered at once, always: alert and beforeunload accepted, others dismissed, unless told."""

    async def dialogs(self) -> tuple[Dialog, ...]:
        """Dialogs of this session, oldest first, the newest 100."""

    async def on_dialog(self, answer: DialogAnswer | None) -> None:
        """How to answer from now on; None returns to the default."""


@runtime_checkable
class Downloads(Protocol):
    """Files the pages gave, kept until the driver closes."""

    async def downloads(self) -> tuple[Download, ...]:
        """Downloads of this session, oldest first; waits (bounded) for none."""

    async def wait_download(self, download: str) -> Download:
        """The download once it is complete or failed. Raises `DriverTimeout`."""


@runtime_checkable
class Files(Protocol):
    """Files put into the page."""

    def choose_files(self, paths: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Answers the file chooser that opens inside the block with `paths`; leaving it without one having
        opened raises `TargetError(reason="unfit")`."""


@runtime_checkable
class StorageState(Protocol):
    """Cookies, local storage and, where the driver can, IndexedDB: a secret."""

    async def storage_state(self) -> bytes:
        """Everything that makes the session logged in, as opaque bytes for the driver's own opener."""


@runtime_checkable
class Capture(Protocol):
    """Pictures of a chosen kind."""

    async def capture(
        self,
        *,
        clip: tuple[float, float, float, float] | None = None,
        scale: float = 1.0,
        format: Literal["png", "jpeg"] = "png",
        full_page: bool = False,
    ) -> bytes:
        """A picture; `clip` is x, y, width, height; `scale` is pixels per CSS pixel."""


@runtime_checkable
class Recorder(Protocol):
    """Recordings of the whole session, written into a folder."""

    async def start_recording(self, folder: str, *, trace: bool = False) -> None:
        """Begins. Raises `InvalidInput` when it is on already."""

    async def stop_recording(self) -> tuple[str, ...]:
        """Ends it and returns the paths written."""
