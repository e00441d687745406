"""A person's approval of what acts do to the world: submits, uploads, downloads, hosts not seen before.

A submit is asked about before the click or key; whatever else sends a form is held by the driver as the request it
makes. All that a page says stands in quotes, escaped; of a form only the names of its fields are told.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agentloop.browser.abilities import DocumentRequest, Frames, Interception
from agentloop.browser.acting import Call
from agentloop.browser.base import Download, Driver
from agentloop.browser.keys import chord
from agentloop.browser.listing import Aim
from agentloop.browser.look import quote
from agentloop.browser.marks import Marks
from agentloop.browser.page import address
from agentloop.errors import (
    BrowserLost,
    DriverError,
    EndRun,
    EndTurn,
    InvalidInput,
    PolicyDenied,
    RequestRefused,
    TargetError,
    WorldError,
)
from agentloop.guard.grants import Grant, confirmable, unambiguous
from agentloop.guard.network.url import parse_url
from agentloop.packs.permission import Permission

__all__ = ["Confirm", "origin_of"]

_HELD: Final = frozenset({"submit", "download", "new-host"})
_CLICKS: Final = frozenset({"click", "doubleClick", "select", "check", "upload"})
_ENTER: Final = frozenset({"Enter", "NumpadEnter"})
_ACTS: Final = _CLICKS | {"type", "typeMark", "clickMark", "press", "drag", "eval", "rightClick"}
_LATE_S: Final = 0.1
_SAFE: Final = frozenset({"GET", "HEAD"})
_FIELDS_SHOWN: Final = 20
_FIELD_CHARS: Final = 40
_NAME_CHARS: Final = 200
_PATH_CHARS: Final = 100
_BY_THE_PAGE: Final = 20
"""So often is what a page begins refused, by itself in one browser or within one verb; beyond, without asking."""


@dataclass
class _OngoingVerb:
    """A verb under way: the name of what it acts on, where a person let it submit to, and what was declined."""

    verb: str
    name: str = ""
    asked: set[Grant] = field(default_factory=set)
    submits_to: set[str] = field(default_factory=set)
    seen: bool = False
    declined: list[str] = field(default_factory=list)


class Confirm:
    """Asks before the `actions` happen, and before files from outside of `workspace` go into a page.

    It is the `Approver` of a browser's acts and the `Judge` of its driver. The verb that caused what was
    declined raises `PolicyDenied`. Hosts are known by their origin; http and https of a host at their usual ports are
    one.
    """

    def __init__(
        self, actions: Collection[str], permission: Permission, driver: Driver, *, workspace: str | None = None
    ) -> None:
        self._actions = confirmable(actions)
        self._permission = permission
        self._driver = driver
        self._workspace = workspace
        self._marks: Marks | None = None
        self._known: set[str] = set()
        self._ongoing: _OngoingVerb | None = None
        self._one_at_a_time = asyncio.Lock()
        self._refused_by_itself = 0
        self._ending: EndRun | EndTurn | None = None

    async def begin(self, marks: Marks) -> None:
        """Readies it for the browser whose marks these are. Raises `InvalidInput` when the driver can hold nothing."""
        self._marks = marks
        held = sorted(self._actions & _HELD)
        if not held:
            return
        if not isinstance(self._driver, Interception):
            raise InvalidInput(f"confirm: this driver cannot hold requests, so it cannot wait with: {', '.join(held)}")
        await self._driver.hold(self)
        self.visited(await address(self._driver))

    def visited(self, *urls: str | None) -> None:
        """These addresses are no new hosts: the operator gave them, or they were open before."""
        self._known.update(origin_of(url) for url in urls if url)

    # A verb ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def during(self, verb: str) -> AsyncIterator[None]:
        """One verb. Raises `PolicyDenied` when something that it caused was declined, in place of what followed."""
        self._ongoing = ongoing = _OngoingVerb(verb)
        try:
            yield
            await self._settled(ongoing)
        except (BrowserLost, PolicyDenied, TargetError):
            raise
        except WorldError:
            if not ongoing.declined:
                raise
        finally:
            self._ongoing = None
        if self._ending is not None:
            raise self._ending
        if ongoing.declined:
            raise PolicyDenied("; ".join(dict.fromkeys(ongoing.declined)))

    async def _settled(self, ongoing: _OngoingVerb) -> None:
        """Returns when nothing is held that the verb caused: some of it begins a little after the verb's end."""
        if not isinstance(self._driver, Interception) or not self._actions & _HELD:
            return
        if ongoing.verb in _ACTS and not ongoing.seen:
            await asyncio.sleep(_LATE_S)
            # A page answers nothing while it waits for a document, so after an answer what was begun is known.
            with suppress(DriverError):
                await self._driver.eval("1")
        await self._driver.settled()

    async def before(self, call: Call, aim: Aim | None) -> bool:
        """See `Approver`."""
        if self._ongoing is not None and aim is not None and aim.mark is not None:
            self._ongoing.name = aim.mark.name or aim.mark.hint
        if call.verb == "upload" and await self._before_upload(call, aim):
            return True
        how = _way(call)
        if "submit" not in self._actions or not how:
            return False
        found = await self._submission(call, aim, how)
        return found is not None and await self._before_submit(found, call, aim)

    async def _submission(self, call: Call, aim: Aim | None, how: str) -> Mapping[str, Any] | None:
        marks = self._marks
        if marks is None:
            return None
        if aim is None:
            found = [await marks.submission(frame, {"how": how}) for frame in await self._frames()]
            return next((each for each in found if each is not None), None)
        if aim.key:
            found_here = await marks.submission(aim.frame, {"key": aim.key, "how": how})
            return found_here or ({"fields": []} if call.options.get("submit") else None)
        return await marks.submission("", {"point": [aim.x, aim.y], "how": how})

    async def _frames(self) -> Sequence[str]:
        return [frame.id for frame in await self._driver.frames()] if isinstance(self._driver, Frames) else [""]

    async def _before_submit(self, found: Mapping[str, Any], call: Call, aim: Aim | None) -> bool:
        page = await self._page(aim.frame if aim else "")
        url = found.get("action") or page
        goal = origin_of(url) if url.startswith("http") else origin_of(page)
        name = str(found.get("name") or (self._ongoing.name if self._ongoing else ""))
        grant = _submit(goal, name)
        words = (
            f"Allow the browser to submit {_called(name)} by {_by(call)} on {origin_of(page)}: "
            f"to {goal}{_path(url)}, {_fields(found.get('fields') or ())}?"
        )
        asked = await self._need(
            "submit", grant, words, f"a person did not agree to submit {_called(name)} to {goal}; nothing was done"
        )
        if self._ongoing is not None:
            self._ongoing.submits_to.add(goal)
        self._known.add(goal)
        return asked

    async def _before_upload(self, call: Call, aim: Aim | None) -> bool:
        """A file of this machine leaves it only from the run's workspace, or when a person says so."""
        files = [path for path in call.files if "upload" in self._actions or not _lies_in(self._workspace, path)]
        if not files:
            return False
        outside = [path for path in files if not _lies_in(self._workspace, path)]
        page = origin_of(await self._page(aim.frame if aim else ""))
        names = json.dumps(files, ensure_ascii=False)
        grant = Grant(kind="path", subject=f"upload {unambiguous(names)} to {page}")
        note = " (not in the workspace)" if outside else ""
        words = f"Allow the browser to upload {unambiguous(names)}{note} to {page}?"
        reason = f"to put {', '.join(files)}{note} into {page} needs a person's approval; nothing was done"
        return await self._need("upload", grant, words, reason)

    async def _need(self, action: str, grant: Grant, question: str, reason: str) -> bool:
        """Returns True when somebody was asked. Raises `PolicyDenied`."""
        ongoing = self._ongoing
        if ongoing is not None and grant in ongoing.asked:
            return False
        await self._permission.confirm(f"browser.{action}", reason, question=question, grant=grant)
        if ongoing is not None:
            ongoing.asked.add(grant)
        return ongoing is not None

    async def _page(self, frame: str) -> str:
        """The address of the document that a frame shows, or of the nearest above it that has one."""
        if not frame or not isinstance(self._driver, Frames):
            return await address(self._driver)
        frames = {each.id: each for each in await self._driver.frames()}
        here = frames.get(frame)
        while here is not None and not here.url.startswith("http"):
            here = frames.get(here.parent) if here.parent is not None else None
        return here.url if here is not None else await address(self._driver)

    # What the driver holds -----------------------------------------------------------------------------

    async def document(self, request: DocumentRequest) -> bool:
        """See `Judge`."""
        goal = origin_of(request.url)
        if self._ongoing is not None:
            self._ongoing.seen = True
        if "submit" in self._actions and request.method.upper() not in _SAFE:
            allowed = await self._held_submit(request, goal)
        elif "new-host" in self._actions and request.main and not self._knows(goal):
            allowed = await self._held_host(request, goal)
        else:
            allowed = True
        if allowed and request.main and "new-host" in self._actions:
            self._known.add(goal)
        return allowed

    async def download(self, download: Download) -> bool:
        """See `Judge`."""
        if "download" not in self._actions:
            return True
        origin = origin_of(download.url)
        words = f"Allow the browser to keep the download {quote(download.name)} from {origin}?"
        grant = Grant(kind="action", subject=f"download {origin}")
        return await self._asked(words, grant, f"the download {quote(download.name)}")

    async def _held_submit(self, request: DocumentRequest, goal: str) -> bool:
        ongoing = self._ongoing
        if ongoing is not None and goal in ongoing.submits_to:
            return True
        name = ongoing.name if ongoing is not None else ""
        method = request.method.upper()
        start = f" from {origin_of(request.page)}" if request.page else ""
        way = "a redirect sends" if request.redirected else "the page sends"
        words = (
            f"Allow the browser to submit {_called(name)}{self._cause()}: {way} a {quote(method, 20)}{start} "
            f"to {goal}{_path(request.url)}, {_fields(request.fields)}?"
        )
        allowed = await self._asked(words, _submit(goal, name), f"the submit to {goal}")
        if allowed and ongoing is not None:
            ongoing.submits_to.add(goal)
        return allowed

    async def _held_host(self, request: DocumentRequest, goal: str) -> bool:
        way = "in a new window" if request.window else "by a redirect" if request.redirected else ""
        start = f" from {origin_of(request.page)}" if request.page.startswith("http") else ""
        how = ", ".join(part for part in (way, self._cause().strip()) if part)
        words = f"Allow the browser to open {goal}, a host that is new here{start}{f' ({how})' if how else ''}?"
        grant = Grant(kind="action", subject=f"new-host {goal}")
        return await self._asked(words, grant, f"to open {goal}, a new host,")

    async def _asked(self, question: str, grant: Grant, what: str) -> bool:
        ongoing = self._ongoing
        async with self._one_at_a_time:
            refused = self._refused_by_itself if ongoing is None else len(ongoing.declined)
            tired = refused >= _BY_THE_PAGE
            try:
                allowed = not tired and await self._permission.granted(question, grant)
            except (EndRun, EndTurn) as ending:
                # The driver awaits this, and it has no run to end: the verb does.
                self._ending = ending
                return False
        if allowed:
            return True
        if ongoing is not None:
            ongoing.declined.append(f"{what} was declined by a person; the page is as it was")
            return False
        self._refused_by_itself += 1
        await self._permission.tell("warning", content=f"begun by the page itself and refused: {what}")
        return False

    def _cause(self) -> str:
        return f" by {self._ongoing.verb}" if self._ongoing is not None else " by itself"

    def _knows(self, site: str) -> bool:
        plain = site.replace("https://", "http://", 1)
        return site in self._known or (plain.count(":") == 1 and plain in self._known)


