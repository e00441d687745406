from __future__ import annotations

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox.toolbox import CORE_NAMES, Toolbox, core_declarations


async def _nothing(first: int, second: int = 0) -> None:
    pass


def _pack(name: str = "p", **more: object) -> Pack:
    return Pack(name=name, description="", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "JSON",
        "run",
        "log",
        "Promise.x",
        "has space",
        "has-dash",
        "1st",
        "",
        "a.",
        ".a",
        "a..b",
        "café",
        "await",
        "x.async",
        "x.all",
    ],
)
def test_names_that_no_primitive_can_have(name: str) -> None:
    with pytest.raises(InvalidInput, match="rename it"):
        Toolbox([_pack(primitives={name: Primitive(_nothing)})])


@pytest.mark.parametrize("name", ["fetch", "browser.click", "_http", "$", "a.b.c", "JSONx", "stores"])
def test_names_that_can_be(name: str) -> None:
    assert name in Toolbox([_pack(primitives={name: Primitive(_nothing)})]).tools


@pytest.mark.parametrize(
    "packs",
    [
        [_pack("a"), _pack("a")],
        [_pack("a", primitives={"x": Primitive(_nothing)}), _pack("b", primitives={"x": Primitive(_nothing)})],
        [_pack("a", help={"x": ""}), _pack("b", help={"x": ""})],
        [_pack("a", help={"answer": "mine"})],
        [_pack("a", modules={"x": ""}), _pack("b", modules={"x": ""})],
    ],
)
def test_clashes(packs: list[Pack]) -> None:
    with pytest.raises(InvalidInput, match="two packs"):
        Toolbox(packs)


def test_arguments_are_fitted() -> None:
    tool = Toolbox([_pack(primitives={"x": Primitive(_nothing)})]).tools["x"]

    assert tool.fitted([1, 2, 3]) == [1, 2]
    with pytest.raises(TypeError, match="x needs 1 argument"):
        tool.fitted([])


def test_core_declarations_cover_the_core_names() -> None:
    declared = core_declarations()

    for name in CORE_NAMES:
        assert name in ("run", "console", "print") or f" {name}" in declared
    assert len(declared) < 2_600
