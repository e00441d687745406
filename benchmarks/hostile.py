"""Hostile and odd scripts with the outcome that is right for each.

`python -m benchmarks.hostile` runs them all and prints a table; the sandbox's tests run the same cases.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
from dataclasses import dataclass
from typing import Any, Final, Literal

from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox import Limits, Outcome, open_sandbox

__all__ = ["ARGS", "CASES", "ENGINE", "Case", "Error", "Value", "matches", "pack", "shown"]


def _engine() -> Literal["auto", "legacy"]:
    try:
        importlib.metadata.version("quickjs-ng")
    except importlib.metadata.PackageNotFoundError:
        return "legacy"
    return "auto"


ENGINE: Final = _engine()
"""The old engine is meant where the maintained one is not installed."""

ARGS: Final = '{"b": null}'
_SHORT_S: Final = 0.5
_LONG_S: Final = 30.0


@dataclass(frozen=True)
class Value:
    """The script ends well with this value (None = none at all)."""

    json: str | None


@dataclass(frozen=True)
class Error:
    """The script ends with an error of this name, place and text (`message` is a part of it)."""

    name: str
    message: str = ""
    where: str = "run"
    line: int | None = None


Expected = Value | Error

KILLED: Final = Error("Timeout", "ran longer than", "timeout")
DIED: Final = Error("SandboxDied", "process", "died")
NO_MEMORY: Final = Error("InternalError", "out of memory")
TOO_MUCH_RECURSION: Final = Error("RangeError", "call stack")
OLD_RECURSION: Final = Error("InternalError", "stack overflow")


@dataclass(frozen=True)
class Case:
    """A script and what may come of it; `legacy` is what else is right on an engine of 2021."""

    name: str
    script: str
    expected: tuple[Expected, ...]
    legacy: tuple[Expected, ...] = ()
    wall_s: float = _LONG_S
    warns: str = ""
    logs: str | None = None


def _ok(name: str, script: str, value: Any, **more: Any) -> Case:
    return Case(name, script, (Value(json.dumps(value, separators=(",", ":"), ensure_ascii=False)),), **more)


def _bad(name: str, script: str, *expected: Expected, **more: Any) -> Case:
    return Case(name, script, expected, **more)


def _killed(name: str, script: str, **more: Any) -> Case:
    return Case(name, script, (KILLED,), (DIED,), wall_s=_SHORT_S, **more)


def _nothing(name: str, script: str, **more: Any) -> Case:
    return Case(name, script, (Value(None),), **more)


CASES: Final = (
    _killed("infinite_loop", "function run(){while(true){}}"),
    _killed(
        "loop_swallowing_interrupts",
        "function run(){for(;;){try{while(true){}}catch(e){continue}finally{continue}}}",
    ),
    _bad(
        "deep_recursion",
        "function run(){function f(){return f()+1} return f()}",
        TOO_MUCH_RECURSION,
        legacy=(OLD_RECURSION,),
    ),
    Case(
        "stringify_200k_nested",
        "function run(){let a=[];for(let i=0;i<200000;i++)a=[a];return a}",
        (KILLED, Error("ResultTooDeep", where="result"), Error("RangeError", where="result")),
        (DIED, Error("InternalError", "stack overflow", "result")),
        wall_s=1.5,
    ),
    _bad(
        "parse_300k_nested",
        'function run(){return typeof JSON.parse("[".repeat(300000)+"]".repeat(300000))}',
        TOO_MUCH_RECURSION,
        legacy=(Value('"object"'), OLD_RECURSION),
    ),
    _bad(
        "nested_5000",
        "function run(){let a=[];for(let i=0;i<5000;i++)a=[a];return a}",
        Error("ResultTooDeep", "200 levels", "result"),
        legacy=(DIED,),
    ),
    _bad(
        "deep_regexp",
        'function run(){new RegExp("(".repeat(100000)+")".repeat(100000))}',
        Error("SyntaxError", "too many captures"),
        legacy=(OLD_RECURSION, Error("SyntaxError")),
    ),
    _killed("redos", 'function run(){return /^(a+)+$/.test("a".repeat(40)+"b")}'),
    _bad(
        "memory_bomb_arrays",
        "function run(){const a=[];while(1)a.push(new Array(1000).fill(7))}",
        NO_MEMORY,
        legacy=(DIED,),
    ),
    _bad(
        "memory_bomb_typed",
        "function run(){const l=[];while(1)l.push(new Uint8Array(1<<24).fill(1))}",
        NO_MEMORY,
        legacy=(DIED,),
    ),
    # The engine throws null when its error does not fit into memory; a script that catches it sees just that.
    Case(
        "memory_bomb_caught",
        'function run(){let a=[];try{while(1)a.push(new Array(1000).fill(7))}catch(e){a=null;return "caught "+e}}',
        (Value('"caught null"'), Value('"caught InternalError: out of memory"')),
        (DIED,),
    ),
    _bad("repeat_2_29", 'function run(){return "x".repeat(2**29).length}', NO_MEMORY),
    _bad(
        "bigint_pow",
        "function run(){return String((7n**30000000n)%10n)}",
        Error("RangeError", "BigInt is too large"),
        legacy=(Value('"1"'), NO_MEMORY, KILLED),
    ),
    _bad("circular", "function run(){const o={};o.o=o;return o}", Error("TypeError", "circular", "result")),
    _ok(
        "bigint",
        "function run(){return {a:10n,b:2n**70n}}",
        {"a": 10, "b": "1180591620717411303424"},
        warns="b: a BigInt became text",
    ),
    _nothing("undefined", "function run(){return undefined}"),
    _nothing("no_return", "function run(){}"),
    _ok(
        "nested_undefined_and_function",
        "function run(){return {a:undefined,b(){},c:[undefined,()=>1]}}",
        {"c": [None, None]},
        warns="c[1]: a function became null",
    ),
    _bad("symbol", 'function run(){return Symbol("x")}', Error("TypeError", "JSON data, got symbol", "result")),
    _bad("function", "function run(){return run}", Error("TypeError", "JSON data, got function", "result")),
    _ok("date", "function run(){return new Date(0)}", "1970-01-01T00:00:00.000Z"),
    _ok("invalid_date", "function run(){return new Date(NaN)}", None, warns="invalid Date became null"),
    _ok(
        "typed_arrays",
        "function run(){return [new Uint8Array([1,2]),new Float64Array([1.5])]}",
        [[1, 2], [1.5]],
    ),
    _ok("array_buffer", "function run(){return new ArrayBuffer(4)}", [0, 0, 0, 0]),
    _ok("regexp", "function run(){return /x/g}", "/x/g"),
    _ok("map_and_set", 'function run(){return [new Map([["a",1]]),new Set([1,2])]}', [{"a": 1}, [1, 2]]),
    _ok("error_value", 'function run(){return new TypeError("t")}', {"name": "TypeError", "message": "t"}),
    _ok(
        "class_instance",
        "class P{#z=1;constructor(){this.x=1} get y(){return 2}} function run(){return new P}",
        {"x": 1},
    ),
    _ok("sparse_array", "function run(){return [1,,3]}", [1, None, 3], warns="[1]: undefined became null"),
    _ok("null_prototype", "function run(){const o=Object.create(null);o.a=1;return o}", {"a": 1}),
    _bad(
        "throwing_getter",
        'function run(){return {get a(){throw new Error("getter")}}}',
        Error("Error", "getter", "result"),
    ),
    _killed("infinite_getter", "function run(){return {get a(){while(1);}}}"),
    _bad(
        "proxy_own_keys_throws",
        'function run(){return new Proxy({},{ownKeys(){throw new Error("px")}})}',
        Error("Error", "px", "result"),
    ),
    _bad("to_json_throws", 'function run(){return {toJSON(){throw new Error("tj")}}}', Error("Error", "tj", "result")),
    _bad(
        "to_json_undefined",
        "function run(){return {toJSON(){}}}",
        Error("TypeError", "JSON data, got object", "result"),
    ),
    _bad(
        "return_50_mb",
        'function run(){return "x".repeat(50e6)}',
        Error("InternalError", "out of memory", "result"),
        Error("ResultTooLarge", "at most", "result"),
    ),
    _bad(
        "return_40_mb",
        'function run(){return "x".repeat(33600000)}',
        Error("ResultTooLarge", "at most", "result"),
        legacy=(Error("InternalError", "out of memory", "result"),),
    ),
    _ok("prototype_pollution", "function run(){Object.prototype.polluted=1;Array.prototype.map=null;return 1}", 1),
    _ok(
        "prototype_pollution_next_turn",
        "function run(){return [({}).polluted===undefined,typeof [].map]}",
        [True, "function"],
    ),
    _ok("object_prototype_to_json", "function run(){Object.prototype.toJSON=function(){return 666};return {a:1}}", 666),
    _ok("override_primitive", 'h=()=>"mine";function run(){return h(1)}', "mine"),
    _ok("override_promise", "Promise=null;async function run(){return 1}", 1),
    _ok("override_json", "JSON.stringify=null;JSON=null;function run(){return h({a:[1]})}", {"a": [1]}),
    _ok("const_shadows_primitive", "const h=1;function run(){return h}", 1),
    _ok(
        "find_host_bridge",
        "function run(){return [typeof __host,typeof __script_run,typeof python,typeof os,typeof std,typeof process]}",
        ["undefined"] * 6,
    ),
    _ok(
        "function_constructor_escape",
        'function run(){return (function(){}).constructor("return typeof globalThis.process")()}',
        "undefined",
    ),
    Case(
        "lone_surrogate",
        r'function run(a){return ["\ud800",h("\udfff"),a]}',
        (Value(r'["\ud800","\udfff",{"b":null}]'),),
    ),
    _ok("astral", 'function run(){return "😀"+h("😀").length}', "😀2"),
    _bad("throw_string", 'function run(){throw "str"}', Error("Thrown", "str")),
    _bad("throw_undefined", "function run(){throw undefined}", Error("Thrown", "undefined")),
    _bad("throw_null", "function run(){throw null}", Error("Thrown", "null")),
    _bad("throw_object", 'function run(){throw {code:7,why:"x"}}', Error("Thrown", '{"code":7,"why":"x"}')),
    _bad(
        "throw_evil",
        "function run(){throw {toString(){throw 1},toJSON(){throw 2}}}",
        Error("Thrown", "cannot be printed"),
    ),
    _killed(
        "throw_error_with_evil_getter",
        'function run(){const e=new Error("x");Object.defineProperty(e,"message",{get(){while(1);}});throw e}',
    ),
    _bad("huge_message", 'function run(){throw new Error("x".repeat(1e7))}', Error("Error", "x" * 4000 + "…")),
    _ok("async_run", "async function run(a){await null;return a}", {"b": None}),
    _bad("async_throw", 'async function run(){await null;throw new RangeError("async")}', Error("RangeError", "async")),
    _bad("never_settles", "function run(){return new Promise(()=>{})}", Error("DeadlockError", "never settle")),
    _ok("thenable", "function run(){return {then(r){r(5)}}}", 5),
    _bad("evil_thenable", 'function run(){return {get then(){throw new Error("then")}}}', Error("Error", "then")),
    _ok("unhandled_rejection", 'function run(){Promise.reject(new Error("u"));return 1}', 1),
    _killed("endless_microtasks", "async function run(){for(;;)await null}"),
    _bad(
        "infinite_generator",
        "function* run(){for(;;)yield 1}",
        Error("RangeError", "more than 1,000,000 values", "result"),
    ),
    _ok("generator", "function* run(){yield 1; yield 2}", [1, 2]),
    _ok("arrow_const_run", "const run = (a)=>a", {"b": None}),
    _ok("arrow_async_const", "const run = async(a)=>{return h(a)}", {"b": None}),
    _nothing("no_run", "1+1"),
    _bad(
        "syntax_error",
        "function run(){\n  let a = 1;\n  let b = ;\n}",
        Error("SyntaxError", "';'", "load", line=3),
    ),
    _bad("unterminated_string", 'function run(){\n return "abc\n}', Error("SyntaxError", "string", "load", line=2)),
    _bad(
        "type_error_on_undefined",
        "function run(a){\n return a.b.c.d}",
        Error("TypeError", "cannot read property 'c' of null", line=2),
    ),
    _bad("top_level_throw", 'throw new Error("top")', Error("Error", "top", "load")),
    _ok("top_level_primitive_call", "const v=h(7);function run(){return v}", 7),
    _bad("primitive_throws", 'function run(){return h("boom")}', Error("ValueError", "boom from host")),
    _ok(
        "primitive_throws_caught",
        'function run(){try{h("boom")}catch(e){return [e.name,e.message,e instanceof Error]}}',
        ["ValueError", "boom from host", True],
    ),
    _bad(
        "primitive_with_circular_arguments",
        "function run(){const o={};o.o=o;return h(o)}",
        Error("TypeError", "circular"),
    ),
    _ok("primitive_reentrancy_via_to_json", "function run(){return h({toJSON(){return h(1)}})}", 1),
    _ok("primitive_in_getter", "function run(){let n=0;return {get a(){return h(++n)}}}", {"a": 1}),
    _bad(
        "primitive_flood", "function run(){for(;;)h(1)}", Error("CallLimit", "more than 1,000 primitive calls", "limit")
    ),
    _bad(
        "async_primitive_flood",
        "function run(){for(;;)h.async(1)}",
        Error("CallLimit", "more than 1,000 primitive calls", "limit"),
    ),
    _ok("console_log", 'function run(){console.log("x");return 1}', 1, logs="x"),
    _killed("log_flood", 'function run(){for(;;)log("x".repeat(1000))}'),
    _bad("set_timeout", "function run(){setTimeout(()=>{},1)}", Error("Error", "use sleep(ms)", line=1)),
    _bad("dynamic_import", 'async function run(){return await import("fs")}', Error("ReferenceError", "fs")),
    _bad("static_import", 'import fs from "fs"\nfunction run(){}', Error("SyntaxError", "use require(name)", "load")),
    _ok(
        "finalization_registry",
        "function run(){new FinalizationRegistry(()=>{while(1);}).register({},1);return 1}",
        1,
        legacy=(Error("ReferenceError", "FinalizationRegistry"),),
    ),
    _ok("args_mutated", "function run(a){a.x=1;return a}", {"b": None, "x": 1}),
    _ok("with_statement", "with({q:1}){var w=q};function run(){return w}", 1),
    _ok("html_comment", "<!-- x\nfunction run(){return 1}", 1),
    _ok("byte_order_mark", "\ufefffunction run(){return 1}", 1),
    _ok("nul_in_source", 'function run(){return "a\0b".length}', 3),
    _ok("export", "export default async function run(a){return a}", {"b": None}),
    _ok("top_level_await", "const v = await h.async(3);\nfunction run(){return v}", 3),
    _ok(
        "ropes", 'function run(){let z="";for(let i=0;i<3000;i++)z+="line "+i+"\\n";log(z);return h(z+z).length}', 57780
    ),
)
"""Run in this order in one sandbox: the second of two that belong together sees what the first left."""


async def _h(value: Any = None) -> Any:
    if value == "boom":
        raise ValueError("boom from host")
    return value


def pack() -> Pack:
    """The one primitive that the scripts call: it returns its argument, and raises for "boom"."""
    return Pack(name="probe", description="echoes", primitives={"h": Primitive(_h)})


def matches(outcome: Outcome, expected: Expected) -> bool:
    """Whether the outcome is the expected one."""
    if isinstance(expected, Value):
        return outcome.error is None and outcome.value_json == expected.json
    error = outcome.error
    return (
        error is not None
        and outcome.value_json is None
        and error.name == expected.name
        and expected.message in error.message
        and error.where == expected.where
        and (expected.line in (None, error.line) or ENGINE == "legacy")
    )


def shown(outcome: Outcome) -> str:
    """The outcome in a few words."""
    if outcome.error is not None:
        error = outcome.error
        place = f" at {error.line}:{error.column}" if error.line else ""
        return f"{error.where}: {error.name}: {error.message[:70]}{place}"
    return "no value" if outcome.value_json is None else f"-> {outcome.value_json[:70]}"


async def _main() -> int:
    wrong = 0
    async with open_sandbox(packs=[pack()], limits=Limits(calls=1000), engine=ENGINE) as sandbox:
        print(f"{sandbox.engine}, isolation {sandbox.isolation}")
        for case in CASES:
            outcome = await sandbox.run(case.script, ARGS, wall_s=case.wall_s)
            expected = case.expected + (case.legacy if ENGINE == "legacy" else ())
            right = any(matches(outcome, one) for one in expected)
            wrong += not right
            print(f"{'ok   ' if right else 'WRONG'} {case.name:36} {ascii(shown(outcome))[1:-1]}")
    print(f"{len(CASES) - wrong} of {len(CASES)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
