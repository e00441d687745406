from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
from aiohttp import web

from agentloop.capabilities import BuildContext
from agentloop.guard import DefaultPolicy, MultiPolicy, OwnPorts, URLAllowlistPolicy
from agentloop.guard.network.client import ClientLimits
from agentloop.guard.policy import Decision, ToolCall
from agentloop.packs.base import Pack
from agentloop.packs.fetch import fetch_pack
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts
from tests.packs.web import Names, Person, Site, guarded, outcome, served, value


async def got(expression: str, site: Site, permission: Permission | None = None) -> Any:
    """What an expression is for a script that may reach `site`; `U` is its URL."""
    async with guarded(site) as client:
        return await value(f"((U) => ({expression}))(args.url)", fetch_pack(client, permission), args={"url": site.url})


async def refusal(script: str, pack: Pack, **args: Any) -> str:
    done = await outcome(f"function run(args) {{ {script} }}", pack, args=args)
    assert done.error is not None
    return f"{done.error.name}: {done.error.message}"


# A response ------------------------------------------------------------------------------------------


async def test_status_body_and_lower_case_headers_come_back() -> None:
    async with served() as site:
        found = await got(
            "(() => { const r = fetch(U + '/a?b=1'); return [r, r.headers['X-Test'] === undefined] })()", site
        )

    reply, other_case_is_undefined = found
    assert (reply["status"], reply["ok"], reply["body"]) == (200, True, "GET /a")
    assert reply["headers"]["x-test"] == "yes"
    assert reply["url"] == f"{site.url}/a?b=1"
    assert "truncated" not in reply
    assert other_case_is_undefined is True


async def test_a_status_of_failure_is_no_error() -> None:
    async with served() as site:
        site.routes["/gone"] = lambda: web.Response(status=404, text="no such thing")
        reply = await got("fetch(U + '/gone')", site)

    assert (reply["status"], reply["ok"], reply["body"]) == (404, False, "no such thing")


async def test_several_values_of_a_header_are_joined() -> None:
    def twice() -> web.Response:
        response = web.Response()
        response.headers.add("Link", "<a>")
        response.headers.add("Link", "<b>")
        return response

    async with served() as site:
        site.routes["/"] = twice
        assert await got("fetch(U).headers.link", site) == "<a>, <b>"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("café".encode(), "text/plain"),
        ("café".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("café".encode("cp1252"), 'text/html; charset="windows-1252"'),
        ("café".encode("utf-16"), "text/plain"),
        ("\ufeffcafé".encode(), "text/plain; charset=latin1"),
        (b"<meta charset='iso-8859-1'>" + "café".encode("latin-1"), "text/html"),
        ("café".encode(), "text/plain; charset=punycode"),
        ("café".encode(), "text/plain; charset=no-such-thing"),
    ],
)
async def test_the_body_is_decoded_by_its_charset(body: bytes, kind: str) -> None:
    async with served() as site:
        site.routes["/"] = lambda: web.Response(body=body, headers={"Content-Type": kind})
        text = await got("fetch(U).body", site)

    assert text.endswith("café")


async def test_a_body_of_two_mebibytes_is_whole_and_a_byte_more_is_cut_and_said() -> None:
    limit = 2 * 1024 * 1024
    async with served() as site:
        site.routes["/whole"] = lambda: web.Response(body=b"x" * limit)
        site.routes["/more"] = lambda: web.Response(body=b"x" * (limit + 1))
        shape = "((r) => [r.body.length, r.truncated])"
        assert await got(f"[{shape}(fetch(U + '/whole')), {shape}(fetch(U + '/more'))]", site) == [
            [limit, None],
            [limit, True],
        ]


async def test_a_compressed_bomb_is_cut_like_any_other_body() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000, compresslevel=9)
    async with served() as site:
        site.routes["/"] = lambda: web.Response(body=bomb, headers={"Content-Encoding": "gzip"})
        assert await got("((r) => [r.body.length, r.truncated])(fetch(U))", site) == [2 * 1024 * 1024, True]


# A request -------------------------------------------------------------------------------------------


