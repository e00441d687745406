"""Every error the library raises, in one tree.

AgentLoopError
├── WorldError                 what the world did; the caller may retry or report it
│   ├── ModelError             the model's endpoint failed
│   │   ├── ModelAuthError     it refused the key
│   │   ├── ContextOverflow    the request is longer than the model's window
│   │   └── RepliesUsedUp      a scripted model has nothing left to say
│   ├── SandboxError           the script's process could not be started or kept
│   ├── DriverError            the browser could not do what was asked
│   │   ├── BrowserNotFound    no browser on this machine
│   │   ├── BrowserLost        the browser or its page died
│   │   ├── NavigationError    a page could not be opened (DNS, connect, 5xx, download)
│   │   ├── DriverTimeout      a bounded wait ended
│   │   └── TargetError        the thing to act on is not there, or not so
│   ├── Refused                policy or boundary said no
│   │   ├── PolicyDenied       a policy or a person declined the call
│   │   └── RequestRefused     the network boundary declined a request; names host and rule
│   ├── NobodyThere            a question was open and nobody could answer it
│   ├── FileConflict           a file was changed by somebody else in between
│   └── StoreError             the store could not read or write
│       ├── RunOwned           a living process works on this run
│       └── StaleEpoch         another process owns this run now
└── CallerError                the caller's mistake; retrying does not help
    ├── InvalidInput           an argument, flag, pattern or file is not usable
    ├── UnknownSession         no such session or run
    ├── DriverBusy             a one-session driver already serves a session
    └── Closed                 used after it was closed

EndRun and EndTurn are no errors: a primitive raises them to end the run or the
turn from host code. They never cross into JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentloop.records import Status

__all__ = [
    "AgentLoopError",
    "BrowserLost",
    "BrowserNotFound",
    "CallerError",
    "Closed",
    "ContextOverflow",
    "DriverBusy",
    "DriverError",
    "DriverTimeout",
    "EndRun",
    "EndTurn",
    "FileConflict",
    "InvalidInput",
    "ModelAuthError",
    "ModelError",
    "NavigationError",
    "NobodyThere",
    "PolicyDenied",
    "Refused",
    "RepliesUsedUp",
    "RequestRefused",
    "RunOwned",
    "SandboxError",
    "StaleEpoch",
    "StoreError",
    "TargetError",
    "UnknownSession",
    "WorldError",
    "refuse_text",
]


class AgentLoopError(Exception):
    """Base of everything below."""


class WorldError(AgentLoopError):
    """Something outside this process failed or said no."""


class ModelError(WorldError):
    """The model's endpoint failed: unreachable, an error status, an error frame, or a cut stream.

    `status` is the HTTP status where there was one.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ModelAuthError(ModelError):
    """The endpoint refused the credentials (401, 403)."""


class ContextOverflow(ModelError):
    """The endpoint says that the request exceeds the model's context window."""


class RepliesUsedUp(ModelError):
    """A scripted model was asked once more than it has replies."""


class SandboxError(WorldError):
    """The script's process could not be started, or isolation is weaker than required."""


class DriverError(WorldError):
    """The browser could not do what was asked of it."""


class BrowserNotFound(DriverError):
    """No usable browser was found; the message names the places tried and the ways on."""


class BrowserLost(DriverError):
    """The browser, its context or its page died and could not be recovered."""


class NavigationError(DriverError):
    """A page could not be opened: DNS, connection, TLS, a download instead of a page, a bad scheme."""

    def __init__(self, message: str, *, url: str = "") -> None:
        super().__init__(message)
        self.url = url


class DriverTimeout(DriverError):
    """A wait ended at its bound. The message says for what and how long (seconds)."""


class TargetError(DriverError):
    """The element to act on is missing, gone, changed, covered, disabled or ambiguous.

    `reason` is one of: missing, gone, changed, covered, disabled, hidden, stale,
    mismatch, unfit. Nothing was done when this is raised.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Refused(WorldError):
    """A policy, a person or the network boundary said no."""


class PolicyDenied(Refused):
    """A policy or a person declined a call; the message carries the reason."""


class RequestRefused(Refused):
    """The network boundary declined a request. `host` and `rule` say which and why."""

    def __init__(self, message: str, *, host: str, rule: str) -> None:
        super().__init__(message)
        self.host = host
        self.rule = rule


class FileConflict(WorldError):
    """A file is not as it was when its change was decided; nothing was written."""


class NobodyThere(WorldError):
    """A question was asked and nobody can answer it: no terminal, or its end. It is no refusal."""


class StoreError(WorldError):
    """The store could not be opened, read or written."""


class RunOwned(StoreError):
    """A run was claimed while its owner still lives; the message names the owner."""


class StaleEpoch(StoreError):
    """A write carried an older epoch than the run's: another process took the run over."""


class CallerError(AgentLoopError):
    """The calling code, command line or file asked for something impossible."""


class InvalidInput(CallerError):
    """An argument, flag, pattern or file is not usable; the message says what to give instead."""


class UnknownSession(CallerError):
    """No session or run has this id."""


class DriverBusy(CallerError):
    """A driver that serves one session at a time was asked to serve a second."""


class Closed(CallerError):
    """The object was used after it was closed."""


class EndRun(Exception):
    """Raised by a primitive to end the run with `status`, from host code.

    The sandbox stops answering, kills its child and re-raises it with `outcome`
    set to what the script had produced so far (an `Outcome` of `sandbox.base`).
    """

    def __init__(self, status: Status, reason: str = "", data: Any = None) -> None:
        super().__init__(f"{status}: {reason}" if reason else str(status))
        self.status = status
        self.reason = reason
        self.data = data
        self.outcome: Any = None


class EndTurn(Exception):
    """Raised by a primitive to end this turn only; `data` is the feedback for the next one."""

    def __init__(self, reason: str = "", data: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.data = data
        self.outcome: Any = None


def refuse_text(name: str, given: object, *, of: str = "texts") -> None:
    """Raises `InvalidInput` when `given` for the argument `name` is one text: it would be read letter by letter."""
    if isinstance(given, str | bytes):
        raise InvalidInput(f"{name} takes a list of {of}, not one text: [{given!r}]")
