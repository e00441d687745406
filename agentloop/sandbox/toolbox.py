"""What the scripts of one sandbox may call, put together from its packs and the core."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from agentloop.capabilities import Emit
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive

__all__ = ["CALL_NOTE", "CORE_NAMES", "Tool", "Toolbox", "core_declarations", "resolve_clashes"]

CALL_NOTE: Final = "@call"
"""What the prelude tells of each call of a pack's function. No script can name it."""

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

EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError AggregateError SuppressedError
Iterator DisposableStack AsyncDisposableStack FinalizationRegistry DOMException SharedArrayBuffer Int8Array Uint8Array
Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array
Float64Array
"""
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)
_DECLARATION: Final = re.compile(r"/\*\* (?P<text>.+?) \*/\n(?P<code>declare (?:function|const) (?P<name>\w+).*)")
_LONGEST_SLEEP_MS: Final = 30_000
_LONGEST_NOTE: Final = 1_000


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

    def __init__(self, packs: Sequence[Pack], *, emit: Emit | None = None) -> None:
        self.tools = dict(_core_tools(emit))
        self.packs: list[Pack] = []
        self._help = dict(_core_help())
        self._modules: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._owners = {name.casefold(): "what every script has" for name in CORE_NAMES}
        for pack in packs:
            self.add(pack)

    def add(self, pack: Pack) -> None:
        """Adds a pack. Raises `InvalidInput` when it clashes; then nothing is added."""
        self._check(pack)
        lock = asyncio.Lock()
        for name, primitive in pack.primitives.items():
            self.tools[name] = _tool(name, primitive, lock if primitive.exclusive else None)
        self._modules |= pack.modules
        self._functions |= pack.functions
        self._help |= pack.help
        self.packs.append(pack)
        for kind, name in _names(pack):
            self._owners.setdefault(name.casefold(), f"{kind} of pack {pack.name!r}" if kind else "another pack")

    def _check(self, pack: Pack) -> None:
        if pack.gives_way:
            self._check_free(pack)
        if any(pack.name == other.name for other in self.packs):
            raise InvalidInput(f"two packs are called {pack.name!r}: leave one of them out or rename it")
        for name in (*pack.primitives, *pack.functions):
            self._check_name(pack, name)
        for what, mine, theirs in (
            ("module", pack.modules, self._modules),
            ("module", pack.modules, self._functions),
            ("module", pack.modules, pack.functions),
            ("function", pack.functions, self._modules),
            ("help entry", pack.help, self._help),
        ):
            if name := next((name for name in mine if name in theirs), ""):
                raise InvalidInput(f"two packs have a {what} {name!r}: leave one of them out or rename it")

    def _check_free(self, pack: Pack) -> None:
        """A pack that gives way may have no name that anything else has, however it is used or spelt."""
        for _, name in _names(pack):
            if owner := self._owners.get(name.casefold()):
                which = "its name" if name == pack.name else f"its {name!r}"
                raise InvalidInput(f"{pack.name!r} is left out: {which} is taken by {owner}; rename it")

    def _check_name(self, pack: Pack, name: str) -> None:
        parts = name.split(".")
        if not _NAME.fullmatch(name) or parts[0] in _RESERVED.split() or parts[0] in CORE_NAMES:
            raise InvalidInput(f"pack {pack.name!r}: a primitive cannot be called {name!r} in JavaScript; rename it")
        if parts[-1] in ("async", "all", "name", "length", "prototype", "__proto__"):
            raise InvalidInput(f"pack {pack.name!r}: {name!r} ends in a name that every primitive has; rename it")
        both = name in pack.primitives and name in pack.functions
        if name in self.tools or name in self._functions or both:
            raise InvalidInput(f"two packs have a primitive {name!r}: leave one of them out or rename it")
        if name in pack.functions and any(tool.startswith(f"{name}.") for tool in self.tools):
            raise InvalidInput(f"pack {pack.name!r}: {name!r} holds the functions of another pack; rename it")

    def config(self) -> Mapping[str, Any]:
        """The child's part. What scripts read as data is JSON text already."""
        return {
            "names": [name for name in self.tools if name != CALL_NOTE],
            "functions": self._functions,
            "modules": self._modules,
            "module_names": json.dumps(sorted((*self._modules, *self._functions))),
            "help": json.dumps(self._help),
            "skills": json.dumps([_listed(pack) for pack in self.packs]),
        }


def resolve_clashes(packs: Sequence[Pack]) -> tuple[list[Pack], list[str]]:
    """The packs without those that have to give way, and in words why these were left out.

    Raises `InvalidInput` when others clash.
    """
    toolbox = Toolbox([pack for pack in packs if not pack.gives_way])
    why: list[str] = []
    for pack in packs:
        if pack.gives_way:
            try:
                toolbox.add(pack)
            except InvalidInput as error:
                why.append(str(error))
    return [pack for pack in packs if pack in toolbox.packs], why


def _names(pack: Pack) -> Iterator[tuple[str, str]]:
    """Every name that a pack takes up, with what it is the name of; "" for the pack itself."""
    for name in (*pack.primitives, *pack.functions):
        yield "a function", name
        yield "an object", name.split(".")[0]
    for name in pack.modules:
        yield "a module", name
    for name in pack.help:
        yield "a help entry", name
    yield "", pack.name


def _listed(pack: Pack) -> dict[str, str]:
    return {"name": pack.name, "description": pack.description, "type": pack.kind}


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


def _core_tools(emit: Emit | None) -> Iterator[tuple[str, Tool]]:
    yield "sleep", _tool("sleep", Primitive(_sleep), None)

    async def note(function: str, error: str = "") -> None:
        if emit is None:
            return
        content = f"{function} failed: {error[:_LONGEST_NOTE]}" if error else function
        await emit(
            "sandbox_event", content=content, args={"kind": "error" if error else "skill_call", "skill": function}
        )

    yield CALL_NOTE, _tool(CALL_NOTE, Primitive(note), None)


async def _sleep(ms: Any = 0) -> None:
    if isinstance(ms, bool) or not isinstance(ms, int | float):
        raise TypeError("sleep(ms) takes a number of milliseconds")
    await asyncio.sleep(min(max(ms, 0), _LONGEST_SLEEP_MS) / 1000)


def _core_help() -> Iterator[tuple[str, str]]:
    for match in _DECLARATION.finditer(core_declarations()):
        yield match["name"], f"{match['text']}\n\n{match['code'].removeprefix('declare ')}"