async def test_headers_reach_the_server_as_text() -> None:
    async with served() as site:
        await got("fetch(U, {headers: {'X-One': 'two', 'X-Count': 3, 'X-No': null}})", site)

    sent = site.requests[0].headers
    assert (sent["x-one"], sent["x-count"]) == ("two", "3")
    assert "x-no" not in sent
    assert sent["user-agent"] == "agentloop/1.0"


@pytest.mark.parametrize(
    ("options", "body", "kind"),
    [
        ({"method": "post", "body": "as it is"}, b"as it is", "text/plain; charset=utf-8"),
        ({"method": "POST", "body": "q=a+b&n=%C3%A9"}, b"q=a+b&n=%C3%A9", "application/x-www-form-urlencoded"),
        ({"method": "POST", "body": "q=a", "headers": {"Content-Type": "text/x"}}, b"q=a", "text/x"),
        ({"method": "POST", "body": "q=a", "headers": [["Content-Type", "text/x"]]}, b"q=a", "text/x"),
        ({"method": "POST", "body": "q = a"}, b"q = a", "text/plain; charset=utf-8"),
        ({"method": "POST", "body": ""}, b"", "text/plain; charset=utf-8"),
        ({"method": "PUT", "json": ["é"]}, '["é"]'.encode(), "application/json"),
        (
            {"method": "PATCH", "json": {}, "headers": {"Content-Type": "application/x+json"}},
            b"{}",
            "application/x+json",
        ),
        ({"method": "POST", "form": {"q": "a b", "n": [1, 2]}}, b"q=a+b&n=1&n=2", "application/x-www-form-urlencoded"),
        ({"method": "DELETE"}, b"", None),
    ],
)
async def test_method_and_body_reach_the_server(options: dict[str, Any], body: bytes, kind: str | None) -> None:
    async with served() as site:
        await got(f"fetch(U, {json.dumps(options)})", site)

    assert site.requests[0].method == options["method"].upper()
    assert site.bodies == [body]
    assert site.requests[0].headers.get("content-type") == kind


async def test_a_script_may_name_another_user_agent() -> None:
    async with served() as site:
        await got("fetch(U, {headers: {'User-Agent': 'mine/2'}})", site)

    assert site.requests[0].headers["user-agent"] == "mine/2"


@pytest.mark.parametrize(
    ("auth", "header"),
    [({"bearer": "t0k"}, "Bearer t0k"), ({"user": "me", "password": "a:b"}, "Basic bWU6YTpi")],
)
async def test_auth_becomes_its_header(auth: dict[str, str], header: str) -> None:
    async with served() as site:
        await got(f"fetch(U, {{auth: {json.dumps(auth)}}})", site)

    assert site.requests[0].headers["authorization"] == header


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("fetch()", "needs a URL"),
        ("fetch('shop')", "write it with its scheme"),
        ("fetch(U, 'POST')", "options must be an object"),
        ("fetch(U, {redirect: 'manual'})", "there are: method, headers, body, json, form, auth"),
        ("fetch(U, {method: 'TRACE'})", "cannot be sent"),
        ("fetch(U, {body: 'a', json: 1})", "one of body, json and form"),
        ("fetch(U, {form: 'a=b'})", "form is an object"),
        ("fetch(U, {body: {a: 1}})", "{json: …} sends a value as JSON"),
        ("fetch(U, {body: [['a', 'b']]})", "{json: …} sends a value as JSON"),
        ("fetch(U, {body: new Map()})", "{json: …} sends a value as JSON"),
        ("fetch(U, {headers: ['a']})", "headers is an object"),
        ("fetch(U, {auth: 'token'})", "auth is {bearer"),
        ("fetch(U, {headers: {Host: 'other.test'}})", "leave it out"),
        ("fetch(U, {headers: {'X-A': 'b\\r\\nHost: other.test'}})", "one line"),
        ("fetch(U, {headers: {'X A': 'b'}})", "no name of a header"),
        ("allowUrls()", "allowUrls needs hosts"),
        ("allowUrls([])", "allowUrls needs hosts"),
        ("allowUrls(null)", "allowUrls needs hosts"),
        ("htmlToMarkdown(1)", "html must be a string"),
    ],
)
async def test_what_cannot_be_sent_is_explained_and_sends_nothing(call: str, says: str) -> None:
    async with served() as site, guarded(site) as client:
        assert says in await refusal(f"const U = args.url; {call}", fetch_pack(client), url=site.url)

    assert not site.requests


