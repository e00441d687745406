from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import InvalidInput
from agentloop.guard.policy import Decision, ToolCall
from agentloop.llm import Scripted
from agentloop.loop import Loop
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.skill_module import skill_module, skill_module_capability
from agentloop.records import Json, RunRequest
from agentloop.sandbox import Limits, open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from agentloop.stores.memory import MemoryStore

Told = list[dict[str, Json]]


@asynccontextmanager
async def opened(*packs: Pack, limits: Limits | None = None) -> AsyncIterator[tuple[ProcessSandbox, Told]]:
    told: Told = []

    async def emit(type: str, **fields: Json) -> None:
        told.append({"type": type, **fields})

    async with open_sandbox(packs=packs, emit=emit, limits=limits) as sandbox:
        yield sandbox, told


async def value(sandbox: ProcessSandbox, expression: str) -> Any:
    outcome = await sandbox.run(f"async function run() {{ return {expression} }}")
    assert outcome.error is None, outcome.error
    return json.loads(outcome.value_json or "null")


def kinds(told: Told) -> list[tuple[str, str]]:
    return [(event["args"]["kind"], event["content"]) for event in told]


DOUBLE = skill_module("double", "return (args.n ?? 0) * 2", "Doubles.\nA number n.")


async def test_it_is_a_function_and_a_module() -> None:
    async with opened(DOUBLE) as (sandbox, told):
        assert await value(sandbox, "[double({n: 4}), require('double')({n: 5}), double(), double(null)]") == [
            8,
            10,
            0,
            0,
        ]
        assert await value(sandbox, "[require('double') === double, double.name]") == [True, "double"]
    assert kinds(told) == [("skill_call", "double")] * 4
    assert {event["type"] for event in told} == {"sandbox_event"}


async def test_help_and_discovery_tell_of_it() -> None:
    async with opened(DOUBLE, skill_module("bare", "return 1")) as (sandbox, _):
        assert (
            await value(sandbox, "[help('double'), skillGet(double.name)]")
            == ["Doubles.\nA number n.\n\ndouble(args?: object): any;"] * 2
        )
        listed = await value(sandbox, "skillList()")
    assert [sorted(one) for one in listed] == [["description", "name", "type"]] * 2
    assert listed[0] == {"name": "double", "description": "Doubles. A number n.", "type": "module"}
    assert DOUBLE.declarations == "/** Doubles. A number n. */\ndeclare function double(args?: object): any;\n"


def test_a_description_cannot_end_its_comment() -> None:
    pack = skill_module("x", "return 1", "a */ declare function exec(): any; /* b\n```\n")
    assert pack.declarations.count("*/") == 1
    assert len(pack.declarations.splitlines()) == 2


async def _stock(name: str) -> int:
    return 12


async def test_it_sees_what_scripts_see() -> None:
    shop = Pack(name="shop", description="", primitives={"shop.stock": Primitive(_stock)})
    enough = skill_module("enough", "log('looking'); return shop.stock(args.name) > args.least")
    async with opened(shop, enough) as (sandbox, _):
        assert await value(sandbox, "enough({name: 'socks', least: 3})") is True


async def test_a_body_may_wait() -> None:
    slow = skill_module("slow", "await null; return [args.n, await double.async?.({n: 1})]")
    broken = skill_module("broken", "await null; throw new RangeError('too far')")
    async with opened(slow, broken, DOUBLE) as (sandbox, told):
        assert await value(sandbox, "await slow({n: 3})") == [3, None]
        assert await value(sandbox, "broken().catch((e) => e.name + e.message)") == "RangeErrortoo far"
    assert kinds(told)[-2:] == [("skill_call", "broken"), ("error", "broken failed: too far")]


async def test_an_error_is_told_and_thrown_where_it_was_called() -> None:
    boom = skill_module("boom", "\n\nthrow new TypeError('inside')")
    outer = skill_module("outer", "return boom()")
    async with opened(boom, outer) as (sandbox, told):
        outcome = await sandbox.run("function run() {\n  log('before');\n  outer()\n}")
        assert outcome.error is not None
        assert (outcome.error.name, outcome.error.message, outcome.error.line) == ("TypeError", "inside", 3)
        assert outcome.logs == "before"
        assert await value(sandbox, "(() => { try { boom() } catch (e) { return e.message } })()") == "inside"
    assert kinds(told)[:4] == [
        ("skill_call", "outer"),
        ("skill_call", "boom"),
        ("error", "boom failed: inside"),
        ("log", "before"),
    ] or kinds(told)[1:4] == [("skill_call", "outer"), ("skill_call", "boom"), ("error", "boom failed: inside")]


@pytest.mark.parametrize("thrown", ["undefined", "null", "'words'", "{}", "Object.create(null)"])
async def test_whatever_is_thrown_comes_through(thrown: str) -> None:
    async with opened(skill_module("odd", f"throw {thrown}")) as (sandbox, told):
        script = (
            f"(() => {{ try {{ odd() }} catch (e) {{ return JSON.stringify(e) === JSON.stringify({thrown}) }} }})()"
        )
        assert await value(sandbox, script) is True
    assert kinds(told)[-1][0] == "error"


