"""Marks: numbers for what a person could act on, each belonging to its element, checked again before every act."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from agentloop.browser.base import Driver, Mark
from agentloop.browser.gathering import Reading, read_frames
from agentloop.browser.listing import (
    Aim,
    ElementState,
    Listing,
    ScrollState,
    mark_from,
    named_alike,
    same_words,
    twin,
)
from agentloop.browser.look import Look, render
from agentloop.browser.scripts import Scripts
from agentloop.browser.words import say
from agentloop.errors import DriverError, InvalidInput, TargetError
from agentloop.records import Json

__all__ = ["Marks"]


class Marks:
    """The marks of one browser. `listing` is the last one made, None before the first."""

    def __init__(self, driver: Driver, *, hide: Callable[[str], str] = str) -> None:
        """`hide` takes out of a page's text what nobody may read; pieces of it may only together be that."""
        self._scripts = Scripts(driver)
        self._hide = hide
        self._numbers: dict[tuple[str, str], int] = {}
        self._known: dict[int, tuple[Mark, bool]] = {}
        self._parents: dict[str, tuple[str, str]] = {}
        self._highest_before = 0
        self.listing: Listing | None = None

    async def list(self) -> Listing:
        """Lists and numbers everything visible now, in every frame that can be entered.

        Raises what the driver raises; a child frame that fails is skipped and named.
        """
        listing, _ = await self._read(text=False)
        return listing

    async def look(self, *, chars: int = 6000) -> Look:
        """The visible page as text with the marks in place, at most `chars` characters; lists anew as it does."""
        listing, reading = await self._read(text=True)
        frames = {place: frame for frame, place in reading.parents.items()}
        look = render(listing, reading.pages, frames, chars=chars)
        return replace(look, text=self._hide(look.text))

    async def _read(self, *, text: bool) -> tuple[Listing, Reading]:
        try:
            reading = await read_frames(self._scripts, text=text)
        except TargetError:
            # The document went while it was read: the one that came is what the caller wants.
            reading = await read_frames(self._scripts, text=text)
        return self._record(reading), reading

    # Numbers -----------------------------------------------------------------------------------------

    def _record(self, reading: Reading) -> Listing:
        raw = reading.raw
        if self.listing is None or self.listing.document != raw["token"]:
            self._begin_document()
        marks = [
            mark_from(seen.raw, number=self._number(seen.realm, seen.raw["key"]), frame=seen.frame)
            for seen in reading.marks
        ]
        counts: dict[tuple[str, str, str], int] = {}
        for mark in marks:
            kind = (mark.tag, mark.role, mark.name)
            counts[kind] = counts.get(kind, 0) + 1
        for mark in marks:
            self._known[mark.id] = (mark, counts[mark.tag, mark.role, mark.name] == 1)
        self._parents = reading.parents
        self.listing = Listing(
            marks=tuple(marks),
            document=raw["token"],
            url=raw["url"],
            title=raw["title"],
            scroll=ScrollState(**raw["scroll"]),
            skipped_frames=tuple(reading.skipped),
            left_out=raw["left_out"],
        )
        return self.listing

    def _begin_document(self) -> None:
        self._highest_before = max(self._highest_before, *self._known, 0)
        self._numbers.clear()
        self._known.clear()

    def _number(self, realm: str, key: str) -> int:
        return self._numbers.setdefault((realm, key), len(self._numbers) + 1)

    def get(self, number: int) -> Mark:
        """The mark with a number of this document, as it was listed last.

        Raises `TargetError`: "missing" for a number never given, "stale" for one of the document before.
        """
        if number in self._known:
            return self._known[number][0]
        if not self._known and not self._highest_before:
            raise TargetError(say("nothing_listed", number=number), reason="missing")
        highest = max(self._known, default=0)
        there = say("marks_there", highest=highest) if highest else say("no_marks_there")
        if number <= self._highest_before:
            raise TargetError(say("mark_of_before", number=number, there=there), reason="stale")
        raise TargetError(say("no_such_mark", number=number, there=there), reason="missing")

    # Aiming ------------------------------------------------------------------------------------------

    async def aim(self, mark: Mark) -> Aim:
        """Checks a mark just before an act and gives the point where a click reaches it now.

        Scrolls to it where needed. An element that went is replaced by the one that took its place when
        there is no doubt. Raises `TargetError` otherwise, reason gone, changed, covered, disabled, hidden
        or stale; the message tells what happened.
        """
        known, alone = self._known.get(mark.id, (mark, True))
        if not same_words(known.name, mark.name):
            raise _changed(mark, known.name)
        answer = await self._ask(mark, None if alone else mark.context)
        if answer["state"] in ("gone", "moved"):
            return await self._repair(mark, alone, answer)
        if answer["state"] != "ok":
            raise _refusal(mark, answer)
        return await self._aimed(mark, mark.frame, mark.key, answer)

    async def _ask(self, mark: Mark, context: str | None) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self._run(mark.frame, {"op": "aim", "key": mark.key, "context": context})
        except TargetError as error:
            if error.reason != "stale":
                raise
            return {"state": "gone"}
        return answer

    async def _repair(self, mark: Mark, alone: bool, answer: dict[str, Any]) -> Aim:
        before = self.listing
        listing = await self.list()
        if before is not None and listing.document != before.document and not _same_page(before.url, listing.url):
            message = say("mark_of_address", called=_called(mark), before=before.url, now=listing.url)
            raise TargetError(message, reason="stale")
        found = twin(mark, alone=alone, fresh=listing.marks)
        if found is None:
            raise _lost(mark, answer, listing)
        answer = await self._ask(found, None if self._known[found.id][1] else found.context)
        if answer["state"] != "ok":
            raise _refusal(found, answer)
        return replace(await self._aimed(found, found.frame, found.key, answer), repaired=True)

    async def under_pointer(self, aim: Aim) -> Aim:
        """The same once the pointer is at its point and nothing pressed yet: `aim` itself, or where it went to since.

        Pages change things as a pointer comes near. Words that were added are let pass, other words are refused.
        Raises `TargetError` as `aim` does. Nothing is scrolled for it, unless the element was replaced.
        """
        request: dict[str, Json] = {"op": "aim", "key": aim.key, "scroll": False, "at": list(aim.inner)}
        answer = await self._run(aim.frame, request)
        if answer["state"] == "gone" and aim.mark is not None:
            return await self.aim(aim.mark)
        if answer["state"] != "ok":
            raise _refusal(aim.mark, answer)
        now = await self._aimed(aim.mark, aim.frame, aim.key, answer, scroll=False)
        return replace(now, scrolled=aim.scrolled, repaired=aim.repaired)

    async def _aimed(
        self, mark: Mark | None, frame: str, key: str, answer: dict[str, Any], *, scroll: bool = True
    ) -> Aim:
        x, y, scrolled = answer["x"], answer["y"], answer["scrolled"]
        own = Aim(mark=mark, frame=frame, key=key, x=x, y=y, inner=(x, y))
        if mark is not None:
            mark = replace(mark, name=answer["name"])
        inner = frame
        while inner in self._parents:
            inner, holder = self._parents[inner]
            place = {"op": "through", "key": holder, "x": x, "y": y, "moved": scrolled, "scroll": scroll}
            answer = await self._run(inner, place)
            if answer["state"] != "ok":
                raise _refusal(mark, answer)
            x, y, scrolled = answer["x"], answer["y"], scrolled or answer["scrolled"]
        return replace(own, mark=mark, x=x, y=y, scrolled=scrolled)

    async def aim_selector(self, selector: str) -> Aim:
        """The first rendered match of a CSS selector: the main frame first, then the others; open shadow roots count.

        Raises `InvalidInput` for what is no selector, `TargetError` missing, hidden, covered or disabled.
        """
        reasons = set()
        for frame in await self._frames_to_search():
            found = await self._run(frame, {"op": "find", "selector": selector})
            if found["state"] == "invalid":
                raise InvalidInput(say("no_selector", selector=selector))
            if found["state"] == "ok":
                return await self._aim_found(selector, frame, found["key"])
            reasons.add(found["state"])
        if "hidden" in reasons:
            raise TargetError(say("selector_hidden", selector=selector), reason="hidden")
        raise TargetError(say("selector_missing", selector=selector), reason="missing")

    async def _aim_found(self, selector: str, frame: str, key: str) -> Aim:
        answer = await self._run(frame, {"op": "aim", "key": key, "check": False})
        if answer["state"] != "ok":
            raise _refusal(None, answer, selector)
        return await self._aimed(None, frame, key, answer)

    async def _frames_to_search(self) -> tuple[str, ...]:
        if not self._scripts.framed:
            return ("",)
        await self.list()
        return ("", *self._parents)

    # The element aimed at ----------------------------------------------------------------------------

    async def state(self, aim: Aim) -> ElementState:
        """The control as it is now. Raises `TargetError(reason="gone")`."""
        raw = await self._of(aim, {"op": "state"})
        fields = {name: value for name, value in raw.items() if name not in ("state", "options")}
        return ElementState(options=tuple(raw["options"]), **fields)

    async def focus_inside(self, aim: Aim) -> bool:
        """True when the focus is in the element or inside it."""
        return bool(await self._run(aim.frame, {"op": "focus_inside", "key": aim.key}))

    async def select_content(self, aim: Aim) -> None:
        """Selects all the text of the field, so that typing replaces it."""
        await self._run(aim.frame, {"op": "select_content", "key": aim.key})

    async def fill(self, aim: Aim, value: str) -> str:
        """Sets the value of an input or textarea as a whole, for dates, colours, ranges; returns what it holds then."""
        held = await self._run(aim.frame, {"op": "fill", "key": aim.key, "value": value})
        if held is None:
            raise TargetError(say("takes_no_value", called=_called(aim.mark)), reason="unfit")
        return str(held)

    async def select(self, aim: Aim, labels: Sequence[str]) -> tuple[str, ...]:
        """Chooses options of a <select> by label, value or place (from 1); returns the labels chosen.

        Raises `TargetError(reason="unfit")` with the options there are.
        """
        raw = await self._of(aim, {"op": "select", "labels": list(labels)})
        if raw["state"] == "unfit":
            raise _unfit(aim.mark, labels, raw)
        return tuple(raw["chosen"])

    async def nearby(self, aim: Aim) -> str:
        """The text around the element, at most 400 characters, of the same surroundings each time after one aim."""
        return str(await self._run(aim.frame, {"op": "nearby", "key": aim.key}))

    async def submission(self, frame: str, request: dict[str, Json]) -> dict[str, Any] | None:
        """What a click or key would submit, as `submission.js` tells it; None where it submits nothing."""
        found: dict[str, Any] | None = await self._run(frame, {"op": "submission", **request})
        return found

    @asynccontextmanager
    async def tag(self, aim: Aim) -> AsyncIterator[str]:
        """A selector for the element, for drivers that know no other way; it holds inside the block only."""
        name = secrets.token_hex(6)
        selector = await self._run(aim.frame, {"op": "tag", "key": aim.key, "name": name})
        if selector is None:
            raise TargetError(say("no_longer", called=_called(aim.mark)), reason="gone")
        try:
            yield str(selector)
        finally:
            try:
                await self._run(aim.frame, {"op": "untag", "name": name})
            except DriverError:
                pass  # the act took the document away, and the tag with it

    async def inside(self, within: int | str) -> frozenset[int]:
        """The numbers of the last listing that lie inside a mark or inside what a selector matches.

        Raises `TargetError(reason="missing")` when there is no such thing.
        """
        marks = self.listing.marks if self.listing else ()
        request: dict[str, Json] = {"op": "inside"}
        frames = [self.get(within).frame] if isinstance(within, int) else ["", *self._parents]
        request |= {"within": self.get(within).key} if isinstance(within, int) else {"selector": within}
        numbers: set[int] = set()
        found = False
        for frame in frames:
            own = {mark.key: mark.id for mark in marks if mark.frame == frame}
            keys = await self._run(frame, request | {"among": list(own)})
            found = found or keys is not None
            numbers |= {own[key] for key in keys or ()}
        if not found:
            raise TargetError(say("nothing_is", within=within), reason="missing")
        return frozenset(numbers)

    async def _of(self, aim: Aim, request: dict[str, Json]) -> dict[str, Any]:
        raw: dict[str, Any] = await self._run(aim.frame, request | {"key": aim.key})
        if raw["state"] == "gone":
            raise TargetError(say("no_longer", called=_called(aim.mark)), reason="gone")
        return raw

    async def _run(self, frame: str, request: Json) -> Any:
        return await self._scripts.run(frame, request)