async def test_search_params_are_sent_as_a_form() -> None:
    async with served() as site:
        await got("fetch(U, {method: 'POST', body: new URLSearchParams({q: 'a b', '/': 'ä&='})})", site)

    assert parse_qs(site.bodies[0].decode()) == {"q": ["a b"], "/": ["ä&="]}
    assert site.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


async def test_many_are_fetched_side_by_side_in_order() -> None:
    async with served() as site:
        found = await got("fetch.all(['/a', '/b', '/c'].map((p) => U + p)).map((r) => r.body)", site)
        spread = await got("fetch.all([{spread: [U, {method: 'POST'}]}])[0].body", site)

    assert found == ["GET /a", "GET /b", "GET /c"]
    assert spread == "POST /"


async def test_what_a_response_says_is_marked_as_written_by_strangers() -> None:
    async with served() as site, guarded(site) as client:
        done = await outcome(
            "function run(args) { log(fetch(args.url).body) }", fetch_pack(client), args={"url": site.url}
        )
        plain = await outcome("function run(args) { log(fetchWhitelist()) }", fetch_pack(client))

    assert done.untrusted
    assert not plain.untrusted


async def test_each_request_is_an_event_and_no_credential_is_in_it() -> None:
    told: list[dict[str, Any]] = []

    async def tell(type: str, **fields: Any) -> None:
        told.append({"type": type, **fields})

    async with served() as site, guarded(site) as client:
        pack = fetch_pack(client, Permission(BuildContext(emit=tell)))
        await value("fetch(args.url, {auth: {bearer: 'hush'}}).status", pack, args={"url": site.url})
        await refusal("fetch('http://127.0.0.2/')", pack)

    assert told[0]["content"] == f"fetch GET {site.url}/: 200"
    assert "rule not-allowed" in told[1]["content"]
    assert "hush" not in str(told)


# Approval --------------------------------------------------------------------------------------------


async def test_with_nobody_to_ask_a_host_is_refused_with_the_reason_and_never_contacted() -> None:
    async with served("127.0.0.2") as forbidden, served() as site, guarded(site) as client:
        said = await refusal("fetch(args.url)", fetch_pack(client), url=forbidden.url)

    assert said.startswith("RequestRefused: denied: 127.0.0.2:")
    assert "(rule not-allowed)" in said
    assert not forbidden.sockets


async def test_the_reason_of_the_policy_is_what_the_script_reads() -> None:
    class Closed:
        async def check(self, call: ToolCall) -> Decision:
            return Decision(allowed=False, reason="not on Sundays")

    class Broken:
        async def check(self, call: ToolCall) -> Decision:
            raise LookupError("no table")

    async with served() as site, guarded(site) as client:
        closed = await refusal(
            "fetch(args.url)", fetch_pack(client, Permission(BuildContext(policy=Closed()))), url=site.url
        )
        broken = await refusal(
            "fetch(args.url)", fetch_pack(client, Permission(BuildContext(policy=Broken()))), url=site.url
        )
        person = Person(False)
        asked = await refusal("fetch(args.url)", fetch_pack(client, await person.permission(Closed())), url=site.url)

    assert closed == f"PolicyDenied: {site.place} denied: not on Sundays"
    assert "the policy failed: LookupError: no table" in broken
    assert asked == closed
    assert "not on Sundays" in person.messages[0]
    assert not site.sockets


async def test_an_approval_asks_once_names_the_host_and_holds_for_later_turns_and_runs() -> None:
    person = Person(True)
    async with served() as site, guarded("only.test") as client:
        fetched = "fetch(args.url + '/x').status"
        first = fetch_pack(client, await person.permission())
        assert await value(f"[{fetched}, {fetched}]", first, args={"url": site.url}) == [200, 200]
        assert await value(fetched, first, args={"url": site.url}) == 200
        later = fetch_pack(client, await person.permission())
        assert await value(fetched, later, args={"url": site.url}) == 200

    assert len(person.messages) == 1
    assert site.place in person.messages[0]
    assert "private address" in person.messages[0]
    assert [grant.subject for grant in await person.grants()] == [f"private {site.place}"]


