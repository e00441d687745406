"""The verbs as scripts call them: arguments read, approval asked for, results as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agentloop.browser.base import DialogAnswer, Download, Mark, Receipt
from agentloop.browser.browser import Browser
from agentloop.browser.forms import Arguments
from agentloop.browser.targets import read_target
from agentloop.errors import InvalidInput
from agentloop.records import Json

__all__ = ["VERBS", "Prepare", "Prepared", "as_json"]

_SCROLL_WORDS = {"down": 600.0, "up": -600.0}
_QUESTION_LIMIT = 4_000


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A call whose arguments are in order: `asks` is what a policy is told, never what is typed."""

    do: Callable[[], Awaitable[Any]]
    asks: Mapping[str, Json] = field(default_factory=dict)


Prepare = Callable[[Browser, Arguments], Prepared]
"""Reads a call's arguments."""


def _at(target: Any) -> dict[str, Json]:
    """A target as a policy is told of it: `id`, `name`, `selector`, or `x` and `y`."""
    if target is None:
        return {}
    wanted = read_target(target)
    if wanted.point is not None:
        return {"x": wanted.point[0], "y": wanted.point[1]}
    told: dict[str, Json] = {"id": wanted.number, "name": wanted.name, "selector": wanted.text}
    return {name: value for name, value in told.items() if value is not None}


def _goto(browser: Browser, given: Arguments) -> Prepared:
    url = given.words("url")
    return Prepared(do=lambda: browser.goto(url), asks={"url": url})


def _click(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.click(target), asks=_at(target))


def _double_click(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.double_click(target), asks=_at(target))


def _right_click(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.right_click(target), asks=_at(target))


def _hover(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.hover(target), asks=_at(target))


def _drag(browser: Browser, given: Arguments) -> Prepared:
    source, goal = given.target(after=1), given.target()
    return Prepared(do=lambda: browser.drag(source, goal), asks=_at(source))


def _type(browser: Browser, given: Arguments) -> Prepared:
    options = given.options()
    target, text = given.target(after=1), given.words("text")
    submit = bool(options.get("submit")) or given.rest() == [True]
    return Prepared(do=lambda: browser.type(target, text, submit=submit), asks=_at(target))


def _select(browser: Browser, given: Arguments) -> Prepared:
    # A name goes with the number behind it, but a number first is followed by a label.
    target = given.target(after=0 if given.starts_with_text else 1)
    labels = [str(label) for each in given.rest() for label in (each if isinstance(each, list) else [each])]
    return Prepared(do=lambda: browser.select(target, labels), asks=_at(target))


