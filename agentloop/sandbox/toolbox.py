"""What the scripts of one sandbox may call, put together from its packs and the core."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive

__all__ = ["CORE_NAMES", "Tool", "Toolbox", "core_declarations"]

CORE_NAMES: Final = (
    "answer",
    "args",
    "assert",
    "console",
    "fail",
    "help",
    "log",
    "parseUrl",
    "print",
    "require",
    "run",
    "skillGet",
    "skillList",
    "sleep",
    "text",
)
"""What every script has or defines whatever its packs; no pack may take these names."""

# JavaScript's words, and the globals that scripts and the prelude rely on.
_RESERVED: Final = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends
false finally for function if implements import in instanceof interface let new null package private protected
public return static super switch this throw true try typeof undefined var void while with yield

NaN Infinity globalThis Object Function Array String Number Boolean Symbol BigInt Math JSON Date RegExp Error
Promise Map Set WeakMap WeakSet WeakRef Proxy Reflect ArrayBuffer DataView Atomics parseInt parseFloat isNaN
isFinite encodeURIComponent decodeURIComponent encodeURI decodeURI escape unescape URL URLSearchParams
TextEncoder TextDecoder atob btoa structuredClone crypto performance queueMicrotask setTimeout setInterval
setImmediate requestAnimationFrame clearTimeout clearInterval
"""
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)
_DECLARATION: Final = re.compile(r"/\*\* (?P<text>.+?) \*/\n(?P<code>declare (?:function|const) (?P<name>\w+).*)")
_LONGEST_SLEEP_MS: Final = 30_000


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A primitive as the host calls it; `lock` is shared by a pack's exclusive ones."""

    name: str
    primitive: Primitive
    lock: asyncio.Lock | None
    least: int
    most: int | None

    def fitted(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments to pass. As everywhere in JavaScript, surplus ones are ignored."""
        if len(arguments) < self.least:
            raise TypeError(f"{self.name} needs {self.least} arguments, got {len(arguments)}")
        return arguments[: self.most]


def core_declarations() -> str:
    """The declarations of the core names, as the model reads them."""
    return (resources.files("agentloop.sandbox") / "core.d.ts").read_text("utf-8")


class Toolbox:
    """The tools by JavaScript name, and what the child has to know of them.

    Raises `InvalidInput` when two packs share a name, or a name is not one that JavaScript could use.
    """

    def __init__(self, packs: Sequence[Pack]) -> None:
        self.tools = dict(_core_tools())
        self._help = dict(_core_help())
        self._modules: dict[str, str] = {}
        _all_different(pack.name for pack in packs)
        for pack in packs:
            self._add(pack)
        self._skills = [{"name": p.name, "description": p.description, "type": p.kind} for p in packs]

    def _add(self, pack: Pack) -> None:
        lock = asyncio.Lock()
        for name, primitive in pack.primitives.items():
            self._check_name(pack, name)
            self.tools[name] = _tool(name, primitive, lock if primitive.exclusive else None)
        _merge("module", self._modules, pack.modules)
        _merge("help entry", self._help, pack.help)

    def _check_name(self, pack: Pack, name: str) -> None:
        parts = name.split(".")
        if not _NAME.fullmatch(name) or parts[0] in _RESERVED.split() or parts[0] in CORE_NAMES:
            raise InvalidInput(f"pack {pack.name!r}: a primitive cannot be called {name!r} in JavaScript; rename it")
        if parts[-1] in ("async", "all", "name", "length", "prototype", "__proto__"):
            raise InvalidInput(f"pack {pack.name!r}: {name!r} ends in a name that every primitive has; rename it")
        if name in self.tools:
            raise InvalidInput(f"two packs have a primitive {name!r}: leave one of them out or rename it")

    def config(self) -> Mapping[str, Any]:
        """The child's part. What scripts read as data is JSON text already."""
        return {
            "names": list(self.tools),
            "modules": self._modules,
            "module_names": json.dumps(sorted(self._modules)),
            "help": json.dumps(self._help),
            "skills": json.dumps(self._skills),
        }


def _tool(name: str, primitive: Primitive, lock: asyncio.Lock | None) -> Tool:
    least, most = _arity(primitive)
    return Tool(name=name, primitive=primitive, lock=lock, least=least, most=most)


def _arity(primitive: Primitive) -> tuple[int, int | None]:
    try:
        parameters = inspect.signature(primitive.call).parameters.values()
    except (TypeError, ValueError):
        return 0, None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 0, None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in positional), len(positional)


def _core_tools() -> Iterator[tuple[str, Tool]]:
    yield "sleep", _tool("sleep", Primitive(_sleep), None)


async def _sleep(ms: Any = 0) -> None:
    if isinstance(ms, bool) or not isinstance(ms, int | float):
        raise TypeError("sleep(ms) takes a number of milliseconds")
    await asyncio.sleep(min(max(ms, 0), _LONGEST_SLEEP_MS) / 1000)


def _core_help() -> Iterator[tuple[str, str]]:
    for match in _DECLARATION.finditer(core_declarations()):
        yield match["name"], f"{match['text']}\n\n{match['code'].removeprefix('declare ')}"


def _merge(what: str, into: dict[str, str], more: Mapping[str, str]) -> None:
    for name, text in more.items():
        if name in into:
            raise InvalidInput(f"two packs have a {what} {name!r}: leave one of them out or rename it")
        into[name] = text


def _all_different(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidInput(f"two packs are called {name!r}: leave one of them out or rename it")
        seen.add(name)
