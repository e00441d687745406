"""Code is judged by the engine itself, and never run for it."""

from __future__ import annotations

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox import open_sandbox, validate_module_code
from agentloop.sandbox.toolbox import CORE_NAMES, Toolbox
from benchmarks.hostile import ENGINE

WORDS = """undefined null true false var function return if else for while do switch case break continue new this typeof
delete void in instanceof try catch finally throw with"""


async def _nothing() -> None:
    pass


@pytest.mark.parametrize(
    "code",
    [
        "",
        "// nothing",
        "return args.n * 2 // doubled",
        "await sleep(1); return 1",
        "const f = () => ({}); return f",
        "with (args) { return n }",
        "throw new Error('only when called')",
    ],
)
async def test_what_can_be_a_body(code: str) -> None:
    await validate_module_code("skill", code, engine=ENGINE)


@pytest.mark.parametrize(
    ("code", "line"),
    [("let x = ;", 1), ("let a = 1;\n\nlet b = ;", 3), ("return (", 2), ("/* open", 1), ("import x from 'y'", 1)],
)
async def test_what_cannot_and_where(code: str, line: int) -> None:
    with pytest.raises(InvalidInput, match="does not compile") as raised:
        await validate_module_code("skill", code, engine=ENGINE)
    assert f"(line {line})" in str(raised.value) or ENGINE == "legacy"


@pytest.mark.parametrize(
    "code",
    [
        "}), answer('out'), (function () {",
        "}, function () {",
        "} + function () {",
        "}[answer('out')] = function () {",
        "}, async function () {",
        "} function more() {",
        "}; {",
    ],
)
async def test_a_body_stays_between_its_braces(code: str) -> None:
    with pytest.raises(InvalidInput, match="does not compile"):
        await validate_module_code("skill", code, engine=ENGINE)


@pytest.mark.parametrize("name", ["", " ", "has space", "has-dash", "1leading", "dot.name", "$dollar", "café", "a\n"])
async def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="no function's name"):
        await validate_module_code(name, "return 1", engine=ENGINE)


@pytest.mark.parametrize("name", ["my_skill", "mySkill", "UPPER", "_private", "n1"])
async def test_what_is_one(name: str) -> None:
    await validate_module_code(name, "return 1", engine=ENGINE)


@pytest.mark.parametrize("name", [*WORDS.split(), *CORE_NAMES])
async def test_words_and_core_names_are_taken(name: str) -> None:
    with pytest.raises(InvalidInput):
        await validate_module_code(name, "return 1", engine=ENGINE)


async def test_what_is_there_is_seen_in_the_sandbox_itself() -> None:
    for name in ("Uint8Array", "AggregateError", "escape"):
        with pytest.raises(InvalidInput):
            await validate_module_code(name, "return 1", engine=ENGINE)


async def test_a_packs_names_are_taken() -> None:
    pack = Pack(name="p", description="", primitives={"fetchAll": Primitive(_nothing), "shop.buy": Primitive(_nothing)})
    await validate_module_code("fetchAll", "return 1", engine=ENGINE)
    for name in ("fetchAll", "shop"):
        with pytest.raises(InvalidInput):
            await validate_module_code(name, "return 1", packs=[pack], engine=ENGINE)


async def test_no_global_of_the_sandbox_is_free_for_a_pack() -> None:
    """The list of names that packs may not take is held against what a realm really has."""
    script = "function run() { return Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith('__')) }"
    async with open_sandbox(engine=ENGINE) as sandbox:
        outcome = await sandbox.run(script)
    assert outcome.value_json is not None
    free = []
    for name in outcome.value_json[2:-2].split('","'):
        try:
            Toolbox([Pack(name="p", description="", primitives={name: Primitive(_nothing)})])
        except InvalidInput:
            continue
        free.append(name)
    assert not free
