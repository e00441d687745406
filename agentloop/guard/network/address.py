"""What kind of address an IP address is, whatever it is wrapped in.

The tables are the special-purpose registries of IANA (RFC 6890 and its updates), written out
because the standard library's answers changed between Python releases.
"""

from __future__ import annotations

import ipaddress
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

from agentloop.errors import InvalidInput

__all__ = ["METADATA_HOSTS", "NEVER", "Address", "AddressKind", "classify", "parse_address", "unwrap"]

Address: TypeAlias = IPv4Address | IPv6Address


class AddressKind(StrEnum):
    """What an address leads to. Everything but `PUBLIC` is closed unless the operator opened it."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    UNSPECIFIED = "unspecified"
    RESERVED = "reserved"
    MULTICAST = "multicast"
    LINK_LOCAL = "link-local"
    METADATA = "metadata"


NEVER = frozenset({AddressKind.LINK_LOCAL, AddressKind.METADATA, AddressKind.MULTICAST})
"""Kinds that no pattern and no flag opens."""

METADATA_HOSTS = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
"""Names under which clouds serve credentials; refused before they are resolved."""

# Link-local ones are listed too, so that the refusal says what they are.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.169.253",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd00:42::42",
        "fd20:ce::254",
        "fe80::a9fe:a9fe",
    )
)

_V4: tuple[tuple[IPv4Network, AddressKind], ...] = tuple(
    (IPv4Network(text), kind)
    for text, kind in (
        ("0.0.0.0/8", AddressKind.UNSPECIFIED),
        ("127.0.0.0/8", AddressKind.LOOPBACK),
        ("10.0.0.0/8", AddressKind.PRIVATE),
        ("172.16.0.0/12", AddressKind.PRIVATE),
        ("192.168.0.0/16", AddressKind.PRIVATE),
        ("100.64.0.0/10", AddressKind.PRIVATE),
        ("169.254.0.0/16", AddressKind.LINK_LOCAL),
        ("224.0.0.0/4", AddressKind.MULTICAST),
        ("192.0.0.0/24", AddressKind.RESERVED),
        ("192.0.2.0/24", AddressKind.RESERVED),
        ("192.88.99.0/24", AddressKind.RESERVED),
        ("198.18.0.0/15", AddressKind.RESERVED),
        ("198.51.100.0/24", AddressKind.RESERVED),
        ("203.0.113.0/24", AddressKind.RESERVED),
        ("240.0.0.0/4", AddressKind.RESERVED),
    )
)

_V6: tuple[tuple[IPv6Network, AddressKind], ...] = tuple(
    (IPv6Network(text), kind)
    for text, kind in (
        ("::/128", AddressKind.UNSPECIFIED),
        ("::1/128", AddressKind.LOOPBACK),
        ("fe80::/10", AddressKind.LINK_LOCAL),
        ("fc00::/7", AddressKind.PRIVATE),
        ("fec0::/10", AddressKind.PRIVATE),
        ("ff00::/8", AddressKind.MULTICAST),
        ("2001::/23", AddressKind.RESERVED),
        ("2001:db8::/32", AddressKind.RESERVED),
        ("3fff::/20", AddressKind.RESERVED),
        ("2000::/3", AddressKind.PUBLIC),
        ("::/0", AddressKind.RESERVED),
    )
)

# Prefixes whose last 32 bits are an IPv4 address: mapped, compatible, translated, and the NAT64 ones.
_CARRIES_V4 = tuple(
    IPv6Network(text) for text in ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
_TEREDO = IPv6Network("2001::/32")


def parse_address(text: str) -> Address:
    """An address from text, with or without brackets and zone. Raises `InvalidInput`."""
    bare = text.removeprefix("[").removesuffix("]").partition("%")[0]
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        raise InvalidInput(f"not an IP address: {text[:80]!r}") from None


def unwrap(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for (mapped, NAT64, 6to4, Teredo), else the address itself."""
    if isinstance(address, IPv4Address) or int(address) in (0, 1):
        return address
    if any(address in network for network in _CARRIES_V4):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    return address


def classify(address: str | Address) -> AddressKind:
    """The kind of an address, judged by what it stands for. Raises `InvalidInput` for text that is none."""
    outer = parse_address(address) if isinstance(address, str) else address
    if outer in _METADATA:
        return AddressKind.METADATA
    inner = unwrap(outer)
    kind = AddressKind.METADATA if inner in _METADATA else _listed(inner)
    local = isinstance(outer, IPv6Address) and (outer in _LOCAL_NAT64 or outer in _TEREDO)
    # A translator of one's own, or a tunnel, may lead anywhere: public inside does not make it public.
    return AddressKind.RESERVED if local and kind is AddressKind.PUBLIC else kind


def _listed(address: Address) -> AddressKind:
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _V4 if address in network), AddressKind.PUBLIC)
    return next(kind for network, kind in _V6 if address in network)
