"""Secrets in requests: to their hosts alone, never in a URL, and never back."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
from aiohttp import web

from agentloop.capabilities import BuildContext
from agentloop.guard.logs import redacting
from agentloop.guard.network.client import ClientLimits
from agentloop.guard.secrets import Secret, Secrets
from agentloop.packs.fetch import fetch_pack
from agentloop.packs.http import http_pack
from agentloop.packs.permission import Permission
from agentloop.packs.secret import secret_pack
from agentloop.records import Json
from agentloop.sandbox import Outcome
from tests.packs.web import Site, guarded, outcome, served

VALUE = 'correct-horse "7"! &%+'
FLAT = "sk_live_0123456789abcdef"


class Scripts:
    """Scripts that may reach some sites, with a secret TOKEN of the first of them; `told` are the run's events."""

    def __init__(self, *sites: Site, value: str = VALUE, limits: ClientLimits | None = None) -> None:
        self.sites = sites
        self.told: list[dict[str, Json]] = []
        self.limits = limits
        self.secrets = Secrets([Secret(name="TOKEN", value=value, origins=[sites[0].url])])
        self.value = value

    @property
    def place(self) -> str:
        return self.secrets.get("TOKEN").placeholder

    async def emit(self, type: str, **fields: Json) -> None:
        self.told.append({"type": type, **fields})

    async def run(self, body: str) -> Outcome:
        permission = Permission(BuildContext(secrets=self.secrets, emit=self.emit))
        async with guarded(*self.sites, limits=self.limits) as client:
            packs = [
                fetch_pack(client, permission),
                await http_pack(client, permission),
                secret_pack(self.secrets, permission),
            ]
            script = f"function run(args) {{ const [U, V] = args.urls, S = secret('TOKEN'); {body} }}"
            urls = [site.url for site in self.sites] + [self.sites[0].url]
            done = await outcome(script, *packs, args={"urls": urls})
        assert self.value not in repr(done) + repr(self.told), "a script or an event got the value"
        return done

    async def value_of(self, expression: str) -> Any:
        done = await self.run(f"return {expression}")
        assert done.error is None, done.error
        return json.loads(done.value_json or "null")

    async def refusal(self, expression: str) -> str:
        done = await self.run(f"return {expression}")
        assert done.error is not None, done.value_json
        return f"{done.error.name}: {done.error.message}"


# Where it is put in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [VALUE, FLAT])
async def test_a_header_gets_the_value_also_within_other_words(value: str) -> None:
    async with served() as site:
        await Scripts(site, value=value).value_of(
            "fetch(U + '/a', {headers: {Authorization: 'Bearer ' + S, 'X-Key': S}})"
        )
    assert site.requests[0].headers["Authorization"] == f"Bearer {value}"
    assert site.requests[0].headers["X-Key"] == value


async def test_auth_gets_it_before_it_is_encoded() -> None:
    async with served() as site:
        scripts = Scripts(site)
        await scripts.value_of("fetch(U, {auth: {user: 'ann', password: S}})")
        await scripts.value_of("fetch(U, {auth: {bearer: S}})")
    expected = base64.b64encode(f"ann:{VALUE}".encode()).decode()
    assert [request.headers["Authorization"] for request in site.requests] == [f"Basic {expected}", f"Bearer {VALUE}"]


@pytest.mark.parametrize(
    "options",
    [
        "{method: 'POST', json: {user: 'ann', keys: [S]}}",
        "{method: 'POST', body: JSON.stringify({user: 'ann', keys: [S]})}",
        "{method: 'POST', headers: {'Content-Type': 'application/json'}, "
        "body: JSON.stringify({user: 'ann', keys: [S]})}",
    ],
)
async def test_json_gets_it_escaped(options: str) -> None:
    async with served() as site:
        await Scripts(site).value_of(f"fetch(U, {options})")
    assert json.loads(site.bodies[0]) == {"user": "ann", "keys": [VALUE]}


@pytest.mark.parametrize(
    "call",
    [
        "fetch(U, {method: 'POST', form: {user: 'ann', key: S}})",
        "require('http').post(U, new URLSearchParams({user: 'ann', key: S}))",
        "fetch(U, {method: 'POST', body: new URLSearchParams({user: 'ann', key: S})})",
        "fetch(U, {method: 'POST', headers: {'content-type': 'application/x-www-form-urlencoded'}, "
        "body: 'user=ann&key=' + encodeURIComponent(S)})",
    ],
)
async def test_a_form_gets_it_percent_encoded(call: str) -> None:
    async with served() as site:
        await Scripts(site).value_of(call)
    assert parse_qs(site.bodies[0].decode()) == {"user": ["ann"], "key": [VALUE]}


async def test_text_gets_it_as_it_is_and_http_does_what_fetch_does() -> None:
    async with served() as site:
        await Scripts(site).value_of("require('http').post(U + '/b', 'key: ' + S, {headers: {'X-Key': S}})")
    assert (site.bodies[0].decode(), site.requests[0].headers["X-Key"]) == (f"key: {VALUE}", VALUE)


