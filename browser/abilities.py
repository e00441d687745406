"""What a driver may do beyond its ten methods: small protocols, each optional, each at most six methods.

The pack offers only what the driver in hand can do: `isinstance(driver, Pointer)`. The contract of every method is
that of `agentloop.browser.base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from agentloop.browser.base import Dialog, DialogAnswer, Download, Effects, MouseButton, Tab
from agentloop.records import Json

__all__ = [
    "Activity",
    "Capture",
    "Dialogs",
    "DocumentRequest",
    "Downloads",
    "Files",
    "Frame",
    "Frames",
    "Hidden",
    "Interception",
    "Judge",
    "Keys",
    "PageScript",
    "Pointer",
    "Recorder",
    "StorageState",
    "Tabs",
    "Watched",
]


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
        """Tells the script, in the frame's isolated world, which elements listen for clicks; how many are new.

        It calls `script({"heard": [numbers], "clickables": [[number, element], …]})`: `heard` are all that listen
        now, `clickables` those of them that were not told before. Where very many listen, only what lies in the
        elements that `script({"op": "scopes"})` returns is looked through. Raises `TargetError(reason="stale")`.
        """

    async def closed_roots(self, frame: str, script: PageScript) -> int:
        """Calls `script({"roots": [[host, root], …]})` with the closed shadow roots of the elements that
        `script({"op": "suspects"})` returns; gives their number."""


@runtime_checkable
class Pointer(Protocol):
    """Trusted mouse input at a point."""

    async def pointer_click(
        self, x: float, y: float, *, button: MouseButton = "left", count: int = 1, modifiers: Sequence[str] = ()
    ) -> None:
        """Moves there unless the pointer is there, presses and releases `count` times."""

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


@dataclass(frozen=True, kw_only=True)
class DocumentRequest:
    """A request that would open a document. `main`: in the main frame of a page or in a new `window`.

    `page` is the address that the frame's page shows, "" where that is not known; `fields` are the names in
    the form that it sends, as far as they can be read. `redirected`: a server sent the browser there.
    """

    method: str
    url: str
    main: bool
    window: bool
    redirected: bool
    page: str
    fields: tuple[str, ...] = ()


class Judge(Protocol):
    """Decides what is held. It may take as long as a person does; what it raises is a no."""

    async def document(self, request: DocumentRequest) -> bool:
        """Whether the request may go out. A no leaves the page as it is."""

    async def download(self, download: Download) -> bool:
        """Whether the file may be kept; it is on its way already."""


@runtime_checkable
class Interception(Protocol):
    """Requests for documents, and downloads, that wait for somebody's approval."""

    async def hold(self, judge: Judge) -> None:
        """From now on `judge` decides, in place of any before it. Bounds of calls stand still meanwhile."""

    async def settled(self) -> None:
        """Returns when nothing is held. Not bounded: whoever decides is."""
