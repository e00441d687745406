"""Skills that are code: JavaScript that a pack brings, called as a function or required."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack
from agentloop.packs.permission import Permission
from agentloop.packs.resources import words

__all__ = ["skill_module", "skill_module_capability"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_CODE: Final = 256 * 1024


def skill_module(name: str, code: str, description: str = "") -> Pack:
    """A pack with the function `name(args)`, whose body is `code`; also `require(name)`.

    Without an argument `args` is {}. A body with `await` makes it an async function. Each call is told as a
    `sandbox_event` of kind "skill_call", each failure as one of kind "error". Nothing is compiled here:
    `validate_module_code` does that. In a run, one whose name is taken is left out with a warning. Raises
    `InvalidInput` for a name that is none, and for code that is empty or beyond 256 KiB.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} can be no function's name: use letters, digits and _, no digit first")
    if not code.strip() or len(code) > _LONGEST_CODE:
        raise InvalidInput(f"{name}: the code is empty, or longer than {_LONGEST_CODE:,} characters")
    told = _one_line(description) or words("skill_module.md")["nameless"]
    signature = words("skill_module.md")["signature"].replace("{name}", name)
    return Pack(
        name=name,
        description=told,
        kind="module",
        declarations=f"/** {told.replace('*/', '* /')} */\ndeclare function {signature}\n",
        help={name: f"{description.strip() or told}\n\n{signature}"},
        functions={name: code},
        gives_way=True,
    )


def skill_module_capability(name: str, code: str, description: str = "") -> Capability:
    """`skill_module` for runs: where the policy denies the name, calling and requiring it throws the reason.

    Raises `InvalidInput` as `skill_module` does.
    """
    pack = skill_module(name, code, description)

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [await _permitted(pack, Permission(context))]

    return Capability(name=name, description=pack.description, build=build)


async def _permitted(pack: Pack, permission: Permission) -> Pack:
    return replace(pack, functions=await permission.modules(pack.functions))


def _one_line(text: str) -> str:
    return " ".join(text.split())
