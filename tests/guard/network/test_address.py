from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import InvalidInput
from agentloop.guard.network.address import NEVER, AddressKind, classify, unwrap

KINDS = {
    "public": ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1", "64:ff9b::808:808"],
    "loopback": ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::7f00:1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd00::1", "fec0::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.1.1", "64:ff9b::a9fe:101"],
    "metadata": ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "169.254.170.2", "100.100.100.200"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "::ffff:224.0.0.1"],
    "reserved": ["255.255.255.255", "240.0.0.1", "198.18.0.1", "203.0.113.9", "2001:db8::1", "4000::1", "100::1"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_kinds(kind: str, text: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize(
    ("outside", "inside"),
    [
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("64:ff9b::10.1.2.3", "10.1.2.3"),
        ("64:ff9b:1::10.1.2.3", "10.1.2.3"),
        ("64:ff9b:1:ffff::169.254.169.254", "169.254.169.254"),
        ("2002:7f00:1::", "127.0.0.1"),
        ("2002:a9fe:a9fe::1", "169.254.169.254"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "127.0.0.1"),
        ("::ffff:0:127.0.0.1", "127.0.0.1"),
        ("2606:4700::1111", "2606:4700::1111"),
        ("::1", "::1"),
        ("8.8.8.8", "8.8.8.8"),
    ],
)
def test_what_an_address_stands_for(outside: str, inside: str) -> None:
    assert str(unwrap(ipaddress.ip_address(outside))) == inside
    assert classify(outside) in (classify(inside), AddressKind.RESERVED)


def test_a_tunnel_or_local_translator_is_never_public() -> None:
    assert classify("64:ff9b:1::8.8.8.8") is AddressKind.RESERVED
    assert classify("2001:0:4136:e378:8000:63bf:f7f7:f7f7") is AddressKind.RESERVED


def test_what_no_flag_opens() -> None:
    assert {"link-local", "metadata", "multicast"} == NEVER


@pytest.mark.parametrize("text", ["", "127.1", "localhost", "1.2.3.4.5", "0x7f.0.0.1", "1::2::3"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidInput, match="not an IP address"):
        classify(text)


@given(st.ip_addresses(v=4))
def test_wrapping_never_makes_an_address_more_open(address: ipaddress.IPv4Address) -> None:
    kind = classify(address)
    number = int(address)
    wrapped = [f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1"]
    assert [classify(text) for text in wrapped] == [kind] * 3
    assert classify(f"64:ff9b:1::{address}") in {kind, AddressKind.RESERVED} - {AddressKind.PUBLIC}


@given(st.ip_addresses())
def test_only_what_is_globally_routed_is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if classify(address) is AddressKind.PUBLIC:
        assert unwrap(address).is_global
