"""Scripts run in the real sandbox, with packs that were built as a run builds them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agentloop.capabilities import BuildContext, Capability
from agentloop.guard.grants import Grant
from agentloop.guard.policy import Policy
from agentloop.packs.base import Pack
from agentloop.records import Json
from agentloop.sandbox import Outcome, open_sandbox
from agentloop.sandbox.host import ProcessSandbox

__all__ = ["Person", "Scripts", "scripts_with"]


@dataclass
class Person:
    """Who is asked; `answer` is given to every question, after what `meanwhile` does."""

    answer: bool = False
    meanwhile: Any = None
    asked: list[tuple[str, Grant]] = field(default_factory=list)

    async def ask(self, message: str, *, kind: str = "confirm", grant: Grant, **scopes: object) -> bool:
        self.asked.append((message, grant))
        if self.meanwhile is not None:
            self.meanwhile()
        return self.answer


@dataclass
class Scripts:
    """A sandbox with one pack, and what the run was told."""

    sandbox: ProcessSandbox
    pack: Pack
    events: list[dict[str, Json]]

    async def run(self, body: str) -> Outcome:
        return await self.sandbox.run(f"function run(args) {{ {body} }}")

    async def value(self, expression: str) -> Any:
        """What the expression is worth. An error in it fails the test."""
        outcome = await self.run(f"return ({expression})")
        assert outcome.error is None, outcome.error
        return None if outcome.value_json is None else json.loads(outcome.value_json)

    async def error(self, expression: str) -> str:
        """Name and message of what the expression throws, caught by the script itself."""
        outcome = await self.run(f"try {{ {expression} }} catch (e) {{ return e.name + ': ' + e.message }}")
        assert outcome.error is None, outcome.error
        assert outcome.value_json is not None, "nothing was thrown"
        thrown: str = json.loads(outcome.value_json)
        return thrown

    def notes(self) -> str:
        """What was said beside the results since the last time."""
        assert self.pack.receipts is not None
        return "\n".join(self.pack.receipts())


@asynccontextmanager
async def scripts_with(
    capability: Capability, *, policy: Policy | None = None, person: Person | None = None
) -> AsyncIterator[Scripts]:
    events: list[dict[str, Json]] = []

    async def emit(type: str, **fields: Json) -> None:
        events.append({"type": type, **fields})

    context = BuildContext(policy=policy, ask=person.ask if person else None, emit=emit)
    [pack] = await capability.build(context)
    try:
        async with open_sandbox(packs=[pack]) as sandbox:
            yield Scripts(sandbox=sandbox, pack=pack, events=events)
    finally:
        if pack.aclose is not None:
            await pack.aclose()
