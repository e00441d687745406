"""The frames of one page, kept by events, each with its isolated world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import CDPSession

from agentloop.browser.abilities import Frame

__all__ = ["FrameRecord", "FrameTree"]


@dataclass
class FrameRecord:
    """A frame and what was installed in its current document.

    `session` is None between a frame's move to another process and the opening of a session there.
    `functions` maps a script's name to the remote object of its function, `root` is that of the document itself;
    `heard` are the nodes that the page script was told to listen for clicks, `crowded` that there are very many.
    """

    id: str
    parent: str | None
    url: str = ""
    document: str = ""
    session: CDPSession | None = None
    functions: dict[str, str] = field(default_factory=dict)
    context: int | None = None
    root: str | None = None
    heard: frozenset[int] = frozenset()
    crowded: bool = False

    def forget(self) -> None:
        """Drops what belonged to a document that is gone."""
        self.context = self.root = None
        self.heard, self.crowded = frozenset(), False
        self.functions.clear()

    def moved(self, session: CDPSession | None) -> None:
        """The frame's documents are now reached through `session`."""
        self.session = session
        self.forget()


class FrameTree:
    """Frames by id. One tree serves the page's session and those of its cross-site frames.

    `on_document` is called for each new document of the main frame; `windows` counts those that were opened.
    """

    def __init__(self) -> None:
        self._frames: dict[str, FrameRecord] = {}
        self.main: FrameRecord | None = None
        self.on_document: Callable[[], None] | None = None
        self.windows = 0

    def __len__(self) -> int:
        return len(self._frames)

    def get(self, frame: str) -> FrameRecord | None:
        """The frame with this id; "" is the main frame."""
        return self._frames.get(frame) if frame else self.main

    @property
    def incomplete(self) -> bool:
        """True while a frame lives in a process that no session reaches yet."""
        return any(record.session is None for record in self._frames.values())

    def listed(self) -> tuple[Frame, ...]:
        """Reachable frames, parents before children, the main frame first."""
        return tuple(
            Frame(id=record.id, parent=record.parent, url=record.url, document=record.document)
            for record in self._below(None)
            if record.session is not None
        )

    def _below(self, parent: str | None) -> Iterator[FrameRecord]:
        for record in [record for record in self._frames.values() if record.parent == parent]:
            yield record
            yield from self._below(record.id)

    def watch(self, session: CDPSession) -> None:
        """Follows the session's frame events. The caller enables its Page domain."""
        session.on("Page.frameAttached", lambda event: self._attached(session, event))
        session.on("Page.frameNavigated", lambda event: self._on_navigated(session, event))
        session.on("Page.navigatedWithinDocument", self._moved_within)
        session.on("Page.frameDetached", lambda event: self._detached(session, event))
        session.on("Page.windowOpen", self._window_opened)

    def load(self, session: CDPSession, tree: dict[str, Any]) -> FrameRecord:
        """Takes in the answer of `Page.getFrameTree`; returns its root."""
        root = self._navigated(session, tree["frame"])
        for child in tree.get("childFrames", ()):
            self.load(session, child)
        return root

    def drop(self, frame: str) -> None:
        """Removes a frame and all below it."""
        for record in [record for record in self._frames.values() if record.parent == frame]:
            self.drop(record.id)
        self._frames.pop(frame, None)

    def lose(self, session: CDPSession) -> None:
        """Marks the frames of a session that has ended as not reached."""
        for record in self._frames.values():
            if record.session is session:
                record.moved(None)

    def _attached(self, session: CDPSession, event: dict[str, Any]) -> None:
        self._ensure(event["frameId"], event["parentFrameId"]).moved(session)

    def _on_navigated(self, session: CDPSession, event: dict[str, Any]) -> None:
        record = self._navigated(session, event["frame"])
        if record is self.main and self.on_document is not None:
            self.on_document()

    def _navigated(self, session: CDPSession, frame: dict[str, Any]) -> FrameRecord:
        record = self._ensure(frame["id"], frame.get("parentId"))
        # The browser's own error page stands for the address that could not be reached.
        record.url = frame.get("unreachableUrl") or frame["url"] + frame.get("urlFragment", "")
        record.document = frame["loaderId"]
        record.moved(session)
        if record.parent is None:
            self._only(record)
        return record

    def _only(self, main: FrameRecord) -> None:
        """A new main document has no child frames yet, and may have a new id."""
        self._frames = {main.id: main}
        self.main = main

    def _moved_within(self, event: dict[str, Any]) -> None:
        if record := self._frames.get(event["frameId"]):
            record.url = event["url"]

    def _detached(self, session: CDPSession, event: dict[str, Any]) -> None:
        record = self._frames.get(event["frameId"])
        if record is None:
            return
        if event["reason"] != "swap":
            self.drop(record.id)
        elif record.session is session:
            for child in [child for child in self._frames.values() if child.parent == record.id]:
                self.drop(child.id)
            record.moved(None)

    def _window_opened(self, _event: dict[str, Any]) -> None:
        self.windows += 1

    def _ensure(self, frame: str, parent: str | None) -> FrameRecord:
        if frame not in self._frames:
            self._frames[frame] = FrameRecord(id=frame, parent=parent, document=f"{frame}:initial", url="about:blank")
        return self._frames[frame]
