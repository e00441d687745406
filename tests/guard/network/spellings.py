"""Generates URLs that readers are known to disagree on, for comparing readers."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["relatives", "urls"]

_ODD_DIGITS = "０１２３４５６７８９①②③𝟎𝟏𝟐٠١٢²"
_DOTS = [".", "。", "．", "｡", "%2e", "%2E", "..", ""]
_NOISE = ["\t", "\n", "\r", "%09", "%0a", "%00", "\x00", "\u200b", "\u00ad", "\u202e", "\ufeff", " ", "%20", "\ud800"]
_DELIMITERS = [
    "@",
    ":",
    "/",
    "\\",
    "?",
    "#",
    "//",
    "/\\",
    "%40",
    "%2f",
    "%5c",
    "%3a",
    "&",
    ";",
    "|",
    "^",
    "`",
    "<",
    "[",
    "]",
]


def _escaped(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))


def _wide(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _respelled(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(text, text.map(_escaped), text.map(_wide), text.map(str.upper))


numbers = st.one_of(st.integers(0, 255), st.sampled_from([256, 257, 65535, 65536, 2**24, 2**32 - 1, 2**32, 2**64]))
spelled_numbers = st.one_of(
    numbers.map(str),
    numbers.map(hex),
    numbers.map(lambda number: f"0{number:o}"),
    numbers.map(lambda number: f"00{number}"),
    st.sampled_from(["0x", "0X1f", "08", "09", "0xg", "1e3", "+1", "-1", "", "٣"]),
    st.text(alphabet=_ODD_DIGITS, min_size=1, max_size=3),
)
_v4 = st.builds(
    lambda parts, dots, tail: "".join(part + dot for part, dot in zip(parts, [*dots, ""], strict=False)) + tail,
    st.lists(spelled_numbers, min_size=1, max_size=5),
    st.lists(st.sampled_from(_DOTS[:6]), min_size=4, max_size=4),
    st.sampled_from(["", "", "", ".", "..", "。"]),
)
_pieces = st.one_of(
    st.integers(0, 0xFFFF).map(lambda number: f"{number:x}"),
    st.sampled_from(["", "0", "0000", "00000", "g", "ffff", "FFFF"]),
)
_v6 = st.one_of(
    st.ip_addresses(v=6).map(str),
    st.lists(_pieces, min_size=1, max_size=9).map(":".join),
    st.builds(lambda head, v4: f"{head}{v4}", st.sampled_from(["::", "::ffff:", "64:ff9b::", "1:2:3:4:5:6:"]), _v4),
    st.sampled_from(["::1", "::", "fe80::1%25eth0", "fe80::1%eth0", "v1.x", "1::2::3", ":1", "1:"]),
).map(lambda text: f"[{text}]")
_labels = st.one_of(
    st.from_regex(r"[a-z0-9_\-]{1,12}", fullmatch=True),
    st.sampled_from(
        ["localhost", "ok", "xn--bcher-kva", "xn--", "xn--a", "xn--zzzzzz", "bücher", "faß", "оk", "İ", "ﬀ", "Ⅷ", "☃"]
    ),
    st.sampled_from(
        ["-a", "a-", "a--b", "ab--c", "a" * 63, "a" * 64, "*", "_", "א", "אa", "1א", "\u0301a", "a\u200db"]
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cn", "Cs"]), min_size=1, max_size=4),
)
_names = st.builds(
    lambda labels, dots: "".join(label + dot for label, dot in zip(labels, dots, strict=False)),
    st.lists(_respelled(_labels), min_size=1, max_size=4),
    st.lists(st.sampled_from(_DOTS), min_size=4, max_size=4),
)
_hosts = st.one_of(_names, _respelled(_v4), _v6, _names.map(lambda name: f"{name}.1"))
_ports = st.one_of(
    st.just(""),
    st.just(""),
    st.sampled_from(
        [":", ":80", ":443", ":0", ":00080", ":65535", ":65536", ":99999999999", ":8o", ":-1", ":+1", ": 80", ":8\t0"]
    ),
    st.sampled_from([":８０", ":%38%30", ":80:90", ":80@", ":٣"]),
)
_users = st.one_of(
    st.just(""),
    st.just(""),
    st.sampled_from(
        [
            "ok.test@",
            "ok.test:80@",
            "ok.test%40",
            "a@b@",
            "@",
            ":@",
            "ok.test\\@",
            "ok.test/@",
            "ok.test?@",
            "ok.test#@",
        ]
    ),
    st.text(max_size=5).map(lambda text: f"{text}@"),
)
_schemes = st.sampled_from(
    [
        "http://",
        "https://",
        "HTTP://",
        "hTTps:",
        "http:",
        "http:/",
        "http:///",
        "http:\\\\",
        "http:/\\",
        "https:\\/",
        "//",
        "\\\\",
        "ht\ntp://",
        " http://",
        "\x00http://",
        "http ://",
        "http\t://",
        "ws://",
        "wss://",
        "ftp://",
        "file://",
        "view-source:http://",
        "javascript:",
        "data:",
        "blob:http://",
        "filesystem:http://",
        "about:",
        "foo://",
        "http://http://",
        "",
        "hſttp://",
        "http：//",
    ]
)
_segments = st.one_of(
    st.sampled_from(
        [
            ".",
            "..",
            "%2e",
            "%2E%2e",
            ".%2e",
            "a",
            "",
            "%zz",
            "%",
            "%2f",
            "é",
            "{}",
            "'",
            '"',
            "<>",
            "^",
            "`",
            "|",
            "~",
            ";",
        ]
    ),
    st.text(max_size=4),
)
_paths = st.builds(
    lambda segments, slashes: "".join(slash + segment for slash, segment in zip(slashes, segments, strict=False)),
    st.lists(_segments, max_size=4),
    st.lists(st.sampled_from(["/", "/", "\\", "//"]), min_size=4, max_size=4),
)
_tails = st.one_of(
    st.just(""),
    st.builds(lambda mark, text: mark + text, st.sampled_from(["?", "#", "?#", "#?"]), st.text(max_size=6)),
    st.sampled_from(["?@ok.test", "#@ok.test", "\\@ok.test", "/@ok.test", "?'\"<>#`{}", "#`\"<>{}'"]),
)
_whole = st.builds(lambda *parts: "".join(parts), _schemes, _users, _hosts, _ports, _paths, _tails)

_web = st.builds(
    lambda *parts: "".join(parts), st.sampled_from(["http://", "https://"]), _users, _hosts, _ports, _paths, _tails
)


def _with_noise(text: str, noise: str, at: int) -> str:
    cut = at % (len(text) + 1)
    return text[:cut] + noise + text[cut:]


urls = st.one_of(
    _web,
    _web.filter(lambda text: len(text) < 60),
    _whole,
    st.builds(_with_noise, _whole, st.sampled_from(_NOISE + _DELIMITERS), st.integers(0, 200)),
    st.builds(lambda text: f"http://{text}", st.text(alphabet=st.characters(exclude_categories=["Cn"]), max_size=12)),
    st.text(max_size=12),
)
"""Texts that may be URLs."""

relatives = st.one_of(urls, st.builds(lambda path, tail: path + tail, _paths, _tails), st.text(max_size=12))
"""Texts that may be URLs or be relative to one."""
