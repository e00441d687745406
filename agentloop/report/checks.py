"""Checks of a finished run that need no model: where the page is, what is on it, what was answered."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from agentloop.browser.abilities import Downloads, Frames, PageScript
from agentloop.browser.base import Driver
from agentloop.browser.page import address, has_text, title
from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["CHECK_S", "FORMS", "JUDGE_S", "Check", "CheckKind", "CheckedPage", "DriverPage", "judge"]

CHECK_S = 5.0
"""Seconds that one check may take."""

JUDGE_S = 15.0
"""Seconds that all checks of a run may take together; the run's end has a deadline of its own above that."""

CheckKind: TypeAlias = Literal["url", "title", "text", "no-text", "count", "js", "answer", "download"]

FORMS = (
    "url=ADDRESS or url=/PATH, url~=PART, title=TEXT, title~=PART, text=TEXT, no-text=TEXT, "
    "count:SELECTOR=NUMBER, js=EXPRESSION, answer=TEXT, answer~=PART, download=NAME"
)
"""What `Check.parse` reads, for people."""

_SIMPLE = re.compile(r"(url|title|answer)(~?)=(.*)|(text|no-text|js|download)()=(.*)", re.DOTALL)
_COUNT = re.compile(r"count:(.+)=\s*([0-9]{1,9})\s*", re.DOTALL)
_SEEN_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Check:
    """One condition. `text` is how it was written.

    `like` (written `~=`) means that `value` is a part of what is seen, upper and lower case and spaces aside, with a
    `*` for anything; otherwise all of it is compared. A `url=` that begins with / leaves the origin out, and may leave
    out the fragment. In a `download` a * stands for anything. `number` is what a `count` must be.
    """

    text: str
    kind: CheckKind
    value: str
    like: bool = False
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Check:
        """Reads one of `FORMS`. Raises `InvalidInput` naming them all."""
        if counted := _COUNT.fullmatch(text.strip()):
            return cls(text=text, kind="count", value=counted[1].strip(), number=int(counted[2]))
        match = _SIMPLE.fullmatch(text.strip())
        kind, like, value = (match[1] or match[4], match[2], match[3] or match[6] or "") if match else ("", "", "")
        if not value.strip():
            raise InvalidInput(f"{text!r} is no check; the forms are: {FORMS}")
        return cls(text=text, kind=cast(CheckKind, kind), value=value.strip(), like=bool(like))

    @property
    def needs_page(self) -> bool:
        """False when the answer alone decides."""
        return self.kind != "answer"


class CheckedPage(Protocol):
    """The page that a run left behind."""

    async def url(self) -> str: ...

    async def title(self) -> str: ...

    async def has_text(self, text: str) -> bool: ...

    async def count(self, selector: str) -> int: ...

    async def evaluate(self, expression: str) -> Json:
        """In a world that the page cannot reach, where there is one."""

    async def downloads(self) -> tuple[str, ...]:
        """Names of the files it gave, complete ones only."""


class DriverPage:
    """Implements `CheckedPage` with a driver; frames count as part of the page."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def url(self) -> str:
        """The address of the active page."""
        return await address(self._driver)

    async def title(self) -> str:
        """Its title."""
        return await title(self._driver)

    async def has_text(self, text: str) -> bool:
        """True when the rendered text holds `text`, spaces folded."""
        return await has_text(self._driver, text)

    async def count(self, selector: str) -> int:
        """Elements that match, those in frames and open shadow roots too."""
        driver, argument = self._driver, {"selector": selector}
        if not isinstance(driver, Frames):
            return int(await driver.eval(f"({_count_script().source})({json.dumps(argument)})"))
        frames = await driver.frames()
        return sum([int(await driver.run_script(frame.id, _count_script(), argument)) for frame in frames])

    async def evaluate(self, expression: str) -> Json:
        """The value of a JavaScript expression; a promise is awaited."""
        driver = self._driver
        if not isinstance(driver, Frames):
            return await driver.eval(expression)
        return await driver.run_script("", PageScript(f"check {expression}", f"() => (\n{expression}\n)"), None)

    async def downloads(self) -> tuple[str, ...]:
        """Names of complete files; one that still arrives is waited for."""
        driver = self._driver
        if not isinstance(driver, Downloads):
            raise InvalidInput("this driver keeps no downloads")
        known = [
            await driver.wait_download(each.id) if each.state == "running" else each
            for each in await driver.downloads()
        ]
        return tuple(each.name for each in known if each.state == "done")


async def judge(
    checks: Sequence[Check], *, answer: str, page: CheckedPage | None = None
) -> tuple[Mapping[str, Json], ...]:
    """The verdicts `{check, passed, seen}` in order, as `Loop(verify=…)` wants them.

    A check that cannot be judged (no page, an error, out of time) has not passed, and `seen` says why. Never raises.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + JUDGE_S
    return tuple([await _verdict(check, answer, page, min(until, loop.time() + CHECK_S)) for check in checks])


