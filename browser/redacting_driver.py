"""A driver that says nothing of the secrets: whatever comes from a page has passed through here."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from agentloop.browser import abilities
from agentloop.browser.abilities import PageScript, Watched
from agentloop.browser.base import Driver
from agentloop.browser.masking import Mask
from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.guard.secrets import Secrets
from agentloop.records import Json

__all__ = ["redacting_driver"]


def redacting_driver(driver: Driver, secrets: Secrets) -> Driver:
    """The driver with each secret in what it tells replaced by its placeholder, and covered in its pictures.

    It has the abilities that `driver` has, and no more. Recordings are refused: they hold what the page holds.
    Secrets that are bound later count from then on.
    """
    if isinstance(driver, _Redacting):
        return driver
    methods: dict[str, Any] = {}
    for protocol in (Driver, *_protocols()):
        names = [name for name in vars(protocol) if not name.startswith("_")]
        if all(hasattr(driver, name) for name in names):
            methods |= {name: _method(name, getattr(protocol, name)) for name in names}
    kind = type("RedactingDriver", (_Redacting,), methods)
    return cast(Driver, kind(driver, secrets))


def _protocols() -> list[Any]:
    found = [getattr(abilities, name) for name in abilities.__all__]
    return [each for each in found if getattr(each, "_is_runtime_protocol", False)]


class _Redacting:
    def __init__(self, driver: Driver, secrets: Secrets) -> None:
        self.inner = cast(Any, driver)
        self.secrets = secrets
        self.mask = Mask(driver, secrets)
        self.contexts: dict[str, str] = {}


def _method(name: str, declared: Callable[..., Any]) -> Any:
    if name in _OWN:
        return _OWN[name]
    if not inspect.iscoroutinefunction(declared):
        return lambda self, *given, **named: getattr(self.inner, name)(*given, **named)

    async def method(self: _Redacting, *given: Any, **named: Any) -> Any:
        return self.secrets.hide(await _told(self, name, *given, **named))

    return method


async def _told(self: _Redacting, name: str, *given: Any, **named: Any) -> Any:
    try:
        return await getattr(self.inner, name)(*given, **named)
    except AgentLoopError as error:
        raise self.secrets.hide_error(error) from None


async def _eval(self: _Redacting, expression: str) -> Json:
    return self.secrets.hide(await _told(self, "eval", expression), numbers=True)


async def _run_script(self: _Redacting, frame: str, script: PageScript, argument: Json) -> Json:
    told = await _told(self, "run_script", frame, script, _with_context(self, argument))
    shown = self.secrets.hide(told)
    if isinstance(told, Mapping) and isinstance(told.get("marks"), list) and shown != told:
        pairs = zip(shown["marks"], told["marks"], strict=True)
        self.contexts |= {new["context"]: old["context"] for new, old in pairs if new.get("context")}
    return shown


def _with_context(self: _Redacting, argument: Json) -> Json:
    # What stood beside a mark goes back to its page as the page had it, to be compared there.
    if not isinstance(argument, Mapping) or not isinstance(argument.get("context"), str):
        return argument
    return {**argument, "context": self.contexts.get(argument["context"], argument["context"])}


@asynccontextmanager
async def _watch(self: _Redacting) -> AsyncIterator[Watched]:
    async with self.inner.watch() as watched:
        yield watched
    watched.effects = self.secrets.hide(watched.effects)


async def _screenshot(self: _Redacting) -> bytes:
    return await self.mask.covered(partial(_told, self, "screenshot"))


async def _capture(self: _Redacting, **how: Any) -> bytes:
    return await self.mask.covered(partial(_told, self, "capture", **how), **how)


async def _start_recording(self: _Redacting, folder: str, *, trace: bool = False) -> None:
    if self.secrets and not self.secrets.may_be_recorded:
        raise InvalidInput("a recording would hold the secrets of this run: none is made")
    await _told(self, "start_recording", folder, trace=trace)


_OWN: Mapping[str, Any] = {
    "eval": _eval,
    "run_script": _run_script,
    "watch": _watch,
    "screenshot": _screenshot,
    "capture": _capture,
    "start_recording": _start_recording,
}