def _check(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    on = given.rest()[:1] != [False]
    return Prepared(do=lambda: browser.check(target, on), asks=_at(target))


def _press(browser: Browser, given: Arguments) -> Prepared:
    keys = given.required("keys")
    if isinstance(keys, Mapping):
        keys = keys.get("id", "")
    if not isinstance(keys, str | int):
        raise InvalidInput('press: keys is a text such as "Enter"')
    target = given.target() if len(given) else None
    return Prepared(do=lambda: browser.press(keys, target), asks=_at(target))


def _scroll(browser: Browser, given: Arguments) -> Prepared:
    options = given.options()
    first = given.required("dy")
    if isinstance(first, str):
        dx, dy = 0.0, _SCROLL_WORDS.get(first.casefold())
        if dy is None:
            raise InvalidInput("scroll: give pixels, as in scroll(600)")
    else:
        dx, dy = (float(first), given.number("dy")) if len(given) else (0.0, float(first))
    within = options.get("within") or (given.target() if len(given) else None)
    return Prepared(do=lambda: browser.scroll(dx, dy, within), asks={"dx": dx, "dy": dy})


def _upload(browser: Browser, given: Arguments) -> Prepared:
    target = given.target(after=1)
    paths = given.rest()
    chosen = [path for each in paths for path in (each if isinstance(each, list) else [each])]
    if not chosen or not all(isinstance(path, str) for path in chosen):
        raise InvalidInput("upload: paths is required, a text or several")
    reads = browser.file_paths(chosen)
    return Prepared(do=lambda: browser.upload(target, chosen), asks={**_at(target), "paths": list(reads)})


def _mark(browser: Browser, given: Arguments) -> Prepared:
    options = given.options()
    known = {"role", "name", "within", "limit"}
    if set(options) - known:
        raise InvalidInput(f"mark: it filters by {', '.join(sorted(known))}")
    return Prepared(do=lambda: browser.mark(**options))


def _look(browser: Browser, given: Arguments) -> Prepared:
    chars = given.options().get("chars")
    return Prepared(do=(lambda: browser.look(chars=int(chars))) if chars else browser.look)


def _text(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.text(target), asks=_at(target))


def _value(browser: Browser, given: Arguments) -> Prepared:
    target = given.target()
    return Prepared(do=lambda: browser.value(target), asks=_at(target))


def _eval(browser: Browser, given: Arguments) -> Prepared:
    expression = given.words("expression")
    return Prepared(do=lambda: browser.eval(expression), asks={"expression": expression})


def _ask(browser: Browser, given: Arguments) -> Prepared:
    question = given.words("question")[:_QUESTION_LIMIT]
    return Prepared(do=lambda: browser.ask(question), asks={"question": question})


def _ask_marks(browser: Browser, given: Arguments) -> Prepared:
    question = given.words("question")[:_QUESTION_LIMIT]
    return Prepared(do=lambda: browser.ask_marks(question), asks={"question": question})


def _wait_visible(browser: Browser, given: Arguments) -> Prepared:
    options, selector = _timeout(given.options()), given.words("selector")
    return Prepared(do=lambda: browser.wait_visible(selector, **options), asks={"selector": selector})


def _wait_ready(browser: Browser, given: Arguments) -> Prepared:
    options, selector = _timeout(given.options()), given.words("selector")
    return Prepared(do=lambda: browser.wait_ready(selector, **options), asks={"selector": selector})


def _wait_text(browser: Browser, given: Arguments) -> Prepared:
    options, text = _timeout(given.options()), given.words("text")
    return Prepared(do=lambda: browser.wait_text(text, **options))


def _wait_url(browser: Browser, given: Arguments) -> Prepared:
    options, part = _timeout(given.options()), given.words("part")
    return Prepared(do=lambda: browser.wait_url(part, **options))


def _timeout(options: Mapping[str, Json]) -> dict[str, float]:
    timeout = options.get("timeout")
    if timeout is None:
        return {}
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise InvalidInput("timeout is a number of milliseconds")
    return {"timeout": timeout / 1000}


def _sleep(browser: Browser, given: Arguments) -> Prepared:
    ms = given.number("ms")
    return Prepared(do=lambda: browser.sleep(ms))


def _switch_tab(browser: Browser, given: Arguments) -> Prepared:
    tab = given.words("id")
    return Prepared(do=lambda: browser.switch_tab(tab))


def _close_tab(browser: Browser, given: Arguments) -> Prepared:
    tab = given.words("id") if len(given) else None
    return Prepared(do=lambda: browser.close_tab(tab))


def _on_dialog(browser: Browser, given: Arguments) -> Prepared:
    answer = given.rest()[:1] or [None]
    if isinstance(answer[0], bool):
        answer = [{"accept": answer[0]}]
    if not isinstance(answer[0], Mapping | None):
        raise InvalidInput("onDialog: give {accept: true} or null")
    words = answer[0]
    told = None if words is None else DialogAnswer(accept=bool(words.get("accept")), text=str(words.get("text") or ""))
    return Prepared(do=lambda: browser.on_dialog(told))


def _plain(verb: Callable[[Browser], Awaitable[Any]]) -> Prepare:
    return lambda browser, _: Prepared(do=lambda: verb(browser))


VERBS: Mapping[str, Prepare] = {
    "goto": _goto,
    "click": _click,
    "type": _type,
    "select": _select,
    "check": _check,
    "press": _press,
    "scroll": _scroll,
    "hover": _hover,
    "doubleClick": _double_click,
    "rightClick": _right_click,
    "drag": _drag,
    "upload": _upload,
    "mark": _mark,
    "unmark": _plain(Browser.unmark),
    "clickMark": _click,
    "typeMark": _type,
    "look": _look,
    "markdown": _plain(Browser.markdown),
    "text": _text,
    "value": _value,
    "eval": _eval,
    "url": _plain(Browser.url),
    "title": _plain(Browser.title),
    "back": _plain(Browser.back),
    "forward": _plain(Browser.forward),
    "reload": _plain(Browser.reload),
    "waitVisible": _wait_visible,
    "waitReady": _wait_ready,
    "waitText": _wait_text,
    "waitUrl": _wait_url,
    "sleep": _sleep,
    "ask": _ask,
    "askMarks": _ask_marks,
    "tabs": _plain(Browser.tabs),
    "switchTab": _switch_tab,
    "closeTab": _close_tab,
    "dialogs": _plain(Browser.dialogs),
    "onDialog": _on_dialog,
    "downloads": _plain(Browser.downloads),
}
"""JS name -> how its arguments are read."""


def as_json(value: Any) -> Json:
    """What a verb gave, as a script gets it; where a download lies on this machine is no script's business."""
    if isinstance(value, Receipt | Mark):
        return value.to_dict()
    if isinstance(value, Download):
        return {name: item for name, item in asdict(value).items() if name != "path"}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