# Where it is not ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "fetch(U + '/?q=' + S)",
        "fetch(U + '/' + S)",
        "fetch(U + '/#' + S)",
        "fetch('http://' + S + '.localhost/')",
        "fetch('http://' + S + ':x@127.0.0.1/')",
        "fetch(U, {method: S})",
        "fetch(U, {headers: {[S]: 'x'}})",
        "fetch(U, {[S]: 'x'})",
        "require('http').get(U + '/?q=' + S)",
        "fetch(U + '/?q=' + S.toUpperCase())",
    ],
)
async def test_anywhere_else_it_is_refused(call: str) -> None:
    async with served() as site:
        told = await Scripts(site).refusal(call)
    assert told.startswith("RequestRefused: secret TOKEN stands in the headers or the body")
    assert not site.hits


@pytest.mark.parametrize(
    "options",
    ["{headers: {'X-Key': S}}", "{method: 'POST', json: {a: [S]}}", "{auth: {bearer: S}}", "{method: 'POST', body: S}"],
)
async def test_another_host_gets_nothing(options: str) -> None:
    async with served() as site, served() as other:
        told = await Scripts(site, other).refusal(f"fetch(V + '/x', {options})")
    assert told == (
        f"RequestRefused: secret TOKEN may go to {site.url} and nowhere else: nothing was sent to {other.url}"
    )
    assert not other.hits and not site.hits


async def test_an_unencrypted_host_of_the_same_name_is_another_one() -> None:
    async with served() as site:
        scripts = Scripts(site)
        scripts.secrets = Secrets([Secret(name="TOKEN", value=VALUE, origins=[f"https://{site.place}"])])
        told = await scripts.refusal("fetch(U, {headers: {'X-Key': S}})")
    assert "nothing was sent to http://" in told and not site.hits


@pytest.mark.parametrize(
    "made", ["S.split('').reverse().join('')", "btoa(S)", "S.slice(1)", "S.slice(0, -1)", "S.toUpperCase()", "S[0]"]
)
async def test_what_a_script_makes_of_the_placeholder_is_worth_nothing(made: str) -> None:
    async with served() as site:
        await Scripts(site).value_of(f"fetch(U, {{headers: {{'X-Key': {made}}}}})")
    assert "horse" not in repr(dict(site.requests[0].headers))


# Redirects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["X-Key", "Authorization", "Accept", "User-Agent", "Content-Type", "Range"])
async def test_a_redirect_to_another_host_does_not_carry_the_header(header: str) -> None:
    async with served() as site, served() as other:
        url = f"U + '/redirect?to=' + encodeURIComponent('{other.url}/got')"
        reply = await Scripts(site, other).value_of(f"fetch({url}, {{headers: {{'{header}': S, 'X-Other': 'x'}}}})")
    assert reply["status"] == 200 and other.hits == {"/got": 1}
    assert "horse" not in repr(dict(other.requests[0].headers)) and "X-Other" not in other.requests[0].headers


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_of_a_body_to_another_host_is_refused(status: int) -> None:
    async with served() as site, served() as other:
        url = f"U + '/redirect?status={status}&to=' + encodeURIComponent('{other.url}/got')"
        told = await Scripts(site, other).refusal(f"fetch({url}, {{method: 'POST', json: {{key: S}}}})")
    assert told == (
        f"RequestRefused: the request has a secret in it, and is redirected to {other.url}: it was not sent there"
    )
    assert not other.hits and site.hits == {"/redirect": 1}


async def test_a_redirect_that_becomes_a_get_goes_on_without_it() -> None:
    async with served() as site, served() as other:
        url = f"U + '/redirect?status=303&to=' + encodeURIComponent('{other.url}/got')"
        await Scripts(site, other).value_of(f"fetch({url}, {{method: 'POST', json: {{key: S}}}})")
    assert other.requests[0].method == "GET" and other.bodies == [b""]


async def test_a_redirect_on_the_host_itself_carries_all() -> None:
    async with served() as site:
        url = "U + '/redirect?status=307&to=/got'"
        await Scripts(site).value_of(f"fetch({url}, {{method: 'POST', headers: {{'X-Key': S}}, json: {{key: S}}}})")
    assert json.loads(site.bodies[1]) == {"key": VALUE} and site.requests[1].headers["X-Key"] == VALUE


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["/got?key={}", "/{}", "/got?twice=" + quote("?key={}", safe="{}")])
async def test_a_server_that_redirects_with_the_secret_in_the_address_is_not_followed(status: int, to: str) -> None:
    async with served() as site, served() as other:
        place = other.url + to.format(quote(VALUE, safe=""))
        site.routes["/away"] = lambda: web.Response(status=status, headers={"Location": place})
        scripts = Scripts(site, other)
        told = await scripts.refusal("fetch(U + '/away', {headers: {'X-Key': S}})")
        assert f"the redirect to {other.url} has secret TOKEN in its URL" in told
        assert told == await scripts.refusal("require('http').get(U + '/away')")
    assert not other.hits and site.hits == {"/away": 2}


