"""A page script in one document, called over the protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession

from agentloop.drivers.frame_tree import FrameRecord
from agentloop.errors import DriverError
from agentloop.records import Json

__all__ = ["Installed", "value_of"]


@dataclass(frozen=True, kw_only=True)
class Installed:
    """The function `function` of the script `name` in the document of `record`, reached through `cdp`.

    Calls raise what Playwright raises, `DriverError` for what the script throws.
    """

    record: FrameRecord
    cdp: CDPSession
    function: str
    name: str

    async def ask(self, argument: Json) -> Json:
        """The script's answer."""
        text = (await self.call(_source("call.js"), [_text(argument)])).get("value")
        return None if text is None else json.loads(text)

    async def ask_for_object(self, argument: Json, *, group: str) -> str | None:
        """The remote object that the script answers with; the caller releases its group."""
        answer = await self.call(_source("call_for_object.js"), [_text(argument)], group=group)
        found: str | None = answer.get("objectId")
        return found

    async def call(self, declaration: str, arguments: Sequence[dict[str, Json]], *, group: str = "") -> dict[str, Any]:
        """What a function of ours gives that is called on the script: by value, or as an object of `group`."""
        answer = await self.cdp.send(
            "Runtime.callFunctionOn",
            {
                "objectId": self.function,
                "functionDeclaration": declaration,
                "arguments": list(arguments),
                "awaitPromise": True,
                "returnByValue": not group,
                "objectGroup": group,
            },
        )
        return value_of(answer, self.name)


def value_of(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """The remote object of an answer. Raises `DriverError` when the script threw."""
    if details := answer.get("exceptionDetails"):
        thrown = details.get("exception", {})
        raise DriverError(f"{name}: {thrown.get('description') or thrown.get('value') or details.get('text')}")
    result: dict[str, Any] = answer["result"]
    return result


def _text(argument: Json) -> dict[str, Json]:
    return {"value": json.dumps(argument)}


@cache
def _source(name: str) -> str:
    return files("agentloop.drivers").joinpath(name).read_text(encoding="utf-8").partition("\n")[2]
