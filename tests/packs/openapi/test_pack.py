"""An API in the hands of scripts: what is sent, what comes back, who is asked, and what nobody sees."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from agentloop.errors import InvalidInput
from agentloop.guard import GuardedClient, URLAllowlistPolicy
from agentloop.guard.network.client import ClientLimits
from agentloop.guard.network.guard import Boundary
from agentloop.guard.policy import Decision, ToolCall
from agentloop.guard.secrets import Secret, Secrets
from agentloop.packs.base import Pack
from agentloop.packs.openapi import openapi_capability, openapi_pack, read_api
from agentloop.records import Json
from agentloop.sandbox import Outcome, open_sandbox
from tests.packs.openapi.documents import document
from tests.packs.openapi.wire import Api, built, listening
from tests.packs.web import Person, outcome, value

KEY = "s3cr3t-key-0123456789"


def pets(**root: Any) -> dict[str, Any]:
    """Two operations, JSON in and out."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pet Store API!!", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": {
            "/pets/{petId}": {
                "get": {
                    "operationId": "getPetById",
                    "parameters": [
                        {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}},
                        {"name": "verbose", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "responses": {},
                }
            },
            "/pets": {
                "post": {
                    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
                    "responses": {},
                }
            },
        },
        **root,
    }


async def call(api: Api, expression: str, **options: Any) -> Any:
    """What an expression is worth for a script; `api` in it is the module."""
    async with built(openapi_capability(pets(), base_url=api.url, **options)) as pack:
        return await value(f"((api) => ({expression}))(require({pack.name!r}))", pack)


async def thrown(pack: Pack, statement: str) -> str:
    script = f"function run() {{ try {{ {statement} }} catch (e) {{ return e.name + ': ' + e.message }} }}"
    done = await outcome(script, pack)
    assert done.error is None, done.error
    said: str = json.loads(done.value_json or "null")
    return said


# Calls ---------------------------------------------------------------------------------------------------


async def test_a_call_end_to_end() -> None:
    async with listening() as api:
        got = await call(api, "api.getPetById({petId: '42', verbose: true})", headers={"X-Api-Key": KEY})
        assert (api.last.method, api.target, api.last.headers["X-Api-Key"]) == ("GET", "/pets/42?verbose=true", KEY)
        assert "Content-Type" not in api.last.headers

        posted = await call(api, "api.postPets({body: {name: 'Ada'}})", headers={"X-Api-Key": KEY})
        assert (api.last.method, api.target, api.bodies[-1]) == ("POST", "/pets", b'{"name":"Ada"}')
        assert (api.last.headers["Content-Type"], api.last.headers["X-Api-Key"]) == ("application/json", KEY)

    assert (got["status"], got["ok"], got["body"], got["json"]) == (
        200,
        True,
        '{"path": "/pets/42"}',
        {"path": "/pets/42"},
    )
    assert got["headers"]["content-type"] == "application/json; charset=utf-8"
    assert posted["status"] == 200


async def test_a_status_of_failure_is_no_error() -> None:
    async with listening() as api:
        api.answer = lambda: web.Response(status=404, text="no such pet")
        found = await call(api, "api.getPetById({petId: '1'})")
    assert (found["status"], found["ok"], found["body"]) == (404, False, "no such pet")
    assert "json" not in found and "truncated" not in found


@pytest.mark.parametrize(
    ("body", "kind", "parsed"),
    [
        ("[1]", "application/problem+json", [1]),
        ("null", "application/json", None),
        ("[1]", "text/plain", "absent"),
        ("[1", "application/json", "absent"),
        ("[NaN]", "application/json", "absent"),
        ("[" * 5000, "application/json", "absent"),
        ("", "application/json", "absent"),
    ],
)
async def test_json_is_parsed_when_it_is_json(body: str, kind: str, parsed: Any) -> None:
    async with listening() as api:
        api.answer = lambda: web.Response(body=body.encode(), headers={"Content-Type": kind})
        found = await call(api, "api.getPetById({petId: '1'})")
    assert found["body"] == body
    assert found.get("json", "absent") == parsed