async def test_an_approval_covers_that_port_alone() -> None:
    person = Person(True, False)
    async with served() as site, served() as other, guarded("only.test") as client:
        pack = fetch_pack(client, await person.permission())
        assert await value("fetch(args.url).status", pack, args={"url": site.url}) == 200
        assert "denied" in await refusal("fetch(args.url)", pack, url=other.url)

    assert other.place in person.messages[1]
    assert not other.sockets


async def test_calls_side_by_side_to_one_host_are_one_question() -> None:
    person = Person(True)
    async with served() as site, guarded("only.test") as client:
        pack = fetch_pack(client, await person.permission())
        found = await value("fetch.all([1, 2, 3].map((n) => args.url + '/' + n)).length", pack, args={"url": site.url})

    assert found == 3
    assert len(person.messages) == 1


async def test_allow_urls_then_fetch_is_one_question() -> None:
    person = Person(True)
    async with served() as site, guarded("only.test") as client:
        pack = fetch_pack(client, await person.permission())
        script = "[allowUrls([args.url, args.place]), allowUrls(args.url), fetch(args.url).status]"
        assert await value(script, pack, args={"url": site.url, "place": site.place}) == [True, True, 200]

    assert len(person.messages) == 1


async def test_allow_urls_is_true_only_if_all_are_approved() -> None:
    person = Person(True, False)
    async with served() as site, guarded("only.test") as client:
        pack = fetch_pack(client, await person.permission())
        assert await value("allowUrls([args.url, 'https://127.0.0.9'])", pack, args={"url": site.url}) is False

    assert len(person.messages) == 2


async def test_what_is_allowed_is_never_asked_about() -> None:
    person = Person()
    async with served() as site, guarded(site) as client:
        pack = fetch_pack(client, await person.permission(DefaultPolicy()))
        assert await value("[fetch(args.url).status, allowUrls(args.url)]", pack, args={"url": site.url}) == [200, True]

    assert not person.messages


async def test_a_failing_requester_is_a_refusal() -> None:
    async def broken(message: str, **fields: Any) -> bool:
        raise LookupError("nobody at the door")

    async with served() as site, guarded("only.test") as client:
        said = await refusal("fetch(args.url)", fetch_pack(client, Permission(BuildContext(ask=broken))), url=site.url)

    assert "denied" in said
    assert not site.sockets


async def test_a_name_is_not_resolved_before_somebody_said_yes() -> None:
    names = Names(secret_evil_test=["93.184.215.14"])
    person = Person(False)
    async with guarded("only.test", names=names) as client:
        pack = fetch_pack(client, await person.permission())
        assert "denied" in await refusal("fetch('https://secret.evil.test/')", pack)

    assert person.messages
    assert not names.asked


async def test_that_a_name_lies_at_a_private_address_is_a_question_of_its_own() -> None:
    async with served() as site:
        names = Names(inside_test=["127.0.0.1"])
        once, twice = Person(True, False), Person(True, True)
        async with guarded("only.test", names=names) as client:
            url = f"http://inside.test:{site.port}/"
            pack = fetch_pack(client, await once.permission())
            assert "rule private-address" in await refusal("fetch(args.url)", pack, url=url)
            assert not site.sockets
            pack = fetch_pack(client, await twice.permission())
            assert await value("fetch(args.url).status", pack, args={"url": url}) == 200

    assert "private address" not in twice.messages[0].partition("Now:")[0]
    assert "private address" in twice.messages[1].partition("Now:")[0]
    assert site.requests[0].headers["host"] == f"inside.test:{site.port}"


async def test_whitelist_is_that_of_the_policy_else_of_the_boundary() -> None:
    policy = MultiPolicy([DefaultPolicy(), URLAllowlistPolicy(["https://api.test/v1", "*.shop.test"])])
    async with guarded("a.test", "b.test:8080") as client:
        assert await value("fetchWhitelist()", fetch_pack(client)) == ["a.test", "b.test:8080"]
        pack = fetch_pack(client, Permission(BuildContext(policy=policy)))
        assert await value("fetchWhitelist()", pack) == ["https://api.test/v1", "*.shop.test"]
    async with guarded() as client:
        assert await value("fetchWhitelist()", fetch_pack(client)) == []


