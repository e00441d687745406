"""URLs as a browser reads them (the WHATWG URL standard, for http and https).

What is compared with a rule must be what the browser will ask for, so every odd spelling ends
in one form: case, white space, backslashes, percent signs, full-width digits, IPv4 in octal, hex
or one number, default ports, trailing dots, dot segments. Where browsers differ or are lenient
with a host that no server can have, this is the stricter one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv6Address
from unicodedata import bidirectional, category
from urllib.parse import unquote_to_bytes

import idna

from agentloop.errors import InvalidInput, RequestRefused

__all__ = ["DEFAULT_PORTS", "Url", "canonical_host", "join_url", "parse_authority", "parse_url"]

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The schemes that may leave the process, and the port each means when it names none."""

_OTHER_SCHEMES = frozenset(
    {"about", "blob", "chrome", "chrome-extension", "data", "devtools", "file", "filesystem", "ftp", "intent"}
    | {"javascript", "mailto", "resource", "tel", "urn", "view-source", "ws", "wss"}
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_TRIMMED = "".join(map(chr, range(0x21)))
_REMOVED = {ord(char): None for char in "\t\n\r"}
_HOST = re.compile(r"[a-z0-9_.\-]+")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
_PORT = re.compile(r"[0-9]*", re.ASCII)
_ZEROS = re.compile(r"(?<![^:])0(?::0)+(?![^:])")
_JOINERS = "\u200c\u200d"
_FROM_RIGHT = frozenset({"R", "AL", "AN"})
_DOT = frozenset({".", "%2e"})
_DOT_DOT = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_ENCODE_FRAGMENT = frozenset(' "<>`')
_ENCODE_QUERY = frozenset(" \"#<>'")
_ENCODE_PATH = frozenset(' "#<>?^`{|}')


@dataclass(frozen=True, kw_only=True)
class Url:
    """A canonical http or https URL without user name and password.

    `host` is lower case, punycode, without brackets and trailing dot; `port` is always set; `path`
    begins with a slash; `query` and `fragment` come without their mark. `str()` gives it back.
    """

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = ""
    fragment: str = ""

    @property
    def authority(self) -> str:
        """`host` or `host:port`, IPv6 in brackets, the scheme's default port left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """`scheme://authority`."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{self.origin}{self.path}{query}{fragment}"


def parse_url(text: str) -> Url:
    """Reads a URL as a browser's address bar API does.

    Raises `RequestRefused` (rule "scheme") for a URL of another scheme, `InvalidInput` for what is no URL.
    """
    text = _well_formed(text).strip(_TRIMMED).translate(_REMOVED)
    scheme, rest = _split_scheme(text)
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    rest = _slashed(rest).lstrip("/")
    authority, slash, path = rest.partition("/")
    host, port = parse_authority(authority.rpartition("@")[2])
    return Url(
        scheme=scheme,
        host=host,
        port=DEFAULT_PORTS[scheme] if port is None else port,
        path=_canonical_path(slash + path),
        query=_encoded(query, _ENCODE_QUERY),
        fragment=_encoded(fragment, _ENCODE_FRAGMENT),
    )


def join_url(base: Url, text: str) -> Url:
    """What `text` means on a page at `base`: a whole URL, or one relative to it. Raises as `parse_url` does."""
    text = _well_formed(text).strip(_TRIMMED).translate(_REMOVED)
    match = _SCHEME.match(text)
    if match:
        rest = text[match.end() :]
        # A browser takes http:x on an http page for the relative x.
        if match[1].lower() != base.scheme or _slashed(rest[:2]) == "//":
            return parse_url(text)
        text = rest
    if _slashed(text[:2]) == "//":
        return parse_url(f"{base.scheme}:{text}")
    text, _, fragment = text.partition("#")
    path, question, query = text.partition("?")
    path = _slashed(path)
    if not path:
        path, query = base.path, query if question else base.query
    elif not path.startswith("/"):
        path = base.path.rpartition("/")[0] + "/" + path
    return replace(
        base,
        path=_canonical_path(path),
        query=_encoded(query, _ENCODE_QUERY),
        fragment=_encoded(fragment, _ENCODE_FRAGMENT),
    )


def parse_authority(text: str) -> tuple[str, int | None]:
    """The canonical host and the port, or None, of `host[:port]`. Raises `InvalidInput`."""
    end = text.find("]") + 1 if text.startswith("[") else text.find(":")
    host, tail = (text, "") if end < 0 else (text[:end], text[end:])
    if not host or (tail and not tail.startswith(":")):
        raise InvalidInput(f"no host in {text[:80]!r}")
    digits = tail[1:].lstrip("0")
    if not _PORT.fullmatch(digits) or len(digits) > 5 or int(digits or "0") > 65535:
        raise InvalidInput(f"not a port in {text[:80]!r}; a port is a number from 0 to 65535")
    return canonical_host(host), int(digits or "0") if tail[1:] else None


def canonical_host(text: str) -> str:
    """A host name or address, IPv6 with or without brackets, in the form that rules compare. Raises `InvalidInput`."""
    if ":" in text:
        return _ipv6(text)
    if text.isascii() and "%" not in text:
        name = text.lower()
    else:
        name = _to_ascii(unquote_to_bytes(text).decode("utf-8", "replace"), text)
    name = name.removesuffix(".")
    if not _HOST.fullmatch(name):
        raise InvalidInput(f"not a host name: {text[:80]!r}")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels, text)
    if len(name) > 253 or not all(1 <= len(label) <= 63 for label in labels):
        raise InvalidInput(f"not a host name, a part is empty or too long: {text[:80]!r}")
    return name


