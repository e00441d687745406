"""How every act goes: observers, the one target meant, a re-check, the input, settling, a receipt, observers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agentloop.browser.base import Act, ActObserver, Driver, Effects, Mark, Receipt
from agentloop.browser.listing import Aim
from agentloop.browser.marks import Marks
from agentloop.browser.page import address, title
from agentloop.browser.receipts import MASK, appeared, receipt_line, turn_lines, written
from agentloop.browser.targets import Found, Wanted, find, mismatch, plain_target, read_target, unknown_number
from agentloop.browser.watching import watching
from agentloop.browser.words import say
from agentloop.clock import Clock
from agentloop.errors import BrowserLost, DriverError, DriverTimeout, InvalidInput, TargetError
from agentloop.records import Json

__all__ = ["ACT_S", "Acting", "Approver", "Call", "Done", "Perform", "Verify"]

ACT_S = 5.0
"""Seconds that finding a target, checking it and the input itself may take; settling has its own bound."""

_HINT_CHARS = 600
_APPEARED_LIMIT = 200


@dataclass(frozen=True, kw_only=True)
class Done:
    """What an act tells about itself.

    `verb` and `values` are what was really done where that differs from what was asked; `changed` None leaves
    it to what was seen; `secret` keeps the values out of the receipt; `goal` is the mark dragged onto.
    """

    verb: str = ""
    values: tuple[Any, ...] | None = None
    note: str = ""
    value: str | None = None
    changed: bool | None = None
    secret: bool = False
    goal: Mark | None = None


Perform = Callable[[Aim], Awaitable[Done | None]]
"""The input itself, at a checked point."""


class Approver(Protocol):
    """Decides whether an act may be done, just before it is."""

    async def before(self, call: Call, aim: Aim | None) -> bool:
        """Returns when `call` may be done, True when a person was asked, so that time has passed.

        `aim` is None for what has no target. Raises `PolicyDenied`; nothing has been done then.
        """


Verify = Callable[[Aim, Done], Awaitable[Done]]
"""A look at the target when all has settled: the same `Done`, or one that tells more."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A verb with what was given to it: `before` and `values` stand around the target and `goal`, a second target.

    `puts` is what goes into the page, for observers; `files` are those that would, as real paths.
    """

    verb: str
    before: tuple[Any, ...] = ()
    target: Any = None
    goal: Any = None
    values: tuple[Any, ...] = ()
    options: dict[str, Json] = field(default_factory=dict)
    puts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Acting:
    """Does acts on one page and keeps their receipts until they are taken."""

    def __init__(
        self,
        driver: Driver,
        marks: Marks,
        observers: Sequence[ActObserver],
        *,
        prefix: str,
        hints: bool,
        clock: Clock | None = None,
    ) -> None:
        self._driver = driver
        self._marks = marks
        self._observers = tuple(observers)
        self._prefix = prefix
        self._hints = hints
        self.approver: Approver | None = None
        self._clock = clock or Clock()
        self._lines: list[str] = []
        self._replaced_by: str | None = None

    def take_lines(self) -> tuple[str, ...]:
        """The receipt lines since the last call, bounded; empties the list."""
        lines, self._lines = self._lines, []
        return turn_lines(lines)

    async def list(self) -> Sequence[Mark]:
        """Lists the marks anew: from now on numbers mean this page's."""
        listing = await self._marks.list()
        self._replaced_by = None
        return listing.marks

    def page_listed(self) -> None:
        """The marks were listed anew by somebody else."""
        self._replaced_by = None

    def page_changed(self, by: str) -> None:
        """Numbers given before are another page's from now on; `by` is the call that did it."""
        self._replaced_by = by

    @property
    def listed(self) -> Sequence[Mark]:
        """The marks listed last, none when the page was replaced since."""
        listing = self._marks.listing
        return listing.marks if listing and self._replaced_by is None else ()

    async def on_target(
        self, call: Call, perform: Perform, *, verify: Verify | None = None, seconds: float = ACT_S
    ) -> Receipt:
        """An act on an element: `perform` once it is found and checked, `verify` when all has settled on the same page.

        Finding and `perform` are each bounded by `seconds`.
        """
        act = self._announce(call)
        target = await self._before(act, call.target)
        async with self._explained():
            found, aim = await self._allowed(call, target, seconds)
            near = await self._marks.nearby(aim)
            base = await address(self._driver)
            async with watching(self._driver) as watched, self._bounded(act.verb, seconds):
                done = await perform(aim) or Done()
        effects = watched.effects
        if verify is not None and not effects.document:
            done = await self._verified(verify, aim, done)
        receipt = await self._receipt(effects, note=_joined(found.note, done.note), value=done.value)
        receipt = replace(receipt, call=self._written(call, found, aim, done))
        if not effects.document:
            receipt = await self._looked_after(receipt, aim, near, done, typed=call.puts)
        return await self._finish(act, receipt, base)

    async def on_page(self, call: Call, perform: Callable[[], Awaitable[Done | None]]) -> Receipt:
        """An act on the page as a whole: goto, back, a key where the focus is."""
        act = self._announce(call)
        await self._before(act, None)
        if self.approver is not None:
            await self.approver.before(call, None)
        base = await address(self._driver)
        async with watching(self._driver) as watched:
            done = await perform() or Done()
        receipt = await self._receipt(watched.effects, note=done.note, value=done.value)
        changed = receipt.changed or bool(done.changed) or (done.changed is None and await self._differs())
        return await self._finish(act, replace(receipt, call=act.call, changed=changed), base)

    async def _allowed(self, call: Call, target: Any, seconds: float) -> tuple[Found, Aim]:
        """The target once the act may be done: found anew whenever the page had time to change."""
        while True:
            async with self._bounded(call.verb, seconds):
                found, aim = await self.aim(target)
            if self.approver is None or not await self.approver.before(call, aim):
                return found, aim

    async def aim(self, target: Any) -> tuple[Found, Aim]:
        """The one thing that `target` means, checked to be there and free. Raises `TargetError`, `InvalidInput`."""
        wanted = read_target(target)
        found = await self._find(wanted)
        try:
            return found, await self._aim_at(found)
        except TargetError as error:
            if error.reason not in ("stale", "gone") or not (wanted.name or found.selector):
                raise self._told(error, wanted, found) from None
        await self.list()
        found = await self._find(wanted)
        return found, await self._aim_at(found)

    # Finding

    async def _find(self, wanted: Wanted) -> Found:
        if wanted.number is not None and not wanted.name:
            self._require_current(wanted.number)
        marks = self.listed
        found = find(wanted, marks, self._lookup)
        unsure = found is None or bool(found.selector or found.note)
        if unsure and not wanted.mark and (wanted.name or wanted.text):
            marks = await self.list()
            found = find(wanted, marks, self._lookup)
        if found is not None:
            return found
        own = self._lookup(wanted.number) if wanted.number is not None else None
        if wanted.name or wanted.text:
            raise mismatch(wanted, marks, own)
        raise unknown_number(wanted.number or 0, marks)

    def _lookup(self, number: int) -> Mark | None:
        if self._replaced_by is not None:
            return None
        try:
            return self._marks.get(number)
        except TargetError:
            return None

    def _require_current(self, number: int) -> None:
        if self._replaced_by is not None:
            raise TargetError(say("page_changed", by=self._replaced_by, number=number), reason="stale")
        if self._marks.listing is None:
            raise TargetError(say("no_marks_yet", prefix=self._prefix), reason="missing")

    async def _aim_at(self, found: Found) -> Aim:
        if found.mark is not None:
            return await self._marks.aim(found.mark)
        if found.point is not None:
            x, y = found.point
            return Aim(mark=None, frame="", key="", x=x, y=y, scrolled=False, repaired=False)
        return await self._marks.aim_selector(found.selector)

    def _told(self, error: TargetError, wanted: Wanted, found: Found) -> TargetError:
        if wanted.text and found.selector and error.reason == "missing":
            message = say("as_selector", error=mismatch(wanted, self.listed, None), other=error)
            return TargetError(message, reason="missing")
        return error

    # Around the act

    def _announce(self, call: Call) -> Act:
        target = None if call.target is None else read_target(call.target)
        goal = None if call.goal is None else read_target(call.goal)
        words = self._words(call, call.verb, target, goal, call.values)
        return Act(verb=call.verb, call=words, values=call.puts)

    async def _before(self, act: Act, target: Any) -> Any:
        shown = plain_target(target)
        aimed = shown
        for observer in self._observers:
            aimed = await observer.before(act, aimed, self.listed)
        # A `Mark` says more than what observers are shown of it, so it is kept where nobody re-aims.
        return target if aimed == shown else aimed

    async def _verified(self, verify: Verify, aim: Aim, done: Done) -> Done:
        try:
            return await verify(aim, done)
        except TargetError:
            return done

    async def _receipt(self, effects: Effects, *, note: str, value: str | None) -> Receipt:
        seen = effects.url or effects.document or effects.opened or effects.dialogs or effects.downloads
        changed = bool(seen or effects.mutations or effects.requests or effects.refused or value is not None)
        heading = await self._heading() if effects.document else ""
        return Receipt(call="", changed=changed, effects=effects, title=heading, note=note, value=value)

    async def _heading(self) -> str:
        try:
            return await title(self._driver)
        except BrowserLost:
            raise
        except DriverError:
            return ""  # the page has moved on, or hides it: what the act did is told all the same

    async def _looked_after(
        self, receipt: Receipt, aim: Aim, near: str, done: Done, *, typed: Sequence[str]
    ) -> Receipt:
        try:
            new = appeared(near, await self._marks.nearby(aim), typed)[:_APPEARED_LIMIT]
        except TargetError:
            new = ""
        changed = receipt.changed or bool(new)
        if done.changed is not None:
            changed = changed or done.changed
        elif not changed:
            changed = await self._differs()
        return replace(receipt, appeared=new, changed=changed)

    async def _differs(self) -> bool:
        """True when the marks are not as they were listed: a state that no effect told of."""
        before = tuple(self.listed)
        return bool(before) and tuple(await self.list()) != before

    def _written(self, call: Call, found: Found, aim: Aim, done: Done) -> str:
        target = Found(mark=aim.mark) if aim.mark else found
        goal = Found(mark=done.goal) if done.goal else None if call.goal is None else read_target(call.goal)
        values = call.values if done.values is None else done.values
        if done.secret:
            values = (MASK,)
        return self._words(call, done.verb or call.verb, target, goal, values)

    def _words(
        self, call: Call, verb: str, target: Wanted | Found | None, goal: Wanted | Found | None, values: Sequence[Any]
    ) -> str:
        targets = [each for each in (target, goal) if each is not None]
        return written(self._prefix + verb, *targets, before=call.before, values=values, options=call.options)

    async def _finish(self, act: Act, receipt: Receipt, base: str) -> Receipt:
        if receipt.effects.document or receipt.effects.opened:
            self.page_changed(receipt.call)
        self._lines.append(receipt_line(receipt, base))
        for observer in self._observers:
            await observer.after(act, receipt)
        return receipt

    @asynccontextmanager
    async def _bounded(self, verb: str, seconds: float) -> AsyncIterator[None]:
        try:
            async with self._clock.timeout(seconds):
                yield
        except TimeoutError:
            raise DriverTimeout(say("not_in_time", verb=verb, seconds=seconds)) from None

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """Adds what is on the page now to an error that says that a target is not so."""
        try:
            yield
        except TargetError as error:
            if not self._hints:
                raise
            raise TargetError(f"{error}\n{await self._hint()}", reason=error.reason) from None

    async def _hint(self) -> str:
        try:
            look = await self._marks.look(chars=_HINT_CHARS)
        except (DriverError, InvalidInput) as error:
            return say("page_unread", error=error)
        self.page_listed()
        return say("page_now", text=look.text)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
