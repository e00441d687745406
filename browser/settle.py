"""When what an act caused is over: pure logic over a page's signals, for any driver.

Counted are requests that begin during the act or just after it, and those that such a request's end
sets off; node changes in the document; and a navigation of the main frame. What the page does by
itself is not: addresses it has asked for again and again, nodes that change all the time, and
requests whose kind says that they stay open.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from agentloop.errors import DriverError

__all__ = ["WAITED_KINDS", "Quiet", "RequestHabits", "Settle", "SettleLimits", "Settled"]

WAITED_KINDS = frozenset({"document", "xhr", "fetch", "script", "stylesheet"})
"""Kinds of requests that are waited for; images, fonts, media, beacons, event streams and websockets are not."""

_ROUNDS = 20
_IN_A_ROW = 2


@dataclass(frozen=True, kw_only=True)
class SettleLimits:
    """Bounds in seconds. The defaults come from measurements on pages that fetch, poll, animate and navigate."""

    total_s: float = 5.0
    """For requests, from the end of the act."""
    navigation_s: float = 10.0
    """From the start of a navigation to its parsed document."""
    load_s: float = 1.0
    """From the parsed document to its load event, which one hanging image can hold back for ever."""
    document_s: float = 3.0
    """For the requests of a new document; some stay open on purpose."""
    quiet_s: float = 0.04
    """No node came or went for so long."""
    dom_s: float = 0.4
    """At most, for the above."""
    grace_s: float = 0.05
    """A request that begins so soon after the act belongs to it."""
    chain_s: float = 0.03
    """So does one that begins so soon after a counted one ended."""


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """What a look into the document found: how many changes since the act began."""

    changes: int = 0


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What was waited for. `navigated`: the main frame has a new document. `timed_out`: a bound ended the wait."""

    requests: int
    changes: int
    navigated: bool
    timed_out: bool
    seconds: float


class RequestHabits:
    """What a page asks for by itself, outside of any act; one per document. Bounded."""

    def __init__(self, *, lately_s: float = 15.0, times: int = 2, keep: int = 500) -> None:
        self._lately_s = lately_s
        self._times = times
        self._keep = keep
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, key: str, now: float) -> None:
        """Takes in one request; `key` is its method and its address without the query."""
        times = self._seen.setdefault(key, deque(maxlen=self._times + 1))
        times.append(now)
        self._seen.move_to_end(key)
        if len(self._seen) > self._keep:
            self._seen.popitem(last=False)

    def polled(self, key: str, now: float) -> bool:
        """True when the page has asked for it at least twice, lately."""
        return sum(1 for at in self._seen.get(key, ()) if now - at < self._lately_s) >= self._times


class Settle:
    """One act's consequences. Made before the act; fed by the driver's events; `wait()` is called after the act.

    `probe` looks into the document until it is quiet; it may raise `DriverError` when the document
    goes meanwhile, and is bounded by the caller. Times are `now()` seconds.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[Quiet]],
        *,
        habits: RequestHabits | None = None,
        limits: SettleLimits | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probe = probe
        self._habits = habits or RequestHabits()
        self._limits = limits or SettleLimits()
        self._now = now
        self._counting_until = float("inf")
        self._live: dict[Hashable, str] = {}
        self._ended: Counter[str] = Counter()
        self._navigations: set[Hashable] = set()
        self._document = "kept"
        self._event = asyncio.Event()
        self._requests = 0
        self._changes = 0
        self._navigated = False
        self._timed_out = False

    # signals -----------------------------------------------------------------------------------------

    def request_started(self, request: Hashable, *, key: str, kind: str, navigation: bool = False) -> bool:
        """A request of the page began; `navigation` when it asks for the main frame's next document.

        False when it is not counted; the caller then notes it in the page's `RequestHabits`.
        """
        if navigation:
            self._navigations.add(request)
        elif not self._counts(key, kind):
            return False
        self._requests += 1
        self._live[request] = key
        self._event.set()
        return True

    def request_ended(self, request: Hashable, *, failed: bool = False) -> None:
        """It ended. A navigation that fails (no content, a download) leaves the document as it is."""
        if request in self._live:
            self._ended[self._live.pop(request)] += 1
            self._counting_until = max(self._counting_until, self._now() + self._limits.chain_s)
        if failed:
            self._navigations.discard(request)
        self._event.set()

    def _counts(self, key: str, kind: str) -> bool:
        now = self._now()
        if kind not in WAITED_KINDS or now > self._counting_until:
            return False
        # The third in a row for one address is polling too, begun before anybody could know it.
        return self._ended[key] < _IN_A_ROW and not self._habits.polled(key, now)

    def document_committed(self, habits: RequestHabits | None = None) -> None:
        """The main frame has a new document, with habits of its own."""
        self._habits = habits or RequestHabits()
        # What the old document was waiting for went with it.
        self._live.clear()
        self._ended.clear()
        self._navigations.clear()
        self._navigated = True
        self._document = "committed"
        self._event.set()

    def document_parsed(self) -> None:
        """The main frame's document is parsed."""
        if self._document == "committed":
            self._document = "parsed"
        self._event.set()

    def document_loaded(self) -> None:
        """The main frame's load event has fired."""
        if self._document != "kept":
            self._document = "loaded"
        self._event.set()

    # waiting -----------------------------------------------------------------------------------------

    async def wait(self) -> Settled:
        """Returns when all that counts is over, within the limits."""
        acted = self._now()
        await self._look()
        if self._document == "kept":
            # What began before the look ended is heard of by now: a busy machine tells of it late.
            self._counting_until = max(acted + self._limits.grace_s, self._now())
        deadline = acted + self._limits.total_s
        for _ in range(_ROUNDS):
            if self._unfinished:
                deadline = await self._follow_navigation()
            elif self._live:
                await self._follow_requests(deadline)
            else:
                break
            if self._timed_out:
                break
            await self._look()
        return Settled(
            requests=self._requests,
            changes=self._changes,
            navigated=self._navigated,
            timed_out=self._timed_out,
            seconds=self._now() - acted,
        )

    @property
    def _unfinished(self) -> bool:
        return bool(self._navigations) or self._document in ("committed", "parsed")

    async def _follow_navigation(self) -> float:
        """Waits for the new document; returns until when its requests are waited for."""
        limits = self._limits
        ready = await self._until(
            lambda: not self._navigations and self._document != "committed", self._now() + limits.navigation_s
        )
        if not ready:
            self._timed_out = True
            return self._now()
        await self._until(lambda: self._document != "parsed" or bool(self._navigations), self._now() + limits.load_s)
        if not self._navigations:
            self._document = "kept"
            self._counting_until = self._now() + limits.grace_s
        return self._now() + limits.document_s

    async def _follow_requests(self, deadline: float) -> None:
        if not await self._until(lambda: not self._live or self._unfinished, deadline):
            self._timed_out = True
        elif not self._unfinished:
            await asyncio.sleep(self._limits.chain_s)

    async def _until(self, done: Callable[[], bool], deadline: float) -> bool:
        while not done():
            left = deadline - self._now()
            if left <= 0:
                return done()
            self._event.clear()
            try:
                async with asyncio.timeout(left):
                    await self._event.wait()
            except TimeoutError:
                continue  # a clock that stood still has time left
        return True

    async def _look(self) -> None:
        try:
            quiet = await self._probe()
        except DriverError:
            return  # the document went meanwhile, which the signals tell
        self._changes = max(self._changes, quiet.changes)