# Words -----------------------------------------------------------------------------------------------


def _way(call: Call) -> str:
    """How the act would submit something: by a click, by Enter, by Space; "" when it cannot."""
    if call.verb in _CLICKS:
        return "click"
    if call.verb == "type" and call.options.get("submit"):
        return "enter"
    if call.verb != "press":
        return ""
    keys = chord(str((*call.before, *call.values)[0])) or ""
    last = keys.rpartition("+")[2] or keys
    return "enter" if last in _ENTER else "space" if last in ("Space", " ") else ""


def _by(call: Call) -> str:
    return "typing and Enter" if call.verb == "type" else "a key" if call.verb == "press" else "a click"


def _submit(origin: str, name: str) -> Grant:
    by = f"by {quote(name, _NAME_CHARS)}" if name else "by the page"
    return Grant(kind="action", subject=f"submit {origin} {unambiguous(by)}")


def _called(name: str) -> str:
    return quote(name) if name else "a form"


def _fields(names: Sequence[str]) -> str:
    if not names:
        return "with no fields that can be named"
    shown = ", ".join(quote(str(name), _FIELD_CHARS) for name in names[:_FIELDS_SHOWN])
    more = f" and {len(names) - _FIELDS_SHOWN} more" if len(names) > _FIELDS_SHOWN else ""
    return f"fields {shown}{more}"


def _path(url: str) -> str:
    # What stands behind another scheme would look like more of the origin.
    path = urlsplit(url).path if url.startswith("http") else ""
    return "" if path in ("", "/") else unambiguous(path if len(path) <= _PATH_CHARS else f"{path[:_PATH_CHARS]}…")


def origin_of(url: str) -> str:
    """The origin in its canonical form; the scheme alone of what has none."""
    text = url.removeprefix("blob:").removeprefix("view-source:")
    try:
        origin = parse_url(text).origin
    except (InvalidInput, RequestRefused):
        return unambiguous(f"{text.partition(':')[0][:20]}:")
    return origin


def _lies_in(folder: str | None, path: str) -> bool:
    return folder is not None and Path(path).is_relative_to(Path(folder).resolve())
