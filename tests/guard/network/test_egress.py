from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import aiohttp
import pytest

from agentloop.errors import PolicyDenied, RequestRefused
from agentloop.guard import Boundary, Checked, FilteringProxy, GuardedClient, NetworkDecision, ProxyLimits, Url
from agentloop.guard.network.egress import CapReached, Egress, EgressLimits
from tests.guard.network.origin import Origin, proxy_address, say, until
from tests.guard.network.test_proxy import credentials, get


def decision(
    host: str, *, rule: str = "allow", allowed: bool = True, reason: str = "", error: str = ""
) -> NetworkDecision:
    return NetworkDecision(
        host=host, port=80, scheme="http", allowed=allowed, rule=rule, reason=reason, error=error, at=0.0
    )


def test_what_passed_is_told_by_host_and_door() -> None:
    egress = Egress()
    page, fetch = egress.door("page"), egress.door("fetch")
    for door in (page, page, fetch):
        door(decision("shop.test"))
    page(decision("shop.test", error="it left"))
    page.tally("shop.test", 80).sent(10)
    page.tally("shop.test", 80).received(100)
    fetch.tally("shop.test", 80).received(7)

    told = egress.to_dict()

    common = {"host": "shop.test", "port": 80, "rule": "allow"}
    assert told["contacted"] == [
        common | {"door": "page", "requests": 2, "unanswered": 1, "sent": 10, "received": 100},
        common | {"door": "fetch", "requests": 1, "unanswered": 0, "sent": 0, "received": 7},
    ]
    assert (told["sent"], told["received"], told["caps_reached"]) == (10, 107, [])


def test_what_was_refused_is_told_with_its_first_reason() -> None:
    egress = Egress()
    door = egress.door("page")
    door(decision("evil.test", rule="not-allowed", allowed=False, reason="first"))
    door(decision("evil.test", rule="not-allowed", allowed=False, reason="second"))

    assert egress.to_dict()["refused"] == [
        {"host": "evil.test", "port": 80, "door": "page", "rule": "not-allowed", "requests": 2, "reason": "first"}
    ]


@pytest.mark.parametrize("rule", ["malformed", "policy", "scheme"])
def test_a_reason_that_quotes_the_request_is_left_out(rule: str) -> None:
    egress = Egress()
    egress.door("page")(decision("", rule=rule, allowed=False, reason="no URL: http://[x/?token=hunter2"))

    assert "hunter2" not in str(egress.to_dict())


def test_memory_is_bounded_and_refusals_hide_nothing() -> None:
    egress = Egress(hosts=3)
    door = egress.door("page")
    for number in range(1000):
        door(decision(f"{number}.evil.test", rule="not-allowed", allowed=False, reason="no"))
    for number in range(1000):
        door(decision(f"{number}.shop.test"))
        door.tally(f"{number}.shop.test", 80).sent(1)

    told = egress.to_dict()

    assert [place["host"] for place in told["contacted"]] == ["0.shop.test", "1.shop.test", "2.shop.test", "*"]
    assert [place["host"] for place in told["refused"]] == ["0.evil.test", "1.evil.test", "2.evil.test", "*"]
    assert sum(place["requests"] for place in told["contacted"]) == 1000
    assert sum(place["requests"] for place in told["refused"]) == 1000
    assert told["sent"] == 1000


def test_all_doors_share_one_cap() -> None:
    egress = Egress(limits=EgressLimits(bytes=100))
    page, fetch = egress.door("page"), egress.door("fetch")
    page.tally("a.test", 80).received(99)
    assert not fetch.spent

    with pytest.raises(CapReached):
        fetch.tally("b.test", 80).sent(1)

    assert page.spent
    refusal = page.refusal("a.test")
    assert isinstance(refusal, RequestRefused)
    assert (refusal.host, refusal.rule) == ("a.test", "byte-cap")


def test_the_weakest_boundary_of_a_run_stands() -> None:
    egress = Egress()
    assert egress.boundary == "none"
    egress.opened("unguarded")
    egress.opened("proxy")
    assert egress.to_dict()["boundary"] == "unguarded"


# Caps ---------------------------------------------------------------------------------------------


def big(site: Origin, size: int) -> str:
    site.pages["/big"] = "x" * size
    return f"{site.url}/big"


async def test_what_passes_is_counted(site: Origin, client: aiohttp.ClientSession) -> None:
    egress = Egress()
    async with FilteringProxy(Boundary(allow=[site.place]), door=egress.door("page")) as proxy:
        async with client.post(f"{site.url}/echo", data=b"x" * 5000, proxy=proxy_address(proxy)) as response:
            assert len(await response.read()) == 5000
        async with client.get("http://127.0.0.2:9/", proxy=proxy_address(proxy)) as response:
            assert response.status == 403

    told = egress.to_dict()
    [place] = told["contacted"]
    assert (place["host"], place["requests"]) == ("127.0.0.1", 1)
    assert 5000 < place["sent"] < 6000
    assert 5000 < place["received"] < 6000
    assert [refused["host"] for refused in told["refused"]] == ["127.0.0.2"]


