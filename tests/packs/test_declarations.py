"""What the model is told of each pack agrees with what it can call: names, and how many arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from agentloop.browser import Browser, browser_pack
from agentloop.browser.base import Driver
from agentloop.capabilities import BuildContext
from agentloop.drivers import FakeDriver
from agentloop.guard.secrets import Secrets
from agentloop.llm import Scripted
from agentloop.packs.ai import ai_pack
from agentloop.packs.base import Pack
from agentloop.packs.documents import documents_pack
from agentloop.packs.email import email_pack
from agentloop.packs.exec import exec_pack
from agentloop.packs.fetch import fetch_pack
from agentloop.packs.http import http_pack
from agentloop.packs.markdown import markdown_pack
from agentloop.packs.openapi import openapi_pack, read_api
from agentloop.packs.search import search_pack
from agentloop.packs.secret import secret_pack
from agentloop.packs.workspace import workspace_pack
from agentloop.packs.workspace.root import Root
from agentloop.sandbox.toolbox import Toolbox
from tests.packs.web import guarded, value
from tests.source import modules

ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
SHOP = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.test"}],
    "paths": {
        "/lamps/{id}": {
            "get": {"operationId": "lamp", "parameters": [ID], "responses": {"200": {"description": "one"}}}
        }
    },
}
NAMELESS = {"openapi"}
"""Packs whose prompt only points at their help."""

SAID_ELSEWHERE = {"secret.get"}
"""Second names of globals."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What packs are built from."""

    stack: AsyncExitStack
    folder: Path

    async def fetch(self) -> Pack:
        return fetch_pack(await self.stack.enter_async_context(guarded()))

    async def http(self) -> Pack:
        return await http_pack(await self.stack.enter_async_context(guarded()))

    async def openapi(self) -> Pack:
        return await openapi_pack(await self.stack.enter_async_context(guarded()), read_api(SHOP))

    async def ai(self) -> Pack:
        return await ai_pack(Scripted([]))

    async def markdown(self) -> Pack:
        return await markdown_pack()

    async def email(self) -> Pack:
        return email_pack(None)

    async def search(self) -> Pack:
        return search_pack(None)

    async def documents(self) -> Pack:
        return documents_pack(None)

    async def secret(self) -> Pack:
        return secret_pack(Secrets())

    async def workspace(self) -> Pack:
        return self._closed(workspace_pack(Root(self.folder)))

    async def exec(self) -> Pack:
        return self._closed(exec_pack(Root(self.folder), env={}))

    async def browser(self) -> Pack:
        driver: Driver = FakeDriver({})
        return browser_pack(Browser(driver), BuildContext(), globals=False)

    def _closed(self, pack: Pack) -> Pack:
        assert pack.aclose is not None
        self.stack.push_async_callback(pack.aclose)
        return pack


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with AsyncExitStack() as stack:
        yield Room(stack=stack, folder=tmp_path)


@cache
def names() -> list[str]:
    """The packs of the package: of each function `<name>_pack` the name."""
    found = [
        node.name.removesuffix("_pack")
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.fullmatch(r"[a-z]\w*_pack", node.name)
    ]
    return sorted(found)


async def built(room: Room, name: str) -> Pack:
    build: Callable[[], Awaitable[Pack]] | None = getattr(room, name, None)
    assert build is not None, f"tell this test how to build the pack {name!r}"
    return await build()


# Reading a .d.ts ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signature:
    """A declared function: how many arguments it must and can have; None for any number."""

    name: str
    least: int
    most: int | None


def signatures(text: str) -> Iterator[Signature]:
    """Those declared, with the namespace or module in front."""
    inside = ""
    text = re.sub(r"/\*\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    for line in text.splitlines():
        if opened := re.match(r'declare (?:module|namespace) "?([\w-]+)"? \{', line):
            inside = f"{opened[1]}."
        elif line.startswith("}"):
            inside = ""
        elif found := re.match(r"(?:declare|  ) ?function (\w+)\(", line):
            parameters = list(_parameters(line[found.end() :]))
            many = any(parameter.startswith("...") for parameter in parameters)
            least = sum(re.match(r"\w+:", parameter) is not None for parameter in parameters)
            yield Signature(inside + found[1], least, None if many else len(parameters))


def _parameters(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{<") - (char in ")]}>" and text[at - 1 : at + 1] != "=>")
        if depth < 0 or (char == "," and depth == 0):
            if parameter := text[start:at].strip():
                yield parameter
            start = at + 1
        if depth < 0:
            return


def test_the_reader_of_declarations() -> None:
    text = """/** a(b) */
declare function one(a: { b: string, c?: number }, d?: (e: string) => void): void;
declare function none(): void;
declare module "m" {
  function many(...all: any[]): Record<string, string>;
}
"""
    wanted = [Signature("one", 1, 2), Signature("none", 0, 0), Signature("m.many", 0, None)]
    assert list(signatures(text)) == wanted


# The packs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
async def test_declared_is_what_can_be_called(room: Room, name: str) -> None:
    pack = await built(room, name)
    declared = {signature.name: signature for signature in signatures(pack.declarations)}
    assert bool(declared) is (name not in NAMELESS)
    tools = Toolbox([pack]).tools
    globals = {each for each in pack.primitives if not each.startswith("_")}
    exported = {f"{module}.{each}" for module in pack.modules for each in await exports(pack, module)}
    own = {each for each in exported if each.partition(".")[2] not in globals} - SAID_ELSEWHERE
    assert declared.keys() == globals | (own if name not in NAMELESS else set())
    for each in globals:
        tool, signature = tools[each], declared[each]
        assert tool.least <= signature.least, f"{each} needs more arguments than it says"
        assert tool.most in (None, signature.most), f"{each} takes {tool.most} arguments and says {signature.most}"


async def exports(pack: Pack, module: str) -> list[str]:
    keys: list[str] = await value(f"Object.keys(require({module!r}))", pack)
    return keys


@pytest.mark.parametrize("name", names())
async def test_each_pack_has_help_for_what_it_declares(room: Room, name: str) -> None:
    pack = await built(room, name)
    top = {signature.name.split(".")[0] for signature in signatures(pack.declarations)}
    assert top <= pack.help.keys() and all(text.strip() for text in pack.help.values())


async def test_the_functions_of_an_api_are_those_that_its_help_names(room: Room) -> None:
    pack = await room.openapi()
    named = [signature.name for text in pack.help.values() for signature in signatures(text)]
    assert {*named, "help"} == {*await exports(pack, pack.name)}


@pytest.mark.parametrize("name", names())
async def test_whatever_may_return_strangers_text_says_so(room: Room, name: str) -> None:
    pack = await built(room, name)
    trusted = {each for each, primitive in pack.primitives.items() if not primitive.untrusted}
    # What an API's document says is the operator's.
    trusted -= {"_openapi.api_shop.describe", "_openapi.api_shop.operations"}
    assert trusted <= {"allowUrls", "fetchWhitelist", "writeFile", "editFile", "secret", "browser.sleep"}


def test_what_ships_is_known() -> None:
    assert {"fetch", "http", "ai", "markdown", "workspace", "exec", "email", "search", "documents"} <= set(names())
