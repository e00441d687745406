"""Checks JavaScript that a pack is to bring, in the real engine and without running it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack
from agentloop.sandbox.base import Limits
from agentloop.sandbox.host import open_sandbox
from agentloop.sandbox.toolbox import Toolbox
from agentloop.sandbox.zygote import Engine

__all__ = ["validate_module_code"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIMITS: Final = Limits(wall_s=5.0)


async def validate_module_code(name: str, code: str, *, packs: Sequence[Pack] = (), engine: Engine = "auto") -> None:
    """Returns when `code` can be the body of a function of this name beside `packs`; opens a sandbox for it.

    Raises `InvalidInput` with what is wrong: a name that is none, that JavaScript, the sandbox or one of the packs
    has, or code that does not compile, with its line.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} can be no function's name: use letters, digits and _, no digit first")
    Toolbox([*packs, Pack(name=name, description="", functions={name: code})])
    async with open_sandbox(packs=packs, limits=_LIMITS, engine=engine) as sandbox:
        outcome = await sandbox.run(_script(), json.dumps({"name": name, "code": code}))
    if outcome.error is not None:
        raise InvalidInput(f"{name}: the code could not be checked: {outcome.error.message}")
    _judge(name, json.loads(outcome.value_json or "null"))


def _judge(name: str, found: dict[str, Any] | None) -> None:
    if found is None:
        return
    if found.get("taken"):
        raise InvalidInput(f"{name!r} is the name of something that every script has: take another one")
    if found.get("reserved"):
        raise InvalidInput(f"{name!r} is a word of JavaScript: take another one")
    raise InvalidInput(f"{name}: the code does not compile: {found['message']} (line {found['line']})")


def _script() -> str:
    return (resources.files("agentloop.sandbox") / "function_code.js").read_text("utf-8")