async def test_the_byte_cap_cuts_an_answer_short_and_refuses_the_next(
    site: Origin, client: aiohttp.ClientSession
) -> None:
    egress = Egress(limits=EgressLimits(bytes=200_000))
    refused: list[NetworkDecision] = []
    door = egress.door("page")
    async with FilteringProxy(Boundary(allow=[site.place]), door=door, on_decision=refused.append) as proxy:
        with pytest.raises(aiohttp.ClientError):
            async with client.get(big(site, 900_000), proxy=proxy_address(proxy)) as response:
                await response.read()
        async with client.get(f"{site.url}/after", proxy=proxy_address(proxy)) as response:
            assert (response.status, response.headers["X-Agentloop-Blocked"]) == (403, "1")
            assert "byte-cap" in await response.text()

    assert site.hits == {"/big": 1}
    assert egress.to_dict()["caps_reached"] == ["byte-cap"]
    assert egress.to_dict()["received"] < 200_000 + 70_000
    assert [decision.rule for decision in refused] == ["allow", "byte-cap", "byte-cap"]


async def test_the_byte_cap_holds_for_what_is_sent(site: Origin, client: aiohttp.ClientSession) -> None:
    egress = Egress(limits=EgressLimits(bytes=200_000))
    async with (
        FilteringProxy(Boundary(allow=[site.place]), door=egress.door("page")) as proxy,
        client.post(f"{site.url}/echo", data=b"x" * 900_000, proxy=proxy_address(proxy)) as response,
    ):
        assert (response.status, response.headers["X-Agentloop-Blocked"]) == (403, "1")

    assert egress.to_dict()["sent"] < 200_000 + 70_000


async def test_the_byte_cap_ends_a_tunnel(site: Origin) -> None:
    egress = Egress(limits=EgressLimits(bytes=200_000))
    async with FilteringProxy(Boundary(allow=[site.place]), door=egress.door("page")) as proxy:
        asked = f"CONNECT {site.place} HTTP/1.1\r\nHost: x\r\n".encode() + credentials(proxy) + b"\r\n"
        inside = f"GET {big(site, 900_000).removeprefix(site.url)} HTTP/1.1\r\nHost: {site.place}\r\n\r\n".encode()
        answer = await say(proxy.port, asked + inside)
        await until(lambda: proxy.connections == 0)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(answer) < 200_000 + 70_000
    assert egress.to_dict()["caps_reached"] == ["byte-cap"]


async def test_connections_beyond_the_cap_are_refused_by_name_and_starve_no_other_context(site: Origin) -> None:
    limits = replace(ProxyLimits(), connections=3)
    egress = Egress()
    async with (
        FilteringProxy(Boundary(allow=[site.place]), limits=limits, door=egress.door("page")) as proxy,
        FilteringProxy(Boundary(allow=[site.place]), limits=limits) as other,
        AsyncExitStack() as stack,
    ):
        writers = [(await asyncio.open_connection("127.0.0.1", proxy.port))[1] for _ in range(3)]
        for writer in writers:
            stack.callback(writer.transport.abort)
        await until(lambda: proxy.connections == 3)

        answer = await say(proxy.port, get(proxy, f"{site.url}/beyond"))
        fine = await say(other.port, get(other, f"{site.url}/other", "Connection: close"))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"connection-cap" in answer
    assert fine.startswith(b"HTTP/1.1 200 ")
    assert set(site.hits) == {"/other"}
    assert egress.to_dict()["caps_reached"] == ["connection-cap"]


# The scripts' door --------------------------------------------------------------------------------


async def test_a_client_counts_and_holds_to_the_same_cap(site: Origin) -> None:
    egress = Egress(limits=EgressLimits(bytes=200_000))
    async with GuardedClient(Boundary(allow=[site.place]), door=egress.door("fetch")) as client:
        reply = await client.request("POST", f"{site.url}/echo", body=b"x" * 5000)
        assert len(reply.body) == 5000
        [place] = egress.to_dict()["contacted"]
        assert (place["door"], place["requests"]) == ("fetch", 1)
        assert 5000 < place["sent"] < 6000
        assert 5000 < place["received"] < 6000

        for path in (big(site, 900_000), f"{site.url}/after"):
            with pytest.raises(RequestRefused) as refused:
                await client.request("GET", path)
            assert (refused.value.host, refused.value.rule) == ("127.0.0.1", "byte-cap")

    assert site.hits == {"/echo": 1, "/big": 1}
    assert egress.to_dict()["caps_reached"] == ["byte-cap"]


async def test_what_a_policy_denies_is_told_too(site: Origin) -> None:
    async def no(url: Url) -> Checked:
        raise PolicyDenied("not that path: /secret?token=hunter2")

    egress = Egress()
    async with GuardedClient(Boundary(allow=[site.place]), door=egress.door("fetch")) as client:
        with pytest.raises(PolicyDenied):
            await client.request("GET", f"{site.url}/secret?token=hunter2", admit=no)

    [refused] = egress.to_dict()["refused"]
    assert (refused["host"], refused["rule"], refused["reason"]) == ("127.0.0.1", "policy", "")
