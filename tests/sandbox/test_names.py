"""The names every script has: core names, console, and what browsers and Node would offer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentloop.errors import EndRun
from agentloop.packs.base import Pack
from agentloop.records import Status
from agentloop.sandbox import open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Probe


async def value(sandbox: ProcessSandbox, expression: str) -> Any:
    outcome = await sandbox.run(f"function run(args) {{ return {expression} }}")
    assert outcome.error is None, outcome.error
    return json.loads(outcome.value_json or "null")


async def message(sandbox: ProcessSandbox, statement: str) -> str:
    outcome = await sandbox.run(f"function run(args) {{ {statement} }}")
    assert outcome.error is not None
    return f"{outcome.error.name}: {outcome.error.message}"


# --- answer and fail ---


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'as it is'", "as it is"),
        ("''", ""),
        ("1e6", "1000000"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("NaN", "NaN"),
        ("true", "true"),
        ("null", "null"),
        ("[1, {a: 'ä'}]", '[1,{"a":"ä"}]'),
        ("new Map([['a', 1]])", '{"a":1}'),
        ("'\\ud800'", "\ufffd"),
    ],
)
async def test_answers(sandbox: ProcessSandbox, expression: str, text: str) -> None:
    outcome = await sandbox.run(f"log('before'); answer({expression}); log('after')")

    assert (outcome.answer, outcome.value_json, outcome.error, outcome.logs) == (text, None, None, "before")


@pytest.mark.parametrize(
    "script",
    [
        "try { answer(1) } catch (e) { h('catch') } finally { h('finally') }",
        "function run() { try { answer(1) } finally { h('finally') } }",
        "async function run() { try { await null; answer(1) } finally { h('finally') } }",
        "Promise.resolve().then(() => { try { answer(1) } finally { h(1) } })",
        "function run() { [1, 2].forEach(answer); h('on') }",
        "function run() { return {get a() { answer(1); h('on'); return 1 }} }",
    ],
)
async def test_nothing_runs_after_an_answer(sandbox: ProcessSandbox, probe: Probe, script: str) -> None:
    outcome = await sandbox.run(script)

    assert outcome.answer == "1"
    assert probe.seen == []
    assert (await sandbox.run("function run() { return 2 }")).value_json == "2"


async def test_an_answer_does_not_leak(sandbox: ProcessSandbox) -> None:
    await sandbox.run("answer(1)")

    assert (await sandbox.run("1")).answer is None


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("answer()", "answer() without a value"),
        ("answer(args.nothing)", "answer() without a value"),
        ("answer(() => 1)", "got a function"),
        ("answer(h.async(1))", "await it first"),
        ("const o = {}; o.o = o; answer(o)", "circular"),
        ("fail()", "say why"),
        ("fail('x', 'tired')", '"task_failed" or "blocked"'),
    ],
)
async def test_answers_that_cannot_be(sandbox: ProcessSandbox, call: str, part: str) -> None:
    assert part in await message(sandbox, call)


@pytest.mark.parametrize(
    ("call", "kind"), [("fail('no stock')", "task_failed"), ("fail('no stock', 'blocked')", "blocked")]
)
async def test_fail_ends_the_run(sandbox: ProcessSandbox, probe: Probe, call: str, kind: str) -> None:
    with pytest.raises(EndRun) as raised:
        await sandbox.run(f"log('looked'); try {{ {call} }} finally {{ h(1) }}")

    assert (raised.value.status, raised.value.reason, raised.value.data) == (Status.ERROR, kind, "no stock")
    assert raised.value.outcome.logs == "looked"
    assert probe.seen == []


# --- log and console ---


@pytest.mark.parametrize(
    ("call", "logs"),
    [
        ("log('a', 1, {b: [2]})", 'a 1 {"b":[2]}'),
        ("print(null, undefined, true)", "null undefined true"),
        ("log({b: 1, a: '<'})", '{"b":1,"a":"<"}'),
        ("log(function f() {}, 10n)", "[function f] 10"),
        ("const o = {}; o.o = o; log(o)", "[cannot be shown: circular reference at .o: it holds itself]"),
        ("log('\\ud800')", "\ufffd"),
        ("log('a\\u0000b')", "a\0b"),
        ("log()", ""),
        ("console.info('x'); console.debug('y'); console.dir({z: 1})", 'x\ny\n{"z":1}'),
        ("console.warn('w'); console.error('e'); console.trace('t')", "[warn] w\n[error] e\n[trace] t"),
        (
            "console.assert(1); console.assert(0, 'why'); console.assert()",
            "[error] Assertion failed: why\n[error] Assertion failed:",
        ),
        (
            "console.count(); console.count(); console.countReset(); console.count()",
            "default: 1\ndefault: 2\ndefault: 1",
        ),
        (
            "console.group('g'); log('in\\nside'); console.groupEnd(); console.groupEnd(); log('out')",
            "g\n  in\n  side\nout",
        ),
        ("console.timeEnd('never')", ""),
        (
            "console.table([{b: 1, a: 'x'}, {b: 22}])",
            "(index) | a | b\n--------+---+---\n0       | x | 1\n1       |   | 22",
        ),
        ("console.table([1, 'two'])", "0 | 1\n1 | two"),
        ("console.table('no table')", "no table"),
    ],
)
async def test_what_is_logged(sandbox: ProcessSandbox, call: str, logs: str) -> None:
    outcome = await sandbox.run(call)

    assert outcome.error is None
    assert outcome.logs == logs


async def test_errors_are_logged_with_the_scripts_own_frames(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run(
        "function inner() {\n  throw new TypeError('bad')\n}\ntry { inner() } catch (e) { log(e) }"
    )

    first, *frames = outcome.logs.split("\n")
    assert first == "TypeError: bad"
    assert "inner (<input>:2" in frames[0]
    assert "20" not in "".join(frames).replace("<input>:2", "")


async def test_console_state_lasts_one_script(sandbox: ProcessSandbox) -> None:
    await sandbox.run("console.count(); console.group(); console.group()")

    assert (await sandbox.run("console.count(); log('flat')")).logs == "default: 1\nflat"


async def test_logs_before_a_throw_survive(sandbox: ProcessSandbox) -> None:
    outcome = await sandbox.run("log('first')\nlet o = null\no.x")

    assert outcome.logs == "first"
    assert outcome.error is not None
    assert (outcome.error.line, outcome.error.where) == (3, "load")


# --- the small ones ---


async def test_text_and_assert(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "[text('a', 1, null), text(), assert(true, 'no')]") == ["a\n1\nnull", "", None]
    assert await message(sandbox, "assert(0, 'stock > 0')") == "Error: assertion failed: stock > 0"
    assert await message(sandbox, "assert('', '  ')") == "Error: assertion failed"


@pytest.mark.parametrize(
    "address",
    ["just/a/path", "example.com/api", "/an/absolute/path", "", "http://", "http://a b/", "http://1.2.3.999/"],
)
async def test_parse_url_of_what_is_none(sandbox: ProcessSandbox, address: str) -> None:
    assert await value(sandbox, f"parseUrl({json.dumps(address)})") is None


async def test_parse_url(sandbox: ProcessSandbox) -> None:
    assert await value(sandbox, "parseUrl('HTTP://Shop.Example:8080/a/../b?q=1&r=ä#top')") == {
        "href": "http://shop.example:8080/b?q=1&r=%C3%A4#top",
        "protocol": "http:",
        "hostname": "shop.example",
        "port": "8080",
        "pathname": "/b",
        "search": "?q=1&r=%C3%A4",
        "hash": "#top",
    }


@pytest.mark.parametrize(
    ("address", "base", "href"),
    [
        ("../x?y#z", "https://h/a/b/c", "https://h/a/x?y#z"),
        ("//other/p", "https://h/a", "https://other/p"),
        ("?q", "https://h/a?x#f", "https://h/a?q"),
        ("#f", "https://h/a?x", "https://h/a?x#f"),
        ("", "https://h/a?x#f", "https://h/a?x"),
        ("https:p", "https://h/a/b", "https://h/a/p"),
        ("http:\\\\h\\p", None, "http://h/p"),
        ("https://h:443/", None, "https://h/"),
        ("https://u:p%20w@h/", None, "https://u:p%20w@h/"),
        ("http://0x7f000001/", None, "http://127.0.0.1/"),
        ("http://127.1/", None, "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]/", None, "http://[2001:db8::1]/"),
        ("http://bücher.example/", None, "http://xn--bcher-kva.example/"),
        ("http://h/%7Efoo/a b", None, "http://h/%7Efoo/a%20b"),
        ("file:///etc/../x", None, "file:///x"),
        ("mailto:a@b.example", None, "mailto:a@b.example"),
        ("data:text/plain,a b", None, "data:text/plain,a b"),
    ],
)
async def test_urls(sandbox: ProcessSandbox, address: str, base: str | None, href: str) -> None:
    arguments = json.dumps(address) if base is None else f"{json.dumps(address)}, {json.dumps(base)}"

    assert await value(sandbox, f"new URL({arguments}).href") == href


async def test_url_setters_and_parameters(sandbox: ProcessSandbox) -> None:
    script = """
    function run() {
      const url = new URL("https://h/p?a=1&b=2&a=3");
      url.searchParams.append("c", "x y&z");
      url.searchParams.delete("b");
      url.hash = "top";
      url.pathname = "/q r";
      const params = new URLSearchParams({d: "ä", e: "+"});
      return [url.href, url.searchParams.getAll("a"), [...params], params.toString(), url.origin];
    }"""
    outcome = await sandbox.run(script)

    assert json.loads(outcome.value_json or "") == [
        "https://h/q%20r?a=1&a=3&c=x+y%26z#top",
        ["1", "3"],
        [["d", "ä"], ["e", "+"]],
        "d=%C3%A4&e=%2B",
        "https://h",
    ]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("atob(btoa('hello ÿ'))", "hello ÿ"),
        ("[btoa('a'), btoa('ab'), btoa('abc')]", ["YQ==", "YWI=", "YWJj"]),
        ("atob(' YWI= ')", "ab"),
        ("new TextDecoder().decode(new TextEncoder().encode('a😀é'))", "a😀é"),
        ("new TextDecoder().decode(new Uint8Array([0x61, 0xff, 0xc3]))", "a\ufffd\ufffd"),
        ("(1234567.891).toLocaleString()", "1,234,567.891"),
        ("(1234.5).toLocaleString('en-US', {style: 'currency', currency: 'USD'})", "$1,234.50"),
        ("(0.256).toLocaleString('en-US', {style: 'percent'})", "26%"),
        ("(1.005).toLocaleString('en-US', {minimumFractionDigits: 2, maximumFractionDigits: 2})", "1.01"),
        (
            "[(-1234).toLocaleString(), (1e21).toLocaleString(), (12345678901234567890n).toLocaleString()]",
            ["-1,234", "1,000,000,000,000,000,000,000", "12,345,678,901,234,567,890"],
        ),
        ("/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())", True),
        ("crypto.getRandomValues(new Uint8Array(8)).length", 8),
        ("typeof performance.now()", "number"),
        ("structuredClone(new Map([['a', new Date(0)]]))", {"a": "1970-01-01T00:00:00.000Z"}),
        ("(() => { const a = {}; a.self = a; const b = structuredClone(a); return b !== a && b.self === b })()", True),
    ],
)
async def test_globals(sandbox: ProcessSandbox, expression: str, result: Any) -> None:
    assert await value(sandbox, expression) == result


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("setInterval(() => 1, 5)", "use sleep(ms)"),
        ("structuredClone(() => 1)", "DataCloneError"),
        ("new URL('nowhere')", "Invalid URL: nowhere"),
        ("atob('*')", "InvalidCharacterError"),
        ("sleep('soon')", "a number of milliseconds"),
    ],
)
async def test_globals_that_refuse(sandbox: ProcessSandbox, statement: str, part: str) -> None:
    assert part in await message(sandbox, statement)


async def test_micro_tasks_run(sandbox: ProcessSandbox) -> None:
    assert (await sandbox.run("queueMicrotask(() => log('ran'))")).logs == "ran"


# --- require, help, skills ---


@pytest.fixture
async def skilled() -> AsyncIterator[ProcessSandbox]:
    modules = {
        "sum": "exports.sum = (a, b) => a + b; log('loaded');",
        "whole": "module.exports = () => require('sum').sum(1, 2);",
        "a": "exports.early = 1; exports.b = require('b').seen; exports.late = 2;",
        "b": "exports.seen = Object.keys(require('a'));",
        "flaky": "if (!globalThis.tried) { globalThis.tried = true; throw new Error('first') } log('loaded')",
        "broken": "let x = ;",
        "thrower": "throw new Error('inside')",
        "caller": "exports.call = () => { throw new Error('later') }",
        "self-aware": "module.exports = module.id",
    }
    packs = [
        Pack(name="maths", description="sums", kind="module", modules=modules, help={"sum": "Adds.\nTwo numbers."}),
        Pack(name="wordy", description="", help={"long": "x" * 1000}),
        Pack(name="plain", description="just words", kind="prompt"),
    ]
    async with open_sandbox(packs=packs, engine=ENGINE) as sandbox:
        yield sandbox


async def test_a_module_knows_the_name_it_is_required_by(skilled: ProcessSandbox) -> None:
    assert await value(skilled, "require('self-aware')") == "self-aware"


async def test_require(skilled: ProcessSandbox) -> None:
    outcome = await skilled.run(
        "require('sum'); function run() { return [require('whole')(), require('sum').sum(3, 4)] }"
    )

    assert (outcome.value_json, outcome.logs) == ("[3,7]", "loaded")


async def test_require_in_a_circle_is_an_error_that_names_it(skilled: ProcessSandbox) -> None:
    said = await message(skilled, "require('a')")

    assert said.startswith("Error: require(a): require(b): ")
    assert said.endswith("a circle: a → b → a")
    assert await value(skilled, "require('sum').sum(1, 1)") == 2


async def test_a_module_that_failed_is_tried_again(skilled: ProcessSandbox) -> None:
    outcome = await skilled.run("for (let i = 0; i < 2; i++) try { require('flaky') } catch (e) { log(e.message) }")

    assert outcome.logs.split("\n") == ["require(flaky): first", "loaded"]


async def test_require_that_fails(skilled: ProcessSandbox) -> None:
    assert "require(nope): module not found; known: a, b" in await message(skilled, "require('nope')")
    assert "needs a module's name" in await message(skilled, "require('')")
    assert "needs a module's name" in await message(skilled, "require(' ')")
    assert "module not found" in await message(skilled, "require('__proto__')")
    assert "module not found" in await message(skilled, "require('toString')")
    assert "require(broken): unexpected token" in await message(skilled, "require('broken')")
    assert await message(skilled, "require('thrower')") == "Error: require(thrower): inside"


async def test_an_error_in_a_module_points_at_the_scripts_line(skilled: ProcessSandbox) -> None:
    outcome = await skilled.run("const { call } = require('caller')\nfunction run() {\n  call()\n}")

    assert outcome.error is not None
    assert outcome.error.line == 3


async def test_help(skilled: ProcessSandbox) -> None:
    listed = await value(skilled, "help()")

    assert "\n  sum — Adds.\n" in listed
    assert "\n  answer — Ends the task with this result" in listed
    assert "Two numbers" not in listed
    assert await value(skilled, "help('sum')") == "Adds.\nTwo numbers."
    assert "function sleep(ms: number)" in await value(skilled, "help(sleep)")
    assert await value(skilled, "help('nope')") == 'There is no help for "nope": help() lists what there is.'


async def test_skills(skilled: ProcessSandbox) -> None:
    assert await value(skilled, "skillList()") == [
        {"name": "maths", "description": "sums", "type": "module"},
        {"name": "wordy", "description": "", "type": "pack"},
        {"name": "plain", "description": "just words", "type": "prompt"},
    ]
    assert await value(skilled, "[skillGet('sum'), skillGet('plain')]") == ["Adds.\nTwo numbers.", "just words"]
    assert "skillList()" in await value(skilled, "skillGet('nope')")
    assert "needs a name" in await message(skilled, "skillGet('')")


@pytest.mark.parametrize("name", ["toString", "__proto__", "constructor"])
async def test_inherited_names_are_no_help_and_no_skill(skilled: ProcessSandbox, name: str) -> None:
    assert "There is no help" in await value(skilled, f"help('{name}')")
    assert "There is no skill" in await value(skilled, f"skillGet('{name}')")


async def test_help_is_a_title_sorted_lines_and_a_hint(skilled: ProcessSandbox) -> None:
    title, blank, *lines, gap, hint = (await value(skilled, "help()")).split("\n")

    assert title and hint.startswith('help("name")') and (blank, gap) == ("", "")
    assert all(line.startswith("  ") and " — " in line for line in lines)
    assert lines == sorted(lines)
    assert f"  long — {'x' * 159}…" in lines
    assert await value(skilled, "help(null)") == await value(skilled, "help('')") == await value(skilled, "help()")
    assert "help()" in await value(skilled, "help('nope')")


async def test_no_skills_is_an_empty_list() -> None:
    async with open_sandbox(engine=ENGINE) as sandbox:
        assert await value(sandbox, "skillList()") == []
