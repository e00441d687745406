from __future__ import annotations

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.sandbox.toolbox import CORE_NAMES, Toolbox, core_declarations, resolve_clashes


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


@pytest.mark.parametrize(
    "packs",
    [
        [_pack("a", functions={"x": ""}), _pack("b", primitives={"x": Primitive(_nothing)})],
        [_pack("a", primitives={"x": Primitive(_nothing)}), _pack("b", functions={"x": ""})],
        [_pack("a", primitives={"x": Primitive(_nothing)}, functions={"x": ""})],
        [_pack("a", functions={"x": ""}), _pack("b", modules={"x": ""})],
        [_pack("a", modules={"x": ""}), _pack("b", functions={"x": ""})],
        [_pack("a", modules={"x": ""}, functions={"x": ""})],
        [_pack("a", primitives={"x.y": Primitive(_nothing)}), _pack("b", functions={"x": ""})],
    ],
)
def test_a_function_shares_its_name_with_nothing(packs: list[Pack]) -> None:
    with pytest.raises(InvalidInput, match="rename it"):
        Toolbox(packs)


STANDING = [
    _pack("files", primitives={"readFile": Primitive(_nothing), "page.click": Primitive(_nothing)}),
    _pack("maths", modules={"sums": ""}, help={"Adding": ""}, functions={"double": ""}),
]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("readFile", "function of pack 'files'"),
        ("readfile", "function of pack 'files'"),
        ("page", "object of pack 'files'"),
        ("sums", "module of pack 'maths'"),
        ("adding", "help entry of pack 'maths'"),
        ("double", "function of pack 'maths'"),
        ("maths", "another pack"),
        ("parseurl", "what every script has"),
        ("help", "what every script has"),
        ("run", "what every script has"),
    ],
)
def test_who_gives_way_has_no_name_that_anything_has(name: str, owner: str) -> None:
    skill, other = _pack(name, help={name: "text"}, gives_way=True), _pack("other", help={"other": ""}, gives_way=True)

    kept, why = resolve_clashes([skill, *STANDING, other])

    assert kept == [*STANDING, other]
    assert len(why) == 1 and why[0].startswith(repr(name)) and owner in why[0]


def test_nothing_of_a_pack_that_gives_way_is_taken_over() -> None:
    half = _pack("half", help={"fine": "mine", "sums": "mine"}, modules={"more": ""}, gives_way=True)

    kept, why = resolve_clashes([*STANDING, half])

    assert kept == STANDING and "'sums'" in why[0]
    assert Toolbox(kept).config()["module_names"] == '["double", "sums"]'


def test_of_two_that_give_way_the_first_stays() -> None:
    first, second = _pack("a", help={"x": "1"}, gives_way=True), _pack("b", help={"x": "2"}, gives_way=True)

    assert resolve_clashes([first, second])[0] == [first]


def test_what_does_not_give_way_clashes_as_ever() -> None:
    with pytest.raises(InvalidInput, match="two packs"):
        resolve_clashes([_pack("a", help={"x": ""}), _pack("b", help={"x": ""})])


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
