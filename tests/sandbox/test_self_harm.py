"""A script that changes built-ins harms at most itself: what reaches the host is right, or there is a clear error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentloop.sandbox.host import ProcessSandbox
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Probe

FORGE = "() => 'forged'"
BATCH = "return h.all([1, {spread: [2]}, 3])"

POISONS = (
    "Object.defineProperty(Array.prototype, '0', {set() {}, configurable: true});",
    "Object.defineProperty(Array.prototype, '0', {get: () => 'forged', set() {}, configurable: true});",
    "Object.defineProperty(Object.prototype, '1', {get: () => 'forged', set() {}, configurable: true});",
    "Array.prototype[Symbol.iterator] = function* () { yield 'forged' };",
    f"for (const name of ['push', 'join', 'map', 'slice', 'concat']) Array.prototype[name] = {FORGE};",
    f"for (const name of ['stringify', 'parse']) JSON[name] = {FORGE};",
    f"for (const name of ['call', 'apply', 'bind']) Function.prototype[name] = {FORGE};",
    f"for (const name of ['apply', 'defineProperty', 'setPrototypeOf']) Reflect[name] = {FORGE};",
    f"for (const name of ['slice', 'split', 'indexOf', 'includes', 'replace']) String.prototype[name] = {FORGE};",
    "String.prototype[Symbol.split] = () => ['forged'];",
    f"RegExp.prototype.exec = {FORGE}; RegExp.prototype.test = {FORGE};",
    "Object.prototype.get = () => 'forged'; Object.prototype.value = 'forged'; Object.prototype.writable = false;",
    "Object.prototype.code = 'forged'; Object.prototype.index = 'forged'; Object.prototype.spread = undefined;",
    "Object.prototype.name = 'forged';",
    "Object.defineProperty(Map.prototype, 'size', {get: () => 0}); Map.prototype.get = Map.prototype.set = () => 0;",
    "Object.defineProperty(Error, Symbol.hasInstance, {value: () => true});",
    "Error.prepareStackTrace = () => 'forged'; Error.stackTraceLimit = 0;",
    f"globalThis.String = globalThis.Number = {FORGE};",
    "for (const name of ['Map', 'Set', 'JSON', 'Promise', 'Reflect', 'Array']) globalThis[name] = null;",
    "Promise.prototype.then = () => { throw new Error('no') };",
    "Promise.prototype.constructor = function () { throw new Error('no') };",
    "Object.defineProperty(Promise, Symbol.species, {value: function () { throw new Error('no') }});",
)


@pytest.mark.parametrize("poison", POISONS)
async def test_calls_logs_values_and_answers_stay_right(sandbox: ProcessSandbox, probe: Probe, poison: str) -> None:
    batch = await sandbox.run(f"function run() {{ {poison} {BATCH} }}")
    assert (batch.error, batch.value_json) == (None, "[1,2,3]")

    call = await sandbox.run(f"function run() {{ {poison} log('a', 5, {{b: 1}}); return {{one: h(1)}} }}")
    assert (call.error, call.logs, call.value_json) == (None, 'a 5 {"b":1}', '{"one":1}')

    promised = await sandbox.run(f"async function run() {{ {poison} return await h.async(2) }}")
    assert (promised.error, promised.value_json) == (None, "2")
    assert probe.seen == [1, 2, 3, 1, 2]

    answered = await sandbox.run(f"function run() {{ {poison} answer('yes') }}")
    assert (answered.error, answered.answer) == (None, "yes")
    numbered = await sandbox.run(f"function run() {{ {poison} answer(5) }}")
    assert (numbered.error, numbered.answer) == (None, "5")

    thrown = await sandbox.run(f"function run() {{ {poison} throw 'away' }}")
    assert thrown.error is not None
    assert (thrown.error.name, thrown.error.message) == ("Thrown", "away")

    raised = await sandbox.run(f"function run() {{ {poison} try {{ boom('b') }} catch (e) {{ throw e }} }}")
    assert raised.error is not None
    assert (raised.error.name, raised.error.message, raised.error.where) == ("LookupError", "b", "run")


async def test_no_frame_of_an_error_hands_out_a_function(sandbox: ProcessSandbox) -> None:
    script = """function run() {
      const found = [];
      Error.prepareStackTrace = (_, frames) => { found.push(...frames.map((frame) => frame.getFunction())); return '' };
      try { h.all(5) } catch (error) { error.stack }
      return found.length;
    }"""
    assert (await sandbox.run(script)).value_json == "0"


@pytest.mark.parametrize(
    ("build", "place"),
    [
        ("const m = new Map(); m.set('a', m); return m", ".a"),
        ("const s = new Set(); s.add(s); return {x: [s]}", ".x[0][0]"),
        ("const o = {a: [1]}; o.a.push(o); return o", ".a[1]"),
        ("const n = {}; n.next = {prev: n}; return n", ".next.prev"),
        ("const m = new Map(), o = {m}; m.set('k', [new Set([o])]); return o", ".m.k[0][0]"),
        ("const o = {i: (function* () { yield o })()}; return o", ""),
    ],
)
async def test_what_holds_itself_is_an_error_that_names_the_place(
    sandbox: ProcessSandbox, build: str, place: str
) -> None:
    outcome = await sandbox.run(f"function run() {{ {build} }}")

    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.where) == ("TypeError", "result")
    assert outcome.error.message == f"circular reference{f' at {place}' if place else ''}: it holds itself"


async def test_circles_are_found_out_in_calls_and_in_the_scripts_own_json(sandbox: ProcessSandbox) -> None:
    script = """function run() {
      const map = new Map(), said = [];
      map.set("a", map);
      for (const use of [() => h(map), () => h.all([map]), () => JSON.stringify(map)]) {
        try { use() } catch (error) { said.push(error.message) }
      }
      return said;
    }"""
    outcome = await sandbox.run(script)
    assert json.loads(outcome.value_json or "") == [
        "circular reference at [0].a: it holds itself",
        "circular reference at [0][0].a: it holds itself",
        "circular reference at .a: it holds itself",
    ]


async def test_json_stringify_is_as_it_was(sandbox: ProcessSandbox) -> None:
    script = """function run() {
      const map = new Map([["a", 1]]), first = JSON.stringify(map);
      map.set("b", 2);
      const inner = {toJSON: () => JSON.stringify(map)};
      return [JSON.stringify.name, first, JSON.stringify(map), JSON.stringify({map, inner}),
        JSON.stringify({a: 1, b: 2}, ["b"], 1), JSON.stringify(undefined) === undefined];
    }"""
    outcome = await sandbox.run(script)
    assert json.loads(outcome.value_json or "") == [
        "stringify",
        '{"a":1}',
        '{"a":1,"b":2}',
        '{"map":{"a":1,"b":2},"inner":"{\\"a\\":1,\\"b\\":2}"}',
        '{\n "b": 2\n}',
        True,
    ]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        ("let x = null; for (let i = 0; i < 1e5; i++) x = {x}; return x", "more than 200 levels deep at .x.x"),
        ("return {a: {toJSON() { return {a: this} }}}", "more than 200 levels deep (its toJSON"),
    ],
)
@pytest.mark.skipif(ENGINE == "legacy", reason="the old engine's JSON does not look at its stack")
async def test_endless_depth_is_found_out_at_once(sandbox: ProcessSandbox, build: str, words: str) -> None:
    outcome = await sandbox.run(f"function run() {{ {build} }}", wall_s=10)

    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.where) == ("ResultTooDeep", "result")
    assert words in outcome.error.message


async def test_deep_recursion_works_after_a_result_was_written(sandbox: ProcessSandbox) -> None:
    """The stack that a result is written with is small; the script's own is not."""
    script = """function run() { const down = (n) => n === 0 ? 0 : 1 + down(n - 1); return down(3000) }"""
    for _ in range(2):
        assert (await sandbox.run(script)).value_json == "3000"


