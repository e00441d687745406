from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from agentloop.errors import InvalidInput, RequestRefused, WorldError
from agentloop.guard import Boundary, Checked, OwnPorts, parse_url
from agentloop.guard.network.address import AddressKind, classify
from agentloop.guard.network.guard import SystemResolver

PUBLIC = "93.184.215.14"
NAMES = {
    "shop.test": [PUBLIC],
    "www.shop.test": [PUBLIC],
    "other.test": ["1.1.1.1", "2606:4700::1111"],
    "inside.test": ["10.0.0.5"],
    "mixed.test": [PUBLIC, "10.0.0.5"],
    "local.test": ["127.0.0.1"],
    "linked.test": ["169.254.7.7"],
    "cloud.test": [PUBLIC, "169.254.169.254"],
    "mapped.test": ["::ffff:10.0.0.5"],
    "empty.test": [],
}


class Names:
    """A resolver with a table, which remembers what it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[str] = []
        self.answers = list(answers)

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if self.answers:
            return self.answers.pop(0)
        if host not in NAMES:
            raise socket.gaierror(-2, "unknown name")
        return NAMES[host]


async def rule(boundary: Boundary, url: str) -> str:
    """The rule that decides `url`: bare when it allows, with a minus when it refuses."""
    try:
        return (await boundary.resolve_url(url)).rule
    except RequestRefused as refusal:
        assert f"(rule {refusal.rule})" in str(refusal)
        assert refusal.host in str(refusal)
        return f"-{refusal.rule}"


TABLE: list[tuple[dict[str, object], dict[str, str]]] = [
    (
        {},
        {
            "https://shop.test/": "public",
            "http://shop.test/": "public",
            "http://shop.test:8080/": "-port",
            "https://other.test/": "public",
            "http://8.8.8.8/": "public",
            "http://inside.test/": "-private-address",
            "http://mixed.test/": "-private-address",
            "http://mapped.test/": "-private-address",
            "http://local.test/": "-private-address",
            "http://localhost/": "-private-address",
            "http://localhost:8000/": "-port",
            "http://foo.localhost/": "-private-address",
            "http://127.0.0.1/": "-private-address",
            "http://2130706433/": "-private-address",
            "http://[::1]/": "-private-address",
            "http://[::ffff:7f00:1]/": "-private-address",
            "http://0/": "-private-address",
            "http://10.0.0.5/": "-private-address",
            "http://100.64.0.1/": "-private-address",
            "http://255.255.255.255/": "-private-address",
            "http://169.254.169.254/": "-metadata",
            "http://[fd00:ec2::254]/": "-metadata",
            "http://[64:ff9b::a9fe:a9fe]/": "-metadata",
            "http://metadata.google.internal/": "-metadata",
            "http://METADATA.google.internal./": "-metadata",
            "http://cloud.test/": "-metadata",
            "http://linked.test/": "-link-local",
            "http://[fe80::1]/": "-link-local",
            "http://224.0.0.1/": "-multicast",
        },
    ),
    (
        {"allow": []},
        {"https://shop.test/": "-not-allowed", "http://127.0.0.1/": "-not-allowed", "http://8.8.8.8/": "-not-allowed"},
    ),
    (
        {
            "allow": [
                "shop.test",
                "*.inside.test",
                "http://local.test:8000",
                "10.0.0.5:9000",
                "linked.test",
                "localhost:81",
            ]
        },
        {
            "https://shop.test/": "allow",
            "https://www.shop.test/": "-not-allowed",
            "https://shop.test:8443/": "-not-allowed",
            "https://other.test/": "-not-allowed",
            "http://inside.test/": "-private-address",
            "http://local.test:8000/": "allow",
            "https://local.test:8000/": "-not-allowed",
            "http://local.test/": "-not-allowed",
            "http://127.0.0.1:8000/": "-not-allowed",
            "http://10.0.0.5:9000/": "allow",
            "http://10.0.0.5/": "-not-allowed",
            "http://linked.test/": "-link-local",
            "http://localhost:81/": "allow",
            "http://localhost.:81/": "allow",
            "http://api.localhost:81/": "-not-allowed",
        },
    ),
    (
        {"allow": ["*"]},
        {
            "https://shop.test/": "allow",
            "http://shop.test:8080/": "-not-allowed",
            "http://inside.test/": "-private-address",
            "http://127.0.0.1/": "-private-address",
        },
    ),
    (
        {"start_url": "http://127.0.0.1:8000/shop/"},
        {
            "http://127.0.0.1:8000/elsewhere": "start-url",
            "https://127.0.0.1:8000/": "-port",
            "http://127.0.0.1:8001/": "-port",
            "http://127.0.0.2:8000/": "-port",
            "http://localhost:8000/": "-port",
            "https://shop.test/": "public",
        },
    ),
    (
        {"start_url": "http://local.test:8000", "allow": []},
        {"http://local.test:8000/x": "start-url", "https://shop.test/": "-not-allowed"},
    ),
    (
        {"start_url": "http://169.254.169.254/"},
        {"http://169.254.169.254/": "-metadata"},
    ),
    (
        {"allow_private": True},
        {
            "http://10.0.0.5:5432/": "private",
            "http://127.0.0.1:8000/": "private",
            "http://0.0.0.0:8000/": "private",
            "https://inside.test:8443/": "private",
            "https://shop.test/": "public",
            "https://mixed.test/": "public",
            "https://mixed.test:8443/": "-port",
            "https://shop.test:8443/": "-port",
            "http://169.254.169.254/": "-metadata",
            "http://[fe80::1]/": "-link-local",
            "http://metadata.google.internal/": "-metadata",
        },
    ),
    (
        {"allow_private": True, "allow": ["shop.test"]},
        {
            "https://shop.test/": "allow",
            "https://other.test/": "-not-allowed",
            "https://mixed.test/": "-not-allowed",
            "http://127.0.0.1:8000/": "private",
        },
    ),
    ({"allow": ["shop.test/api"]}, {"https://shop.test/api/x": "allow", "https://shop.test/": "-not-allowed"}),
]


@pytest.mark.parametrize(
    ("settings", "url", "decided"), [(settings, url, said) for settings, urls in TABLE for url, said in urls.items()]
)
async def test_reachable(settings: dict[str, object], url: str, decided: str) -> None:
    boundary = Boundary(**settings, resolver=Names())  # type: ignore[arg-type]

    assert await rule(boundary, url) == decided


async def test_every_checked_address_is_given_back() -> None:
    checked = await Boundary(resolver=Names()).resolve("OTHER.test.", 443, "https")

    assert checked == Checked(host="other.test", port=443, addresses=("1.1.1.1", "2606:4700::1111"), rule="public")


async def test_a_mapped_address_is_dialled_as_what_it_stands_for() -> None:
    boundary = Boundary(allow_private=True, resolver=Names())

    assert (await boundary.resolve("::ffff:7f00:1", 80)).addresses == ("127.0.0.1",)
    assert (await boundary.resolve("mapped.test", 80)).addresses == ("10.0.0.5",)


async def test_a_refusal_says_what_to_do() -> None:
    with pytest.raises(RequestRefused, match=r"to allow it: --allow http://127\.0\.0\.1:8000$") as caught:
        await Boundary(allow=[], resolver=Names()).resolve("127.1", 8000, "http")
    assert (caught.value.host, caught.value.rule) == ("127.0.0.1", "not-allowed")

    with pytest.raises(RequestRefused, match=r"never reachable") as caught:
        await Boundary(resolver=Names()).resolve("169.254.169.254", 80, "http")
    assert "--allow" not in str(caught.value)

    with pytest.raises(RequestRefused, match=r"--allow https://\[::1\]:443$"):
        await Boundary(allow=[], resolver=Names()).resolve("[::1]", 443)


async def test_a_name_that_cannot_be_allowed_is_not_even_looked_up() -> None:
    names = Names()
    boundary = Boundary(allow=["shop.test"], resolver=names)

    for url in ("https://stolen-data.evil.test/", "http://shop.test:81/", "http://metadata.google.internal/"):
        assert (await rule(boundary, url)).startswith("-")
    assert await rule(boundary, "https://shop.test/") == "allow"
    assert names.asked == ["shop.test"]


async def test_localhost_is_loopback_whatever_the_resolver_says() -> None:
    boundary = Boundary(allow=["localhost:8000"], resolver=Names(["10.0.0.5"]))

    assert (await boundary.resolve("localhost", 8000)).addresses == ("127.0.0.1", "::1")


@pytest.mark.parametrize("host", ["unknown.test", "empty.test"])
async def test_a_name_without_address_is_the_worlds_fault(host: str) -> None:
    with pytest.raises(WorldError, match=f"{host} could not be resolved") as caught:
        await Boundary(resolver=Names()).resolve(host, 443)
    assert not isinstance(caught.value, RequestRefused)


async def test_the_systems_resolver_knows_this_machine() -> None:
    found = await SystemResolver()("localhost")

    assert {classify(address) for address in found} == {AddressKind.LOOPBACK}
    assert len(found) == len(set(found))


# Rebinding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "second"),
    [({}, "-private-address"), ({"allow": ["rebind.test"]}, "-rebinding"), ({"allow": ["*"]}, "-private-address")],
)
async def test_a_name_that_turns_private_is_refused(settings: dict[str, object], second: str) -> None:
    boundary = Boundary(**settings, resolver=Names([PUBLIC], ["127.0.0.1"], [PUBLIC]))  # type: ignore[arg-type]

    decided = [await rule(boundary, "http://rebind.test/") for _ in range(3)]

    assert decided == [decided[0], second, decided[0]]
    assert not decided[0].startswith("-")


async def test_a_loopback_name_keeps_its_address_and_a_private_one_its_kind() -> None:
    loopback = Boundary(allow=["rebind.test"], resolver=Names(["127.0.0.1"], ["127.0.0.2"]))
    private = Boundary(allow=["rebind.test"], resolver=Names(["10.0.0.5"], ["10.0.0.6"], ["127.0.0.1"]))

    assert [await rule(loopback, "http://rebind.test/") for _ in range(2)] == ["allow", "-rebinding"]
    assert [await rule(private, "http://rebind.test/") for _ in range(3)] == ["allow", "allow", "-rebinding"]


async def test_a_narrowed_boundary_remembers_with_its_parent() -> None:
    boundary = Boundary(allow=["rebind.test"], resolver=Names([PUBLIC], ["127.0.0.1"]))

    assert await rule(boundary, "http://rebind.test/") == "allow"
    assert await rule(boundary.narrowed(["rebind.test"]), "http://rebind.test/") == "-rebinding"


# Own ports ----------------------------------------------------------------------------------------


async def test_our_own_ports_are_closed_however_they_are_named() -> None:
    own = OwnPorts([9222])
    allow = [
        "127.0.0.1:9222",
        "local.test:9222",
        "localhost:9222",
        "[::ffff:127.0.0.1]:9222",
        "0.0.0.0:9222",
        "[::1]:9222",
    ]
    boundary = Boundary(allow=allow, allow_private=True, own_ports=own, resolver=Names())

    for pattern in allow:
        assert await rule(boundary, f"http://{pattern}/") == "-own-port"
    assert await rule(boundary, "http://127.0.0.1:9223/") == "private"
    assert await rule(boundary, "http://10.255.255.1:9222/") == "private", "another machine's port is not ours"

    own.discard(9222)
    assert await rule(boundary, "http://127.0.0.1:9222/") == "allow"


# Narrowing ----------------------------------------------------------------------------------------


async def test_a_request_narrows_and_never_widens() -> None:
    operator = Boundary(allow=["shop.test", "10.0.0.5:9000"], start_url="http://local.test:8000/", resolver=Names())
    narrowed = operator.narrowed(["*.shop.test", "other.test", "10.0.0.5:9000"])

    assert await rule(narrowed, "https://shop.test/") == "allow"
    assert await rule(narrowed, "https://www.shop.test/") == "-not-allowed", "the operator did not allow it"
    assert await rule(narrowed, "https://other.test/") == "-not-allowed", "the operator did not allow it"
    assert await rule(narrowed, "http://10.0.0.5:9000/") == "allow"
    assert await rule(narrowed, "http://local.test:8000/") == "start-url"
    assert await rule(operator.narrowed([]), "https://shop.test/") == "-not-allowed"
    assert await rule(operator.narrowed([]), "http://local.test:8000/") == "start-url"
    assert await rule(narrowed.narrowed(["10.0.0.5:9000"]), "https://shop.test/") == "-not-allowed"
    assert operator.narrowed(None) is operator


async def test_narrowing_an_open_operator_leaves_ports_and_private_addresses_closed() -> None:
    narrowed = Boundary(resolver=Names()).narrowed(["shop.test:8443", "127.0.0.1:8000", "shop.test"])

    assert await rule(narrowed, "https://shop.test/") == "public"
    assert await rule(narrowed, "https://shop.test:8443/") == "-port"
    assert await rule(narrowed, "http://127.0.0.1:8000/") == "-port"
    assert await rule(narrowed, "https://other.test/") == "-not-allowed"


async def test_a_star_in_a_request_is_public_hosts_only() -> None:
    narrowed = Boundary(allow=["10.0.0.5"], resolver=Names()).narrowed(["*"])

    assert await rule(narrowed, "http://10.0.0.5/") == "-private-address"


# Construction -------------------------------------------------------------------------------------


def test_what_cannot_be_built() -> None:
    with pytest.raises(InvalidInput, match="too wide"):
        Boundary(allow=["*.com"])
    with pytest.raises(InvalidInput, match="takes a list"):
        Boundary(allow="shop.test")
    with pytest.raises(InvalidInput, match="not a URL"):
        Boundary(start_url="shop.test")
    with pytest.raises(RequestRefused, match="file: addresses"):
        Boundary(start_url="file:///etc/passwd")


def test_a_browser_is_not_given_paths() -> None:
    plain = Boundary(allow=["shop.test"])

    assert plain.for_browser() is plain
    with pytest.raises(InvalidInput, match="TLS hides paths"):
        plain.narrowed(["shop.test/api"]).for_browser()


async def test_a_host_that_is_none() -> None:
    with pytest.raises(InvalidInput, match="not a host name"):
        await Boundary().resolve("a b", 80)


def test_own_ports_count_their_owners() -> None:
    ports = OwnPorts()
    ports.add(1)
    ports.add(1)
    ports.discard(1)
    assert 1 in ports
    ports.discard(1)
    assert 1 not in ports


async def test_urls_are_accepted_parsed_or_as_text() -> None:
    boundary = Boundary(resolver=Names())

    assert await boundary.resolve_url("https://shop.test/") == await boundary.resolve_url(
        parse_url("https://shop.test")
    )
