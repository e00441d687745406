"""`ai` and `aiJSON`: a script asks a model; what that costs counts for the run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput, ModelError
from agentloop.guard.fence import fence
from agentloop.llm.base import LLM, Message, ModelRequest
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.options import Options
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, text, words
from agentloop.records import Json

__all__ = ["ai_capability", "ai_pack", "json_values", "without_fence"]

_DESCRIPTION: Final = "Asks a model."
_FENCE: Final = re.compile(r"```[^\n`]*\n(?P<inside>.*?)\n?```", re.DOTALL)
_TRIES: Final = 2
_SHOWN: Final = 200
_STARTS_TRIED: Final = 100
_START: Final = re.compile(r"[\[{]")


def ai_capability(*, model: str = "") -> Capability:
    """`ai` and `aiJSON` on the run's own client; without one there is no pack."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        if context.llm is None:
            return []
        return [await ai_pack(context.llm, Permission(context), model=model)]

    return Capability(name="ai", description=_DESCRIPTION, build=build)


async def ai_pack(llm: LLM, permission: Permission | None = None, *, model: str = "") -> Pack:
    """`ai`, `aiJSON` and the module with both. `model` "" is the client's default; the pack does not close it."""
    permission = permission or Permission()
    declarations = text("ai.d.ts")
    calls = _Calls(llm, permission, model)
    return Pack(
        name="ai",
        description=_DESCRIPTION,
        declarations=declarations,
        help=help_texts(declarations),
        primitives={"ai": Primitive(calls.ai, untrusted=True), "aiJSON": Primitive(calls.ai_json, untrusted=True)},
        modules=await permission.modules({"ai": text("ai.js")}),
    )


def without_fence(reply: str) -> str:
    """The reply trimmed, and taken out of a code fence that encloses all of it."""
    reply = reply.strip()
    match = _FENCE.fullmatch(reply)
    return match["inside"].strip() if match and "```" not in match["inside"] else reply


def json_values(reply: str) -> Iterator[Any]:
    """The JSON values that a reply may mean: all of it, what is fenced in it, what stands in its prose."""
    for candidate in (reply.strip(), *(match["inside"] for match in _FENCE.finditer(reply))):
        try:
            yield json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    decoder = json.JSONDecoder()
    at, tried = 0, 0
    while tried < _STARTS_TRIED and (start := _START.search(reply, at)) is not None:
        tried += 1
        try:
            value, at = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            at = start.end()
            continue
        yield value


@dataclass(frozen=True, kw_only=True)
class _Task:
    prompt: str
    system: str

    @classmethod
    def read(cls, tool: str, prompt: Json, options: Json) -> _Task:
        if not isinstance(prompt, str) or not prompt.strip():
            raise InvalidInput(f"{tool} needs a prompt: a text that says what to answer")
        given = Options({"system": options} if isinstance(options, str) else options, ("system", "input"))
        return cls(prompt=prompt + _fenced(given.value("input")), system=given.text("system") or "")


class _Calls:
    def __init__(self, llm: LLM, permission: Permission, model: str) -> None:
        self._llm = llm
        self._permission = permission
        self._model = model

    async def ai(self, prompt: Json = None, options: Json = None) -> str:
        task = _Task.read("ai", prompt, options)
        await self._permission.need("ai", prompt=str(prompt))
        messages = [*_system(task.system), Message("user", task.prompt)]
        return without_fence(await self._complete("ai", messages))

    async def ai_json(self, prompt: Json = None, schema: Json = None, options: Json = None) -> Json:
        task = _Task.read("aiJSON", prompt, options)
        wrong = _judge(schema)
        await self._permission.need("ai", prompt=str(prompt))
        suffix = words("ai.md")["json"]
        if schema is not None:
            suffix = words("ai.md")["json_schema"].replace("{schema}", json.dumps(schema, ensure_ascii=False))
        messages = [
            *_system("\n\n".join(filter(None, [task.system, words("ai.md")["json_system"]]))),
            Message("user", f"{task.prompt}\n\n{suffix}"),
        ]
        for _ in range(_TRIES):
            reply = await self._complete("aiJSON", messages)
            value, problems = _fitting(reply, wrong)
            if not problems:
                return value
            again = words("ai.md")["again"].replace("{problems}", "\n".join(f"- {problem}" for problem in problems))
            messages = [*messages, Message("assistant", reply), Message("user", again)]
        raise ModelError(f"aiJSON: {'; '.join(problems)}. The model said: {_short(reply)}")

    async def _complete(self, tool: str, messages: list[Message]) -> str:
        asked = _short(messages[-1].text)
        try:
            reply = await self._llm.complete(ModelRequest(messages=messages, model=self._model))
        except ModelError as error:
            await self._tell(tool, f"{asked}: failed: {_short(str(error))}", failed=type(error).__name__)
            raise
        await self._tell(tool, f"{asked}: {len(reply.content)} characters", chars=len(reply.content))
        return reply.content

    async def _tell(self, tool: str, content: str, **args: Json) -> None:
        await self._permission.tell("act", content=f"{tool} {content}", tool=tool, args={"verb": tool, **args})


def _system(system: str) -> list[Message]:
    return [Message("system", system)] if system.strip() else []


def _fenced(value: Json) -> str:
    if value is None:
        return ""
    inside = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "\n\n" + words("ai.md")["input"].replace("{input}", fence(inside))


def _judge(schema: Json) -> Callable[[Any], list[str]]:
    """What tells the problems of a value; everything fits no schema. Raises `InvalidInput` for what is none."""
    if schema is None:
        return lambda value: []
    from agentloop.packs.schema import Schema

    return Schema(schema).problems


def _fitting(reply: str, wrong: Callable[[Any], list[str]]) -> tuple[Any, list[str]]:
    """The first value of the reply that fits, or what is wrong with the first one."""
    problems: list[str] = []
    for value in json_values(reply):
        found = wrong(value)
        if not found:
            return value, []
        problems = problems or found
    return None, problems or ["the answer holds no JSON value"]


def _short(words: str) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
