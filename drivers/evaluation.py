"""Expressions in a page's main world, by value and bounded."""

from __future__ import annotations

import math
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from agentloop.errors import DriverError, DriverTimeout
from agentloop.records import Json

__all__ = ["evaluate"]

_NOT_JSON = ("Object reference chain is too long", "couldn't be returned by value")


async def evaluate(cdp: CDPSession, expression: str, *, seconds: float) -> Json:
    """The JSON value of the expression; a promise is awaited by the caller's own bound.

    Top-level `await` works and a name may be declared again. Raises `DriverError` with the exception's
    text, `DriverTimeout` when a script that never ends was stopped.
    """
    answer = await _send(cdp, expression, seconds=seconds, repl=False)
    if _was_never_run(answer):
        # The console's mode takes `await` and repeated `const`, but does not wait for promises otherwise.
        answer = await _send(cdp, expression, seconds=seconds, repl=True)
    if details := answer.get("exceptionDetails"):
        raise DriverError(f"eval: {_thrown(details)}")
    return _json(answer["result"])


async def _send(cdp: CDPSession, expression: str, *, seconds: float, repl: bool) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await cdp.send(
            "Runtime.evaluate",
            {
                "expression": expression,
                "awaitPromise": True,
                "returnByValue": True,
                "userGesture": True,
                "replMode": repl,
                "timeout": seconds * 1000,
            },
        )
    except PlaywrightError as error:
        # This is how the protocol reports that its own time-out ended the script.
        if "Execution was terminated" in str(error) or "Internal error" in str(error):
            raise DriverTimeout(f"eval did not end within {seconds:g} s and was stopped") from None
        if any(words in str(error) for words in _NOT_JSON):
            raise DriverError("eval: the value cannot be written as JSON; return text, numbers or plain data") from None
        raise
    return answer


def _was_never_run(answer: dict[str, Any]) -> bool:
    details = answer.get("exceptionDetails", {})
    return details.get("exception", {}).get("className") == "SyntaxError" and "stackTrace" not in details


def _thrown(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    text = thrown.get("description") or thrown.get("value") or details.get("text", "it failed")
    return str(text).partition("\n")[0]


def _json(result: dict[str, Any]) -> Json:
    if "unserializableValue" not in result:
        return result.get("value")
    text = result["unserializableValue"]
    if result["type"] == "bigint":
        return int(text.removesuffix("n"))
    number = float(text)
    return number if math.isfinite(number) else None
