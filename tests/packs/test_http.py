from __future__ import annotations

import re
from typing import Any

import pytest

from agentloop.packs.fetch import fetch_pack
from agentloop.packs.http import http_pack
from agentloop.packs.permission import Permission
from tests.packs.web import Person, guarded, outcome, served, value


@pytest.mark.parametrize(
    ("call", "method", "body", "kind"),
    [
        ("get(U)", "GET", b"", None),
        ("head(U)", "HEAD", b"", None),
        ("del(U)", "DELETE", b"", None),
        ("post(U)", "POST", b"", None),
        ("post(U, null)", "POST", b"", None),
        ("post(U, {a: [1, 'é']})", "POST", '{"a": [1, "é"]}'.encode(), "application/json"),
        ("put(U, [1])", "PUT", b"[1]", "application/json"),
        ("patch(U, 'text')", "PATCH", b"text", "text/plain; charset=utf-8"),
        ("post(U, 'a,b', {headers: {'Content-Type': 'text/csv'}})", "POST", b"a,b", "text/csv"),
        ("post(U, new URLSearchParams({q: 'a b'}))", "POST", b"q=a+b", "application/x-www-form-urlencoded"),
    ],
)
async def test_each_method_sends_what_it_says(call: str, method: str, body: bytes, kind: str | None) -> None:
    async with served() as site, guarded(site) as client:
        found = await value(
            f"((U) => require('http').{call})(args.url)", await http_pack(client), args={"url": site.url}
        )

    assert found["status"] == 200
    assert site.requests[0].method == method
    assert site.bodies == [body]
    assert site.requests[0].headers.get("content-type") == kind


async def test_options_are_those_of_fetch() -> None:
    async with served() as site, guarded(site) as client:
        call = "require('http').get(args.url, {headers: {'X-A': 'b'}, auth: {bearer: 't'}}).headers['x-test']"
        assert await value(call, await http_pack(client), args={"url": site.url}) == "yes"

    assert site.requests[0].headers["x-a"] == "b"
    assert site.requests[0].headers["authorization"] == "Bearer t"


async def test_it_asks_as_fetch_does_and_shares_the_answer() -> None:
    person = Person(True)
    async with served() as site, guarded("only.test") as client:
        permission = await person.permission()
        packs = (fetch_pack(client, permission), await http_pack(client, permission))
        call = "[require('http').post(args.url, {}).status, fetch(args.url).status]"
        assert await value(call, *packs, args={"url": site.url}) == [200, 200]

    assert len(person.messages) == 1


async def test_refused_it_reaches_nobody() -> None:
    async with served() as site, guarded("only.test") as client:
        script = "function run(args) { require('http').get(args.url) }"
        done = await outcome(script, await http_pack(client), args={"url": site.url})

    assert done.error is not None
    assert done.error.name == "RequestRefused"
    assert not site.sockets


async def test_what_it_returns_is_marked_as_written_by_strangers() -> None:
    async with served() as site, guarded(site) as client:
        script = "function run(args) { return require('http').get(args.url).status }"
        assert (await outcome(script, await http_pack(client), args={"url": site.url})).untrusted


async def test_declarations_and_module_agree() -> None:
    async with guarded() as client:
        pack = await http_pack(client, Permission())
        exports: list[Any] = await value("Object.keys(require('http')).sort()", pack)

    assert sorted(re.findall(r"function (\w+)\(", pack.declarations)) == exports
    assert pack.help.keys() == {"http"}
