"""Answers the pages' dialogs at once: an open dialog stops its page and every call into it."""

from __future__ import annotations

import asyncio
from collections import deque

from playwright.async_api import BrowserContext
from playwright.async_api import Dialog as PlaywrightDialog
from playwright.async_api import Error as PlaywrightError

from agentloop.browser.base import Dialog, DialogAnswer

__all__ = ["DialogHandler"]

_KEPT = 100
_ACCEPTED = ("alert", "beforeunload")


class DialogHandler:
    """The dialogs of one context. `total` counts them all; the newest 100 are kept."""

    def __init__(self, context: BrowserContext) -> None:
        self.answer: DialogAnswer | None = None
        self.total = 0
        self._seen: deque[Dialog] = deque(maxlen=_KEPT)
        self._answering: set[asyncio.Task[None]] = set()
        context.on("dialog", self._on_dialog)

    def seen(self, *, after: int = 0) -> tuple[Dialog, ...]:
        """Dialogs, oldest first, without the first `after` of the session."""
        fresh = min(self.total - after, len(self._seen))
        return tuple(self._seen)[len(self._seen) - fresh :]

    def _on_dialog(self, dialog: PlaywrightDialog) -> None:
        told = self.answer
        # A page that asks whether to leave may not hold the session.
        default = dialog.type in _ACCEPTED
        accepted = default if told is None or dialog.type == "beforeunload" else told.accept
        text = told.text if told is not None and accepted and dialog.type == "prompt" else ""
        self._seen.append(Dialog(kind=dialog.type, message=dialog.message, accepted=accepted, text=text))
        self.total += 1
        task = asyncio.create_task(_answer(dialog, accepted, text))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


async def _answer(dialog: PlaywrightDialog, accepted: bool, text: str) -> None:
    try:
        await (dialog.accept(text) if accepted else dialog.dismiss())
    except PlaywrightError:
        pass  # its page was closed first