# What is said when it cannot be done -----------------------------------------------------------------


def _called(mark: Mark | None, selector: str = "") -> str:
    if mark is None:
        return repr(selector) if selector else say("element")
    return say("mark", number=mark.id, name=mark.name or mark.hint)


def _changed(mark: Mark, name: str) -> TargetError:
    return TargetError(say("changed", number=mark.id, before=mark.name or mark.hint, now=name), reason="changed")


def _refusal(mark: Mark | None, answer: dict[str, Any], selector: str = "") -> TargetError:
    state, called = answer["state"], _called(mark, selector)
    if state == "changed" and mark is not None:
        return _changed(mark, answer["name"])
    if state == "covered":
        return TargetError(say("covered", called=called, by=answer["by"]), reason=state)
    if state in ("disabled", "hidden"):
        return TargetError(say(state, called=called), reason=state)
    return TargetError(say("no_longer", called=called), reason="gone")


def _lost(mark: Mark, answer: dict[str, Any], listing: Listing) -> TargetError:
    called = _called(mark)
    if answer["state"] == "moved":
        return TargetError(say("beside_changed", called=called, context=mark.context), reason="changed")
    alike = len(named_alike(mark, listing.marks))
    message = say("gone_among_alike", called=called, count=alike) if alike else say("gone", called=called)
    return TargetError(message, reason="gone")


def _unfit(mark: Mark | None, labels: Sequence[str], raw: dict[str, Any]) -> TargetError:
    called = _called(mark)
    if raw["options"] is None:
        return TargetError(say("not_a_list", called=called, role=raw["role"]), reason="unfit")
    message = say(
        "no_option",
        called=called,
        one="" if raw["multiple"] or len(labels) == 1 else say("takes_one_option"),
        wanted=", ".join(labels),
        options=", ".join(raw["options"]),
        more=say("and_more", count=raw["more"]) if raw["more"] else "",
    )
    return TargetError(message, reason="unfit")


def _same_page(before: str, now: str) -> bool:
    return before.partition("#")[0] == now.partition("#")[0]