async def test_code_that_does_not_compile_is_an_error_when_it_is_called() -> None:
    async with opened(skill_module("bad", "let x = ;"), DOUBLE) as (sandbox, told):
        assert await value(sandbox, "[typeof bad, double({n: 1})]") == ["function", 2]
        outcome = await sandbox.run("bad()")
        assert outcome.error is not None and outcome.error.name == "SyntaxError"
        assert "bad cannot be compiled" in outcome.error.message
    assert kinds(told)[-1][0] == "error"


async def test_functions_that_call_each_other_without_end_stop() -> None:
    ping, pong = skill_module("ping", "return pong()"), skill_module("pong", "return ping()")
    countdown = skill_module("down", "return args.n ? down({n: args.n - 1}) : 'there'")
    async with opened(ping, pong, countdown) as (sandbox, told):
        outcome = await sandbox.run("ping()")
        assert outcome.error is not None and "ping → pong → ping" in outcome.error.message
        assert len(told) < 80
        assert await value(sandbox, "down({n: 40})") == "there"


async def test_a_script_can_break_it_for_itself_alone() -> None:
    async with opened(DOUBLE) as (sandbox, _told):
        outcome = await sandbox.run(
            "Function.prototype.constructor = Function = Promise.prototype.then = Promise = String = null;"
            "globalThis.double = 5;"
            "Array.prototype.push = null; function run() { return require('double')({n: 2}) }"
        )
        assert outcome.value_json == "4"
        assert await value(sandbox, "double({n: 3})") == 6


async def test_no_script_can_name_what_tells_of_calls() -> None:
    async with opened(DOUBLE) as (sandbox, told):
        assert await value(sandbox, "Object.getOwnPropertyNames(globalThis).filter((n) => n.includes('@'))") == []
    assert not told


async def test_its_calls_count() -> None:
    async with opened(DOUBLE, limits=Limits(calls=5)) as (sandbox, _):
        outcome = await sandbox.run("for (;;) double()")
        assert outcome.error is not None and outcome.error.name == "CallLimit"


async def test_one_is_added_to_an_open_sandbox() -> None:
    async with opened(DOUBLE) as (sandbox, told):
        assert await value(sandbox, "typeof triple") == "undefined"
        await sandbox.add(skill_module("triple", "return args.n * 3"))
        assert await value(sandbox, "[triple({n: 2}), double({n: 2}), help('triple') !== '']") == [6, 4, True]
        with pytest.raises(InvalidInput, match="rename it"):
            await sandbox.add(skill_module("double", "return 0"))
        assert await value(sandbox, "[triple({n: 2}), double({n: 2})]") == [6, 4]
    assert ("skill_call", "triple") in kinds(told)


@pytest.mark.parametrize("name", ["", " ", "has space", "has-dash", "1leading", "dot.name", "$dollar", "café"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="no function's name"):
        skill_module(name, "return 1")


@pytest.mark.parametrize("code", ["", " \n", "x" * 300_000])
def test_what_is_no_code(code: str) -> None:
    with pytest.raises(InvalidInput, match="empty, or longer"):
        skill_module("fine", code)


class NoDouble:
    async def check(self, call: ToolCall) -> Decision:
        return Decision(allowed=call.tool != "double", reason="not today")


async def test_a_policy_denies_it_by_name() -> None:
    capability = skill_module_capability("double", "log('ran'); return 1")
    [pack] = await capability.build(BuildContext(policy=NoDouble()))
    async with opened(pack) as (sandbox, _):
        for call in ("double()", "require('double')()"):
            outcome = await sandbox.run(call)
            assert outcome.error is not None and outcome.error.message == "denied: not today"
            assert outcome.logs == ""


async def test_in_a_run_one_whose_name_is_taken_is_left_out_and_the_others_stay() -> None:
    told: list[tuple[str, str]] = []
    taken = [skill_module_capability(name, "return 0") for name in ("stock", "log", "Shop", "fine")]
    standing = Pack(name="shop", description="", primitives={"stock.of": Primitive(_stock)})

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [standing, skill_module("double", "return args.n * 2")]

    loop = Loop(
        llm=Scripted(["```javascript\nfunction run() { answer([fine(), double({ n: 2 }), stock.of('socks')]) }\n```"]),
        store=MemoryStore(),
        capabilities=[*taken, Capability(name="shop", description="", build=build)],
    )
    async with loop:
        result = await loop.run(RunRequest("go"), on_event=lambda e: told.append((e.type, e.content)))
    warnings = [content for type, content in told if type == "warning"]
    assert result.final_text == "[0,4,12]", result.reason
    assert [warning.split("'")[1] for warning in warnings] == ["stock", "log", "Shop"]


async def test_in_a_run_its_calls_are_events() -> None:
    told: list[tuple[str, str]] = []
    loop = Loop(
        llm=Scripted(["```javascript\nfunction run() { answer(double({ n: 21 })) }\n```"]),
        store=MemoryStore(),
        capabilities=[skill_module_capability("double", "return args.n * 2", "Doubles.")],
    )
    async with loop:
        result = await loop.run(RunRequest("go"), on_event=lambda e: told.append((e.type, e.content)))
    assert result.final_text == "42"
    assert ("sandbox_event", "double") in told
    assert "declare function double(args?: object): any;" in result.system_prompt
