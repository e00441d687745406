"""The library's own log lines without the secrets of the run that writes them."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from agentloop.guard.redact import Redactor

__all__ = ["logger", "redacting"]

_CURRENT: Final[ContextVar[Redactor | None]] = ContextVar("agentloop-redactor", default=None)


def logger(name: str) -> logging.Logger:
    """`logging.getLogger(name)`, whose lines lose the secrets of the run in whose course they are written."""
    found = logging.getLogger(name)
    found.addFilter(_redacted)
    return found


@contextmanager
def redacting(redactor: Redactor) -> Iterator[None]:
    """Takes this redactor's secrets out of what is logged inside of the block, tasks begun in it included."""
    token = _CURRENT.set(redactor)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _redacted(record: logging.LogRecord) -> bool:
    redactor = _CURRENT.get()
    if not redactor:
        return True
    record.msg, record.args = redactor.text(record.getMessage()), ()
    if record.exc_info and record.exc_info[1] is not None:
        # The text stands in for the error, which a handler could write out once more.
        record.exc_text = redactor.text("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
        record.exc_info = None
    return True