async def test_json_that_nests_deeply_comes_through() -> None:
    async with listening() as api:
        api.answer = lambda: web.Response(text="[" * 900 + "]" * 900, content_type="application/json")
        assert await call(api, "JSON.stringify(api.getPetById({petId: '1'}).json).length") == 1800


async def test_a_long_answer_is_cut_and_says_so() -> None:
    async with listening() as api:
        api.answer = lambda: web.Response(text=json.dumps("x" * 100), content_type="application/json")
        async with built(openapi_capability(pets(), base_url=api.url), limits=ClientLimits(body_bytes=50)) as pack:
            found = await value(f"require('{pack.name}').getPetById({{petId: '1'}})", pack)
    assert (len(found["body"]), found["truncated"]) == (50, True)
    assert "json" not in found


async def test_several_calls_at_a_time() -> None:
    async with listening() as api:
        found = await call(
            api, "api.getPetById.all([{petId: '1'}, {petId: '2'}, {petId: '3'}]).map((r) => r.json.path)"
        )
        assert found == ["/pets/1", "/pets/2", "/pets/3"]
        async with built(openapi_capability(pets(), base_url=api.url)) as pack:
            script = (
                f"async function run() {{ const api = require('{pack.name}');"
                "const found = await Promise.all(['4', '5'].map((petId) => api.getPetById.async({petId})));"
                "return found.map((r) => r.json.path) }"
            )
            done = await outcome(script, pack)
    assert done.value_json == '["/pets/4","/pets/5"]'


async def test_wrong_calls_reach_nobody() -> None:
    async with listening() as api, built(openapi_capability(pets(), base_url=api.url)) as pack:
        module = f"require('{pack.name}')"
        assert await thrown(pack, f"{module}.getPetById()") == (
            "InvalidInput: getPetById: petId is missing: it is required (path parameter)"
        )
        assert await thrown(pack, f"{module}.getPetById({{petId: '../../admin', verbos: 1}})") == (
            "InvalidInput: getPetById: there is no parameter 'verbos'; did you mean \"verbose\"?"
        )
        assert "must be a string, not a number (5)" in await thrown(pack, f"{module}.getPetById({{petId: 5}})")
        assert "did you mean" in await thrown(pack, "_openapi.api_pet_store_api.call('getPetByID')")
        for other in ("null", "{toString: 1}"):
            said = await thrown(pack, f"_openapi.api_pet_store_api.call({other})")
            assert said.startswith("InvalidInput: operation must be a string, not ")
        assert not api.requests


async def test_a_path_parameter_stays_in_its_segment() -> None:
    async with listening() as api:
        await call(api, "api.getPetById({petId: '../../admin?x=1#y'})")
        assert api.target == "/pets/..%2F..%2Fadmin%3Fx%3D1%23y"


# What a script finds ---------------------------------------------------------------------------------------


async def test_the_module_its_help_and_its_functions() -> None:
    async with built(openapi_capability(pets(), base_url="https://api.example/v1/")) as pack:
        assert (pack.name, pack.description, pack.kind) == ("pet-store-api", "Pet Store API!!", "module")
        found = await value(
            "[Object.keys(require('pet-store-api')), help('pet-store-api'), skillGet('pet-store-api'),"
            "require('pet-store-api').help(), require('pet-store-api').help('getPetById'),"
            "require('pet-store-api').getPetById.name, skillList()[0].name]",
            pack,
        )
    names, helped, skill, own, one, name, listed = found
    assert names == ["postPets", "getPetById", "help"]
    assert helped == skill == own
    assert "declare function getPetById(params: { petId: string; verbose?: boolean; }): " in one
    assert "body: object" in helped and one in helped
    assert (name, listed) == ("getPetById", "pet-store-api")
    assert "declare function" not in pack.declarations