async def test_each_hop_is_asked_of_the_policy() -> None:
    async with served() as site, served() as other, guarded(site, other) as client:
        pack = fetch_pack(client, Permission(BuildContext(policy=URLAllowlistPolicy([f"{site.url}/redirect"]))))
        said = await refusal("fetch(args.url)", pack, url=f"{site.url}/redirect?to={other.url}/x")

    assert "not in the allowlist" in said
    assert not other.sockets


# The boundary ----------------------------------------------------------------------------------------

OURS = 54321
NEVER_REACHED = {
    "http://127.0.0.1": "private-address",
    "http://localhost.": "private-address",
    "http://[::1]": "private-address",
    "http://[::ffff:7f00:1]": "private-address",
    "http://0/": "private-address",
    "http://0x7f.1": "private-address",
    "http://0177.0.0.1": "private-address",
    "http://2130706433": "private-address",
    "http://127.1": "private-address",
    "http://127。0。0。1": "private-address",
    "http://１２７.0.0.1": "private-address",
    "http://%31%32%37.0.0.1": "private-address",
    "http://169.254.169.254": "metadata",
    "http://[::ffff:169.254.169.254]": "metadata",
    "http://[64:ff9b::a9fe:a9fe]": "metadata",
    "http://[fd00:ec2::254]": "metadata",
    "http://metadata.google.internal": "metadata",
    "http://100.64.0.1": "private-address",
    "http://[fd00::1]": "private-address",
    "http://224.0.0.1": "multicast",
    "http://169.254.1.1": "link-local",
    "http://rebind.test": "private-address",
    "https://ok.test@evil.test": "private-address",
    "https://ok.test:pw@evil.test": "private-address",
    "https://ok.test%40evil.test": "",
    "https://ok.test.evil.test": "private-address",
    "https://evil.test/#@ok.test": "private-address",
    "https://evil.test\\@ok.test": "private-address",
    "https://EVIL.test": "private-address",
    "https://ev\til.te\nst": "private-address",
    f"http://127.0.0.1:{OURS}": "own-port",
    "http://127.0.0.1:8080": "port",
    "http://1.1.1.1:22": "port",
    "file:///etc/passwd": "scheme",
    "view-source:http://ok.test": "scheme",
    "data:text/html,x": "scheme",
    "blob:http://ok.test/1": "scheme",
    "javascript:alert(1)": "scheme",
    "chrome://settings": "scheme",
    "about:srcdoc": "scheme",
    "filesystem:http://ok.test/t/x": "scheme",
    "ftp://ok.test/": "scheme",
    "gopher://ok.test/": "scheme",
}


def names() -> Names:
    evil = {name: ["127.0.0.1"] for name in ("evil_test", "ok_test_evil_test")}
    return Names(rebind_test=["127.0.0.1"], **evil)


@pytest.mark.parametrize("url", NEVER_REACHED)
async def test_the_table_of_urls(url: str) -> None:
    own = OwnPorts([OURS])
    async with guarded(names=names(), own_ports=own) as client:
        said = await refusal("fetch(args.url)", fetch_pack(client), url=url)

    rule = NEVER_REACHED[url]
    assert f"(rule {rule})" in said if rule else said.startswith("InvalidInput")


@pytest.mark.parametrize("url", [url for url in NEVER_REACHED if "\n" not in url])
async def test_no_redirect_leads_from_an_allowed_host_to_the_table(url: str) -> None:
    async with served() as site, served("127.0.0.1") as forbidden:
        # Every name and number of the table that means this machine is tried at a port where somebody listens.
        aimed = url if ":" in url.partition("://")[2] or "://" not in url else _at_port(url, forbidden.port)
        async with guarded(site, "*", f"http://*:{forbidden.port}", names=names()) as client:
            chain = f"{site.url}/redirect?to=" + _quoted(f"{site.url}/redirect?to={_quoted(aimed)}")
            said = await refusal("fetch(args.url)", fetch_pack(client), url=chain)

    assert "denied" in said or "not reachable" in said or "no URL" in said
    assert site.hits["/redirect"] == 2
    assert not forbidden.sockets