async def _verdict(check: Check, answer: str, page: CheckedPage | None, until: float) -> Mapping[str, Json]:
    try:
        async with asyncio.timeout_at(until):
            passed, seen = await _judged(check, answer, page)
    except TimeoutError:
        passed, seen = False, "not judged: the page did not answer in time"
    except Exception as error:  # the border: a driver is foreign code, and the run must get its end
        passed, seen = False, f"not judged: {error or type(error).__name__}"
    return {"check": check.text, "passed": passed, "seen": _clipped(seen)}


async def _judged(check: Check, answer: str, page: CheckedPage | None) -> tuple[bool, str]:
    if check.kind == "answer":
        return _fits(check, answer), answer
    if page is None:
        raise InvalidInput("this run has no page; only answer= and answer~= can be judged")
    return await _PAGE_CHECKS[check.kind](check, page)


async def _url(check: Check, page: CheckedPage) -> tuple[bool, str]:
    url = await page.url()
    return (_fits(check, url) if check.like else _same_address(check.value, url)), url


async def _title(check: Check, page: CheckedPage) -> tuple[bool, str]:
    shown = await page.title()
    return _fits(check, shown), shown


async def _text(check: Check, page: CheckedPage) -> tuple[bool, str]:
    there = await page.has_text(check.value)
    return there is (check.kind == "text"), "it is on the page" if there else "it is not on the page"


async def _count(check: Check, page: CheckedPage) -> tuple[bool, str]:
    number = await page.count(check.value)
    return number == check.number, f"there is {number}" if number == 1 else f"there are {number}"


async def _js(check: Check, page: CheckedPage) -> tuple[bool, str]:
    value = await page.evaluate(check.value)
    return _truthy(value), json.dumps(value, ensure_ascii=False)


async def _download(check: Check, page: CheckedPage) -> tuple[bool, str]:
    names = await page.downloads()
    return any(fnmatch.fnmatchcase(name, _glob(check.value)) for name in names), ", ".join(names) or "no download"


_PAGE_CHECKS: Mapping[CheckKind, Callable[[Check, CheckedPage], Awaitable[tuple[bool, str]]]] = MappingProxyType(
    {
        "url": _url,
        "title": _title,
        "text": _text,
        "no-text": _text,
        "count": _count,
        "js": _js,
        "download": _download,
    }
)


def _fits(check: Check, seen: str) -> bool:
    wanted, found = _folded(check.value), _folded(seen)
    if not check.like:
        return wanted == found
    return fnmatch.fnmatchcase(found.casefold(), f"*{_glob(wanted.casefold())}*")


def _same_address(wanted: str, url: str) -> bool:
    if wanted.startswith("/"):
        parts = urlsplit(url)
        return wanted in (_local(parts.path, parts.query), _local(parts.path, parts.query, parts.fragment))
    return wanted == url or (urlsplit(wanted).path == "" and f"{wanted}/" == url)


def _local(path: str, query: str, fragment: str = "") -> str:
    return f"{path}{f'?{query}' if query else ''}{f'#{fragment}' if fragment else ''}"


def _glob(text: str) -> str:
    return text.replace("[", "[[]").replace("?", "[?]")


def _folded(text: str) -> str:
    return " ".join(text.split())


def _truthy(value: Json) -> bool:
    """As in JavaScript, where empty lists and objects are true."""
    return bool(value) or isinstance(value, list | dict)


def _clipped(text: str) -> str:
    return text if len(text) <= _SEEN_CHARS else f"{text[: _SEEN_CHARS - 1]}…"


@cache
def _count_script() -> PageScript:
    source = files("agentloop.report").joinpath("count.js").read_text("utf-8")
    return PageScript("count", source)