async def test_name_description_and_base_are_the_operators_first() -> None:
    named = openapi_capability(pets(), name="Pets_2", description="Ours", base_url="https://other.example")
    assert (named.name, named.description) == ("Pets_2", "Ours")
    titled = openapi_capability(pets(info={"title": "A\n*/ [1] button", "version": "1"}))
    assert (titled.name, titled.description) == ("a-1-button", "A * / (1) button")
    untitled = openapi_capability(pets(info={"title": "!!", "version": "1"}))
    assert untitled.name == "api"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "a b"}, "name 'a b': a name has letters, digits and single dashes between them"),
        ({"name": "__proto__"}, "name '__proto__': "),
        ({"name": ""}, "name '': "),
        ({"base_url": "api.example"}, "base_url: not a URL"),
        ({"header_origins": "https://a.example"}, "header_origins takes a list"),
        ({"headers": {"X A": "b"}}, "'X A' is no name of a header"),
        ({"headers": {"X-A": "b\r\nX-B: c"}}, "the header X-A: a value is one line of ASCII text"),
        ({"headers": {"X-A": "é"}}, "the header X-A: a value is one line of ASCII text"),
        ({"headers": {"Host": "evil"}}, "the header Host follows from the request itself: leave it out"),
        ({"headers": {"Accept": "a/b"}}, "the header accept goes wherever a redirect leads: give it in public_headers"),
        ({"headers": {"X-A": "1"}, "public_headers": {"x-a": "2"}}, "the header x-a is given twice"),
        ({"allow": ["a b"]}, "'a b': a pattern holds no"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        openapi_capability(pets(), **options)
    assert str(caught.value).startswith(said)


async def test_two_apis_stand_side_by_side() -> None:
    async with listening() as api:
        one, two = (openapi_capability(pets(), name=name, base_url=f"{api.url}/{name}") for name in ("one", "two-b"))
        async with built(one) as first, built(two) as second:
            found = await value(
                "['one', 'two-b'].map((n) => require(n).getPetById({petId: '1'}).json.path)", first, second
            )
    assert found == ["/one/pets/1", "/two-b/pets/1"]


async def test_a_thousand_operations_are_there_and_cost_few_words() -> None:
    paths = {f"/t{n}": {"get": {"operationId": f"get{n}", "responses": {}}} for n in range(1000)}
    async with listening() as api, built(openapi_capability(document(paths=paths), base_url=api.url)) as pack:
        found = await value("[Object.keys(require('things')).length, require('things').get777().json.path]", pack)
    assert found == [1001, "/t777"]
    assert len(pack.declarations) < 300
    assert len(pack.help["things"]) < 12_500


# Approval ------------------------------------------------------------------------------------------------


class Denying:
    """A policy that denies one tool and remembers all."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.calls: list[ToolCall] = []

    async def check(self, call: ToolCall) -> Decision:
        self.calls.append(call)
        return Decision(allowed=call.tool != self.tool, reason="not today")


async def test_a_policy_that_denies_the_module_keeps_it_out_of_reach() -> None:
    async with (
        listening() as api,
        built(openapi_capability(pets(), base_url=api.url), policy=Denying("pet-store-api")) as pack,
    ):
        assert "denied: not today" in await thrown(pack, "require('pet-store-api')")
        for name in ("call('getPetById', {petId: '1'})", "operations()", "describe()"):
            assert await thrown(pack, f"_openapi.api_pet_store_api.{name}") == (
                "PolicyDenied: pet-store-api denied: not today"
            )
        assert not api.requests


async def test_each_call_is_a_fetch_to_the_policy() -> None:
    policy = Denying("")
    async with listening() as api, built(openapi_capability(pets(), base_url=api.url), policy=policy) as pack:
        await value("require('pet-store-api').getPetById({petId: '1'}).status", pack)
        assert ("fetch", {"url": f"{api.url}/pets/1"}) in [(one.tool, one.args) for one in policy.calls]

        policy.tool = "fetch"
        assert "PolicyDenied: " in await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")
        assert len(api.requests) == 1


async def test_a_url_policy_sees_where_calls_go() -> None:
    async with listening() as api:
        policy = URLAllowlistPolicy([f"{api.url}/allowed"])
        async with built(openapi_capability(pets(), base_url=api.url), policy=policy) as pack:
            said = await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")
        assert "not in the allowlist" in said
        assert not api.requests


async def test_the_base_url_is_reachable_and_what_the_document_names_is_judged() -> None:
    async with listening() as api:
        async with built(openapi_capability(pets(servers=[{"url": api.url}]))) as pack:
            said = await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")
        assert said.startswith("RequestRefused: denied: 127.0.0.1:")
        assert not api.requests
        async with built(openapi_capability(pets(servers=[{"url": api.url}]), allow=[api.url])) as pack:
            assert await value("require('pet-store-api').getPetById({petId: '1'}).status", pack) == 200


async def test_a_run_may_narrow_what_the_operator_gave() -> None:
    async with listening() as api, built(openapi_capability(pets(), base_url=api.url), allow=["other.example"]) as pack:
        assert (await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")).startswith("RequestRefused: ")
        assert not api.requests


async def test_a_person_is_asked_as_for_fetch() -> None:
    person = Person(True)
    async with listening() as api:
        capability = openapi_capability(pets(servers=[{"url": api.url}]))
        async with built(capability, ask=(await person.questions()).ask) as pack:
            assert await value("require('pet-store-api').getPetById({petId: '1'}).status", pack) == 200
    assert len(person.messages) == 1
    assert "127.0.0.1" in person.messages[0]


async def test_a_redirect_out_of_the_boundary_is_refused() -> None:
    async with listening() as api, listening("127.0.0.2") as other:
        api.answers["/pets/1"] = web.Response(status=302, headers={"Location": f"{other.url}/stolen"})
        async with built(openapi_capability(pets(), base_url=api.url, headers={"X-Api-Key": KEY})) as pack:
            said = await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")
    assert said.startswith("RequestRefused: denied: 127.0.0.2:")
    assert not other.requests


# Headers that are nobody's business --------------------------------------------------------------------------


async def test_what_is_sent_once_and_for_all_goes_to_no_other_host() -> None:
    async with listening() as api, listening("127.0.0.2") as other:
        api.answers["/pets/1"] = web.Response(status=307, headers={"Location": f"{other.url}/elsewhere"})
        headers = {"Authorization": f"Bearer {KEY}", "X-Api-Key": KEY, "Cookie": f"sid={KEY}"}
        options: dict[str, Any] = {
            "headers": headers,
            "public_headers": {"Accept-Language": "de"},
            "allow": [other.url],
        }
        async with built(openapi_capability(pets(), base_url=api.url, **options)) as pack:
            assert await value("require('pet-store-api').getPetById({petId: '1'}).status", pack) == 200

        assert {name: api.last.headers[name] for name in headers} == headers
        assert KEY not in str(other.last.headers)
        assert other.last.headers["Accept-Language"] == "de"


async def test_a_server_of_another_origin_gets_them_only_when_it_is_named() -> None:
    async with listening() as api, listening("127.0.0.2") as other:
        source = pets(servers=[{"url": api.url}])
        source["paths"]["/pets"]["servers"] = [{"url": other.url}]
        options: dict[str, Any] = {"headers": {"X-Api-Key": KEY}, "allow": [api.url, other.url]}
        for origins, seen in ([], False), ([f"{other.url}/any"], True):
            async with built(openapi_capability(source, header_origins=origins, **options)) as pack:
                await value("require('pet-store-api').postPets({body: {}}).status", pack)
                await value("require('pet-store-api').getPetById({petId: '1'}).status", pack)
            assert (KEY in str(other.last.headers)) is seen
            assert KEY in str(api.last.headers)


def test_headers_that_would_go_nowhere_are_an_error() -> None:
    source = pets(servers=[])
    for item in source["paths"].values():
        item["servers"] = [{"url": "https://a.example"}]
    with pytest.raises(InvalidInput, match="headers would go nowhere: give header_origins"):
        openapi_capability(source, headers={"X-Api-Key": KEY})


@pytest.mark.parametrize(
    "header",
    [
        ("X-Api-Key", KEY),
        ("Authorization", f"Bearer {KEY}"),
        ("Authorization", "Basic dXNlcjpzM2NyM3Qta2V5LTAxMjM0NTY3ODk="),
        ("Cookie", f"a=b; sid={KEY}"),
    ],
)
async def test_an_echo_of_them_is_masked(header: tuple[str, str]) -> None:
    name, sent = header
    async with listening() as api:
        api.answer = lambda: web.json_response(
            {"whole": sent, "key": KEY, "url": f"https://a.example/?k={KEY}", "list": [{KEY: 1}]},
            headers={"X-Echo": sent},
        )
        events: list[dict[str, Json]] = []
        async with built(openapi_capability(pets(), base_url=api.url, headers={name: sent}), events=events) as pack:
            found = await value("require('pet-store-api').getPetById({petId: '1'})", pack)
            seen = await value("[help('pet-store-api'), Object.keys(globalThis), String(require)]", pack)

    assert api.last.headers[name] == sent
    everything = json.dumps([found, events, seen, pack.declarations, dict(pack.help)])
    assert KEY not in everything and sent not in everything
    assert found["json"]["key"] == f"[header {name.lower()}]"
    assert found["headers"]["x-echo"].count("[header ") >= 1


async def test_nor_does_the_beginning_of_one_survive_a_cut() -> None:
    async with listening() as api:
        api.answer = lambda: web.Response(text="x" * 40 + KEY)
        capability = openapi_capability(pets(), base_url=api.url, headers={"X-Api-Key": KEY})
        async with built(capability, limits=ClientLimits(body_bytes=50)) as pack:
            found = await value("require('pet-store-api').getPetById({petId: '1'})", pack)
    assert found["truncated"] is True
    assert "s3cr" not in found["body"]


async def test_no_error_tells_them() -> None:
    async with listening() as api:
        url = api.url
    async with built(openapi_capability(pets(), base_url=url, headers={"X-Api-Key": KEY})) as pack:
        said = await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")
    assert said.startswith("WorldError: ")
    assert KEY not in said


# The rest -------------------------------------------------------------------------------------------------


async def test_secrets_of_the_run_are_filled_in_for_their_hosts() -> None:
    source = pets()
    source["paths"]["/pets/{petId}"]["get"]["parameters"].append({"name": "X-Token", "in": "header"})
    async with listening() as api, listening("127.0.0.2") as other:
        secret = Secret(name="TOKEN", value=KEY, origins=(api.url,))
        held = secret.placeholder
        for target, status in ((api, 200), (other, 0)):
            async with built(openapi_capability(source, base_url=target.url), secrets=Secrets([secret])) as pack:
                call = f"require('pet-store-api').getPetById({{petId: '1', 'X-Token': '{held}'}})"
                if status:
                    api.answer = lambda: web.json_response({"token": KEY})
                    found = await value(call, pack)
                    assert found["json"] == {"token": held}
                    await value(f"require('pet-store-api').postPets({{body: {{a: 'x {held}'}}}}).status", pack)
                else:
                    assert "RequestRefused: secret TOKEN may go to" in await thrown(pack, call)
                assert "never in a URL" in await thrown(
                    pack, f"require('pet-store-api').getPetById({{petId: '{held}'}})"
                )

    assert api.requests[0].headers["X-Token"] == KEY
    assert json.loads(api.bodies[1]) == {"a": f"x {KEY}"}
    assert not other.requests


async def test_a_body_with_a_secret_follows_no_redirect_to_another_host() -> None:
    async with listening() as api, listening("127.0.0.2") as other:
        api.answers["/pets"] = web.Response(status=307, headers={"Location": f"{other.url}/pets"})
        secret = Secret(name="TOKEN", value=KEY, origins=(api.url,))
        capability = openapi_capability(pets(), base_url=api.url, allow=[other.url])
        async with built(capability, secrets=Secrets([secret])) as pack:
            call = f"require('pet-store-api').postPets({{body: {{a: '{secret.placeholder}'}}}})"
            assert "RequestRefused: the request has a secret in it" in await thrown(pack, call)

    assert KEY in api.bodies[0].decode()
    assert not other.requests


async def test_no_redirect_tells_another_host_a_secret_and_no_header_is_called_so() -> None:
    async with listening() as api, listening("127.0.0.2") as other:
        secret = Secret(name="TOKEN", value=KEY, origins=(api.url,))
        api.answers["/pets"] = web.Response(status=302, headers={"Location": f"{other.url}/pets?key={KEY}"})
        api.answers["/pets/1"] = web.Response(headers={f"X-{KEY}": "1"})
        capability = openapi_capability(pets(), base_url=api.url, allow=[other.url])
        async with built(capability, secrets=Secrets([secret])) as pack:
            told = await thrown(pack, "require('pet-store-api').postPets({body: {a: 1}})")
            reply = await value("require('pet-store-api').getPetById({petId: '1'})", pack)
    assert f"the redirect to {other.url} has secret TOKEN in its URL" in told and not other.requests
    assert KEY.lower() not in json.dumps(reply).lower()


async def test_events_tell_of_calls_and_of_failures() -> None:
    events: list[dict[str, Json]] = []
    async with listening() as api, built(openapi_capability(pets(), base_url=api.url), events=events) as pack:
        await value("require('pet-store-api').getPetById({petId: 'a b'}).status", pack)
        url = api.url
    async with built(openapi_capability(pets(), base_url=url), events=events) as pack:
        await thrown(pack, "require('pet-store-api').getPetById({petId: '1'})")

    first, second = events
    assert first["content"] == f"pet-store-api getPetById GET {url}/pets/a%20b: 200"
    assert first["args"] == {
        "verb": "getPetById",
        "method": "GET",
        "url": f"{url}/pets/a%20b",
        "status": 200,
        "bytes": len('{"path": "/pets/a b"}'),
    }
    assert str(second["content"]).startswith(f"pet-store-api getPetById GET {url}/pets/1: failed: ")


async def test_what_it_returns_is_marked_as_written_by_strangers() -> None:
    async with listening() as api, built(openapi_capability(pets(), base_url=api.url)) as pack:
        done = await outcome("function run() { return require('pet-store-api').getPetById({petId: '1'}).status }", pack)
    assert done.untrusted


async def test_a_run_that_is_cancelled_ends_its_call() -> None:
    arrived = asyncio.Event()

    async def never(request: web.BaseRequest) -> web.StreamResponse:
        arrived.set()
        await asyncio.Event().wait()
        raise AssertionError

    runner = web.ServerRunner(web.Server(never), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with built(openapi_capability(pets(), base_url=url)) as pack, open_sandbox(packs=[pack]) as sandbox:
            script = "function run() { require('pet-store-api').getPetById({petId: '1'}) }"
            task = asyncio.create_task(sandbox.run(script))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            done: Outcome = await sandbox.run("function run() { return 1 }")
            assert done.value_json == "1"
    finally:
        await runner.cleanup()


async def test_one_api_serves_two_runs_at_once() -> None:
    async with listening() as api:
        capability = openapi_capability(pets(), base_url=api.url)
        async with built(capability) as one, built(capability) as two, asyncio.TaskGroup() as group:
            calls = [
                group.create_task(value(f"require('pet-store-api').getPetById({{petId: '{n}'}}).json.path", pack))
                for n, pack in enumerate((one, two))
            ]
    assert [task.result() for task in calls] == ["/pets/0", "/pets/1"]


async def test_a_pack_may_be_made_of_an_api_that_was_read() -> None:
    async with listening() as api, GuardedClient(Boundary(allow=[api.url])) as client:
        pack = await openapi_pack(client, read_api(pets(), base_url=api.url), headers={"X-Api-Key": KEY}, name="p")
        assert await value("require('p').getPetById({petId: '1'}).status", pack) == 200
        assert api.last.headers["X-Api-Key"] == KEY


async def test_scripts_cannot_change_what_later_calls_are() -> None:
    async with (
        listening() as api,
        built(openapi_capability(pets(), base_url=api.url)) as pack,
        open_sandbox(packs=[pack]) as sandbox,
    ):
        evil = "_openapi.api_pet_store_api.call = () => ({status: 999}); Object.prototype.petId = 'x'"
        await sandbox.run(f"function run() {{ {evil} }}")
        done = await sandbox.run("function run() { return require('pet-store-api').getPetById({petId: '7'}).status }")
    assert done.value_json == "200"
    assert api.target == "/pets/7"
