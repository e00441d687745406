"""What a script may call: packs of primitives, each with the declarations the model reads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from agentloop.errors import InvalidInput

__all__ = ["Call", "Observation", "Pack", "Primitive"]

Call: TypeAlias = Callable[..., Awaitable[Any]]
"""Takes the script's arguments as JSON values (missing trailing ones are not passed) and returns a JSON value."""


_NAME: Final = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}", re.ASCII)
_REQUIRED: Final = re.compile(r"@?[\w.-]+(?:/[\w.-]+)*", re.ASCII)
_CALLED: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", re.ASCII)


@dataclass(frozen=True)
class Primitive:
    """One host coroutine that scripts can call.

    Raising any `Exception` reaches the script as a catchable JS `Error` with the exception's class
    name and message; `EndRun` and `EndTurn` end the run or the turn instead and are not catchable.
    `exclusive`: calls of one pack's exclusive primitives run one at a time, in the order made.
    `untrusted`: what it returns may hold text written by strangers, so the turn's result is fenced.
    """

    call: Call
    exclusive: bool = False
    untrusted: bool = False


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a pack shows the model before each call: the page as it is now, say. Never stored.

    It is fenced unless `untrusted` is False: for text of the host, or strangers' text so written that no line of
    it can pass for one of the host's (`guard.fence`).
    """

    text: str
    untrusted: bool = True


def _no_primitives() -> Mapping[str, Primitive]:
    return {}


def _no_text() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Pack:
    """A named set of primitives.

    `primitives` maps dotted JS names ("fetch", "browser.click") to primitives; `modules` maps names
    for `require` to CommonJS source; `functions` maps names to the bodies of functions of `args` that scripts
    call as globals or `require`; `help` maps JS names to help text; `declarations` is the text
    of a `.d.ts` file and goes into the system prompt ("" = nothing), `prose` what stands there behind all
    declarations. One that `gives_way` is left out, with a warning, where its names are taken; other packs that
    clash are an error. `observe` is awaited before
    each model call; `receipts` is taken once after each script: lines about what its calls did. `save`
    is awaited after each turn: bytes with which another process can go on (a secret; the next build gets
    them as `BuildContext.state`; one pack of a run may have it). `renew` is awaited when a pack that was kept gets
    its next run: what it raises, `EndRun` excepted, has the pack built afresh. `aclose` is awaited once, when the
    run ends or the pack is kept no longer.
    """

    name: str
    description: str
    kind: Literal["pack", "module", "prompt"] = "pack"
    declarations: str = ""
    help: Mapping[str, str] = field(default_factory=_no_text)
    primitives: Mapping[str, Primitive] = field(default_factory=_no_primitives)
    modules: Mapping[str, str] = field(default_factory=_no_text)
    functions: Mapping[str, str] = field(default_factory=_no_text)
    prose: str = ""
    gives_way: bool = False
    observe: Callable[[], Awaitable[Observation | None]] | None = None
    receipts: Callable[[], tuple[str, ...]] | None = None
    save: Callable[[], Awaitable[bytes | None]] | None = None
    renew: Callable[[], Awaitable[None]] | None = None
    aclose: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        """Raises `InvalidInput` for a name that scripts could not use; what is taken shows when packs meet."""
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                f"a pack cannot be called {self.name!r}: use ASCII letters, digits, _, - and .; rename it"
            )
        for name in (*self.primitives, *self.functions):
            if not _CALLED.fullmatch(name):
                raise InvalidInput(
                    f"pack {self.name!r}: a primitive cannot be called {name!r} in JavaScript; rename it"
                )
        for name in self.modules:
            if not _REQUIRED.fullmatch(name):
                raise InvalidInput(f"pack {self.name!r}: a module cannot be called {name!r}; rename it")