def _slashed(text: str) -> str:
    return text.replace("\\", "/")


def _well_formed(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    if match and scheme in DEFAULT_PORTS:
        return scheme, text[match.end() :]
    if match and (scheme in _OTHER_SCHEMES or text.startswith("//", match.end())):
        raise RequestRefused(
            f"{scheme}: addresses are not reachable (rule scheme): only http and https are", host="", rule="scheme"
        )
    raise InvalidInput(f"not a URL: {text[:80]!r}; write it with its scheme, as in https://shop.example/")


def _to_ascii(name: str, text: str) -> str:
    try:
        labels = idna.uts46_remap(name, std3_rules=False, transitional=False).split(".")
        if not all(map(str.isascii, labels)):
            _check_bidi(labels)
        return ".".join(map(_label_to_ascii, labels))
    except (idna.IDNAError, UnicodeError):
        raise InvalidInput(f"not an international host name: {text[:80]!r}") from None


def _label_to_ascii(label: str) -> str:
    if label.startswith("xn--"):
        _check_encoded(label)
    if label.isascii():
        return label
    idna.check_initial_combiner(label)
    if any(category(char) == "Cn" for char in label):
        raise idna.IDNAError(f"{label} holds a character that is none yet")
    if not all(idna.valid_contextj(label, at) for at, char in enumerate(label) if char in _JOINERS):
        raise idna.IDNAError(f"{label} joins what cannot be joined")
    return "xn--" + label.encode("punycode").decode("ascii")


def _check_bidi(labels: list[str]) -> None:
    """In a name with one label from right to left, all others are held to the rule too."""
    strict = any(bidirectional(char) in _FROM_RIGHT for label in labels for char in label)
    for label in labels:
        if label and strict:
            idna.check_bidi(label, check_ltr=True)


def _check_encoded(label: str) -> None:
    plain = label[4:].encode("ascii").decode("punycode")
    if plain.isascii() or idna.uts46_remap(plain, std3_rules=False, transitional=False) != plain:
        raise idna.IDNAError(f"{label} encodes no international name")
    _check_bidi([plain])
    _label_to_ascii(plain)


def _ipv6(text: str) -> str:
    try:
        number = int(IPv6Address(text[1:-1] if text.startswith("[") and text.endswith("]") else text))
    except AddressValueError:
        raise InvalidInput(f"not an IPv6 address: {text[:80]!r}") from None
    if "%" in text:
        raise InvalidInput(f"a URL cannot name a zone: {text[:80]!r}")
    pieces = [f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    # Python writes mapped addresses differently from release to release, browsers always in hex.
    joined = ":".join(pieces)
    longest = max(_ZEROS.finditer(joined), key=lambda run: len(run[0]), default=None)
    if longest is None:
        return joined
    return f"{joined[: longest.start()].rstrip(':')}::{joined[longest.end() :].lstrip(':')}"


def _ipv4(labels: list[str], text: str) -> str:
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        raise InvalidInput(f"not an IPv4 address: {text[:80]!r}")
    try:
        *leading, last = [_ipv4_number(label) for label in labels]
    except ValueError:
        raise InvalidInput(f"not an IPv4 address: {text[:80]!r}") from None
    if any(part > 255 for part in leading) or last >= 256 ** (5 - len(labels)):
        raise InvalidInput(f"not an IPv4 address: {text[:80]!r}")
    number = last + sum(part << (24 - 8 * index) for index, part in enumerate(leading))
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _ipv4_number(label: str) -> int:
    if label[:2] in ("0x", "0X"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _canonical_path(path: str) -> str:
    segments: list[str] = []
    *leading, last = path.split("/")[1:] or [""]
    for segment in leading:
        _place(segment, segments)
    if not _place(last, segments):
        segments.append("")
    return "/" + "/".join(segments)


def _place(segment: str, segments: list[str]) -> bool:
    lowered = segment.lower()
    if lowered in _DOT_DOT:
        del segments[-1:]
        return False
    if lowered in _DOT:
        return False
    segments.append(_encoded(segment, _ENCODE_PATH))
    return True


def _encoded(text: str, unsafe: frozenset[str]) -> str:
    if text.isascii() and text.isprintable() and unsafe.isdisjoint(text):
        return text
    return "".join(
        char if " " <= char <= "~" and char not in unsafe else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in text
    )