@pytest.mark.parametrize(
    ("value", "json_text", "warning"),
    [
        ("(async function* () {})()", "{}", "an async iterator became {}: read it with for await first"),
        ("new WeakMap()", "{}", "an object of class WeakMap became {}: it has no members of its own"),
        ("new DataView(new ArrayBuffer(2))", "{}", "an object of class DataView became {}: it has no members"),
        ("new (class Basket { #items = [1] })()", "{}", "an object of class Basket became {}"),
        ("Promise.resolve(1)", "{}", "a promise became {}: await it first"),
        ("{}", "{}", None),
        ("Object.create(null)", "{}", None),
        ("new Number(3)", "3", None),
        ("new URLSearchParams('a=1')", '"a=1"', None),
    ],
)
async def test_what_becomes_an_empty_object_is_told(
    sandbox: ProcessSandbox, value: str, json_text: str, warning: str | None
) -> None:
    outcome = await sandbox.run(f"function run() {{ return {{rows: [{{it: {value}}}]}} }}")

    assert outcome.value_json == f'{{"rows":[{{"it":{json_text}}}]}}'
    if warning is None:
        assert outcome.warnings == ()
    else:
        assert outcome.warnings[0].startswith(f"rows[0].it: {warning}")


@pytest.mark.parametrize("trap", ["ownKeys", "get", "has"])
async def test_a_trap_that_never_ends_is_ended_by_the_clock(sandbox: ProcessSandbox, trap: str) -> None:
    build = f"new Proxy({{a: 1}}, {{{trap}() {{ for (;;); }}}})"
    outcome = await sandbox.run(f"function run() {{ const p = {build}; 'a' in p; return p }}", wall_s=0.5)

    assert outcome.error is not None
    assert outcome.error.where == "timeout"


async def test_a_getter_that_throws_ends_the_result_with_its_own_error(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("function run() { return {get price() { throw new RangeError('sold out') }} }")

    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message, outcome.error.where) == ("RangeError", "sold out", "result")


async def test_a_broken_then_is_an_error_not_a_wait(sandbox: ProcessSandbox) -> None:
    for thenable in ("{get then() { throw new Error('broken') }}", "{then() { throw new Error('broken') }}"):
        outcome: Any = await sandbox.run(f"function run() {{ return {thenable} }}")
        assert (outcome.error.message, outcome.error.where) == ("broken", "run")
