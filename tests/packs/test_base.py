from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.base import Pack, Primitive


async def nothing() -> None:
    pass


@pytest.mark.parametrize("name", ["", " ", "has space", "-x", ".x", "a/b", "café", "a\nb", "a\n", "[x]", "x" * 101])
def test_a_pack_has_a_name_that_can_be_written(name: str) -> None:
    with pytest.raises(InvalidInput, match="a pack cannot be called"):
        Pack(name=name, description="")


@pytest.mark.parametrize("name", ["fetch", "pet-store", "my_skill", "v1.2", "1st", "_x"])
def test_names_that_can_be(name: str) -> None:
    assert Pack(name=name, description="").name == name


@pytest.mark.parametrize(
    "name", ["", "has space", "has-dash", "1st", "a.", ".a", "a..b", "café", "a\n", "x;alert(1)//"]
)
@pytest.mark.parametrize("part", ["primitives", "functions"])
def test_what_is_called_has_a_name_of_javascript(part: str, name: str) -> None:
    named: dict[str, Any] = {part: {name: Primitive(nothing) if part == "primitives" else "return 1"}}
    with pytest.raises(InvalidInput, match="in JavaScript"):
        Pack(name="p", description="", **named)


@pytest.mark.parametrize("name", ["", " ", "a b", "/a", "a/", "a//b", "a\n"])
def test_a_module_has_a_name_that_can_be_required(name: str) -> None:
    with pytest.raises(InvalidInput, match="a module cannot"):
        Pack(name="p", description="", modules={name: ""})


@pytest.mark.parametrize("name", ["http", "pet-store", "a/b", "@scope/x"])
def test_modules_that_can_be(name: str) -> None:
    assert name in Pack(name="p", description="", modules={name: ""}).modules
