"""Playwright's errors in the library's own tree."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from agentloop.errors import DriverError, InvalidInput, NavigationError, TargetError

__all__ = ["DOCUMENT_GONE", "first_line", "is_closed", "navigation_error", "target_error", "translated"]

DOCUMENT_GONE = (
    "Cannot find context with specified id",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
    "Could not find object with given id",
    "Cannot find object",
    "Argument should belong to the same JavaScript world",
)
"""What the protocol says when a call's document was replaced under it."""

_CLOSED = ("has been closed", "Target closed", "Session closed", "Target crashed", "Connection closed")
_BAD_SELECTOR = ("is not a valid selector", "while parsing", "Unexpected token", "Unknown engine", "Unsupported token")
_NET_WORDS = {
    "ERR_NAME_NOT_RESOLVED": "its host name is not known",
    "ERR_CONNECTION_REFUSED": "nothing answers there: the connection was refused",
    "ERR_CONNECTION_RESET": "the server cut the connection",
    "ERR_CONNECTION_CLOSED": "the server closed the connection",
    "ERR_CONNECTION_TIMED_OUT": "the server did not answer in time",
    "ERR_TIMED_OUT": "the server did not answer in time",
    "ERR_ADDRESS_UNREACHABLE": "its address cannot be reached",
    "ERR_INTERNET_DISCONNECTED": "this machine is offline",
    "ERR_EMPTY_RESPONSE": "the server sent nothing",
    "ERR_INVALID_RESPONSE": "the server's answer is not HTTP",
    "ERR_INVALID_HTTP_RESPONSE": "the server's answer is not HTTP",
    "ERR_TOO_MANY_REDIRECTS": "it redirects in a circle",
    "ERR_SSL_PROTOCOL_ERROR": "the server does not speak TLS there",
    "ERR_TUNNEL_CONNECTION_FAILED": "no connection could be made to it",
    "ERR_PROXY_CONNECTION_FAILED": "the session's proxy does not answer",
    "ERR_BLOCKED_BY_RESPONSE": "the server forbids showing it here",
    "ERR_UNSAFE_PORT": "browsers refuse to open that port",
    "ERR_INVALID_URL": "it is not a valid address",
    "ERR_HTTP_RESPONSE_CODE_FAILURE": "the server answered with an error and no page",
}
_NET_CODE = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_REASONS = (
    ("intercepts pointer events", "covered", "is covered by another element"),
    ("element is not visible", "hidden", "cannot be seen"),
    ("outside of the viewport", "hidden", "is outside of the viewport"),
    ("element is not enabled", "disabled", "is disabled"),
    ("element is not editable", "disabled", "cannot be edited"),
    ("element was detached", "gone", "kept being replaced"),
)


def first_line(error: BaseException) -> str:
    """The error's first line without the name of the method that Playwright puts before it."""
    line = str(error).partition("\n")[0].strip()
    return re.sub(r"^[A-Z]\w+\.\w+: (Protocol error \([\w.]+\): )?", "", line)


def is_closed(error: BaseException) -> bool:
    """True when the error says that the page, its context or the browser is gone."""
    return any(text in str(error) for text in _CLOSED)


def navigation_error(error: PlaywrightError, url: str) -> NavigationError:
    """Why `url` could not be opened, in plain words."""
    found = _NET_CODE.search(str(error))
    code = found[1] if found else ""
    if code.startswith("ERR_CERT"):
        words = "its TLS certificate is not trusted"
    else:
        words = _NET_WORDS.get(code, first_line(error).partition(" at ")[0])
    return NavigationError(f"{url} could not be opened: {words}" + (f" ({code})" if code else ""), url=url)


def target_error(error: PlaywrightError, selector: str) -> TargetError | None:
    """What kept the element from being used, read from Playwright's log of its attempts; None when it does not say."""
    text = str(error)
    for words, reason, phrase in _REASONS:
        if words in text:
            return TargetError(f"the element {selector!r} {phrase}", reason=reason)
    return None


def translated(error: PlaywrightError, what: str) -> DriverError | InvalidInput:
    """The error for anything that has no closer translation."""
    text = first_line(error)
    if any(words in text for words in _BAD_SELECTOR):
        return InvalidInput(f"{what}: not a CSS selector: {text}")
    return DriverError(f"{what}: {text}")