def _at_port(url: str, port: int) -> str:
    scheme, _, rest = url.partition("://")
    cut = min((at for mark in "/\\#" if (at := rest.find(mark)) >= 0), default=len(rest))
    return f"{scheme}://{rest[:cut]}:{port}{rest[cut:]}"


def _quoted(text: str) -> str:
    return quote(text, safe="")


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://metadata.google.internal/", "http://224.0.0.1/"])
async def test_some_places_are_not_even_asked_about(url: str) -> None:
    person = Person(True)
    async with guarded("only.test") as client:
        await refusal("fetch(args.url)", fetch_pack(client, await person.permission()), url=url)

    assert not person.messages


async def test_own_ports_are_not_even_asked_about() -> None:
    person = Person(True)
    async with served() as ours, guarded("only.test", own_ports=OwnPorts([ours.port])) as client:
        said = await refusal("fetch(args.url)", fetch_pack(client, await person.permission()), url=ours.url)

    assert "(rule own-port)" in said
    assert not person.messages
    assert not ours.sockets


async def test_a_name_that_leads_elsewhere_the_second_time_is_refused() -> None:
    async with served() as site, served("127.0.0.2") as other:
        moving = Names(moves_test=["127.0.0.1", "127.0.0.2"])
        async with guarded(f"http://moves.test:{site.port}", names=moving) as client:
            pack = fetch_pack(client)
            url = f"http://moves.test:{site.port}/"
            assert await value("fetch(args.url).status", pack, args={"url": url}) == 200
            assert "(rule rebinding)" in await refusal("fetch(args.url)", pack, url=url)

    assert not other.sockets


async def test_a_name_approved_as_public_is_asked_about_again_when_it_turns_private() -> None:
    person = Person(True, False)
    async with served() as site:
        moving = Names(moves_test=["192.0.2.1", "127.0.0.1"])
        async with guarded("only.test", names=moving) as client:
            pack = fetch_pack(client, await person.permission())
            said = await refusal("fetch(args.url)", pack, url=f"http://moves.test:{site.port}/")

    assert "rule private-address" in said
    assert not site.sockets


async def test_a_server_that_never_ends_is_left() -> None:
    hold = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        await hold.wait()
        writer.close()

    server = await asyncio.start_server(slow, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with guarded(f"http://127.0.0.1:{port}", limits=ClientLimits(timeout_s=0.3)) as client:
            said = await refusal("fetch(args.url)", fetch_pack(client), url=f"http://127.0.0.1:{port}/")
        hold.set()

    assert "did not answer within 0.3 s" in said


# HTML ------------------------------------------------------------------------------------------------


async def test_html_becomes_markdown() -> None:
    html = """<html><head><title>t</title><style>p{}</style></head><body><nav><a href="/n">Home</a></nav>
    <h1>Title</h1><p>A <b>bold</b> <a href="https://a.test/x">link</a> and <a href="rel">one</a>.</p>
    <script>evil()</script><ul><li>one</li></ul><pre><code>x  y</code></pre>
    <table><tr><th>a|b</th></tr><tr><td>1</td></tr></table>
    <p style="display:none">hidden</p></body></html>"""
    async with guarded() as client:
        text = await value("htmlToMarkdown(args.html)", fetch_pack(client), args={"html": html})
        assert await value("htmlToMarkdown('')", fetch_pack(client)) == ""

    assert "# Title" in text.splitlines()
    assert "**bold**" in text
    assert "[link](https://a.test/x)" in text
    assert "[one](rel)" in text
    assert "[Home](/n)" in text
    assert "| a\\|b |" in text
    assert "x  y" in text
    for left_out in ("evil", "p{}", "hidden", "title"):
        assert left_out not in text.lower().replace("# title", "")


async def test_html_that_cannot_be_converted_whole_is_an_error() -> None:
    async with guarded() as client:
        assert "nests too deeply" in await refusal("htmlToMarkdown('<div>'.repeat(5000) + 'x')", fetch_pack(client))


# The pack --------------------------------------------------------------------------------------------


async def test_declarations_and_primitives_agree() -> None:
    async with guarded() as client:
        pack = fetch_pack(client)

    assert help_texts(pack.declarations).keys() == pack.primitives.keys() == pack.help.keys()