@pytest.mark.parametrize(
    "call",
    ["fetch(U, {headers: {a: 'x ' + OLD}})", "fetch(U, {method: 'POST', json: {[OLD]: 1}})", "fetch(U + '/' + OLD)"],
)
async def test_a_placeholder_that_a_script_kept_from_an_earlier_run_is_not_sent(call: str) -> None:
    async with served() as site:
        scripts = Scripts(site)
        old = Secret(name="TOKEN", value=VALUE, origins=[site.url]).placeholder
        told = await scripts.refusal(call.replace("OLD", json.dumps(old)))
        assert 'call secret("TOKEN") again' in told and not site.hits
        unknown = json.dumps(old.replace("TOKEN", "NONE"))
        await scripts.value_of(f"fetch(U, {{headers: {{a: {unknown}, b: S}}}})")
    assert site.requests[0].headers["a"] == json.loads(unknown)


async def test_headers_that_are_none_are_told_also_beside_a_secret() -> None:
    async with served() as site:
        told = await Scripts(site).refusal("fetch(U, {method: 'POST', body: S, headers: [1]})")
    assert "headers is an object" in told and not site.hits


async def test_a_request_without_a_secret_follows_redirects_as_ever() -> None:
    async with served() as site, served() as other:
        url = f"U + '/redirect?status=307&to=' + encodeURIComponent('{other.url}/got')"
        await Scripts(site, other).value_of(f"fetch({url}, {{method: 'POST', json: {{key: 'public'}}}})")
    assert json.loads(other.bodies[0]) == {"key": "public"}


# What comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "echo",
    [
        VALUE,
        json.dumps({"you": VALUE}),
        json.dumps(json.dumps(VALUE)),
        quote(VALUE, safe=""),
        base64.b64encode(f"ann:{VALUE}".encode()).decode(),
        VALUE.encode().hex(),
        VALUE.replace("&", "&amp;").replace('"', "&quot;"),
        "".join(f"\\u{ord(character):04x}" for character in VALUE),
    ],
)
async def test_an_echo_is_the_placeholder_again(echo: str) -> None:
    async with served() as site:
        site.routes["/echo"] = lambda: web.Response(text=f"you sent {echo}.", headers={"X-Echo": quote(VALUE)})
        scripts = Scripts(site)
        reply = await scripts.value_of("fetch(U + '/echo', {headers: {'X-Key': S}})")
    assert scripts.place in reply["body"] and reply["headers"]["x-echo"] == scripts.place
    assert "horse" not in json.dumps(reply)


async def test_an_echo_in_a_header_is_not_logged_either(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as site:
        site.routes["/echo"] = lambda: web.Response(headers={"X-Echo": FLAT})
        scripts = Scripts(site, value=FLAT)
        with caplog.at_level(logging.DEBUG), redacting(scripts.secrets.redactor):
            await scripts.value_of("fetch(U + '/echo', {headers: {'X-Key': S}})")
    assert scripts.place in caplog.text and FLAT not in caplog.text


async def test_an_echo_that_is_cut_off_by_the_limit_shows_no_beginning_of_it() -> None:
    async with served() as site:
        site.routes["/long"] = lambda: web.Response(text="x" * 90 + FLAT)
        scripts = Scripts(site, value=FLAT, limits=ClientLimits(body_bytes=100))
        reply = await scripts.value_of("fetch(U + '/long')")
    assert reply["truncated"] is True
    assert reply["body"] == "x" * 90 + scripts.place


async def test_an_echo_in_the_address_of_a_redirect_and_in_errors_is_hidden() -> None:
    async with served() as site:
        site.routes["/to"] = lambda: web.Response(status=302, headers={"Location": f"/got?key={quote(VALUE)}"})
        site.routes["/bad"] = lambda: web.Response(status=302, headers={"Location": f"ftp://{FLAT}.example/"})
        scripts = Scripts(site)
        reply = await scripts.value_of("fetch(U + '/to')")
        assert reply["url"] == f"{site.url}/got?key={scripts.place}"
        other = Scripts(site, value=FLAT)
        told = await other.refusal("fetch(U + '/bad')")
    assert FLAT not in told


async def test_two_secrets_of_one_host_go_together_and_of_two_hosts_do_not() -> None:
    async with served() as site, served() as other:
        scripts = Scripts(site, other)
        scripts.secrets.add(Secret(name="SAME", value="another-value", origins=[site.url]))
        scripts.secrets.add(Secret(name="OTHER", value="third-value", origins=[other.url]))
        await scripts.value_of("fetch(U, {headers: {a: S, b: secret('SAME')}})")
        told = await scripts.refusal("fetch(U, {headers: {a: S, b: secret('OTHER')}})")
    assert site.requests[0].headers["b"] == "another-value"
    assert f"secret OTHER may go to {other.url}" in told and sum(site.hits.values()) == 1
