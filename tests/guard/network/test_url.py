from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentloop.errors import AgentLoopError, InvalidInput, RequestRefused
from agentloop.guard.network.url import Url, canonical_host, parse_authority, parse_url

CANONICAL = [
    # text, what a browser makes of it (user names, bare question marks and the host's last dot left out)
    ("http://127.0.0.1", "http://127.0.0.1/"),
    ("http://localhost.", "http://localhost/"),
    ("http://[::1]", "http://[::1]/"),
    ("http://[::ffff:7f00:1]", "http://[::ffff:7f00:1]/"),
    ("http://[::FFFF:127.0.0.1]:80/", "http://[::ffff:7f00:1]/"),
    ("http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/"),
    ("http://[1:0:2:0:3:0:4:0]/", "http://[1:0:2:0:3:0:4:0]/"),
    ("http://[2001:db8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
    ("http://[0:0:0:0:0:0:0:0]/", "http://[::]/"),
    ("http://0/", "http://0.0.0.0/"),
    ("http://0x7f.1", "http://127.0.0.1/"),
    ("http://0x7F000001/", "http://127.0.0.1/"),
    ("http://2130706433", "http://127.0.0.1/"),
    ("http://0177.0.0.1", "http://127.0.0.1/"),
    ("http://017700000001", "http://127.0.0.1/"),
    ("http://127.1", "http://127.0.0.1/"),
    ("http://127.0.1", "http://127.0.0.1/"),
    ("http://127.0.0.1./", "http://127.0.0.1/"),
    ("http://0x./", "http://0.0.0.0/"),
    ("http://127。0。0。1", "http://127.0.0.1/"),
    ("http://１２７.０.０.１", "http://127.0.0.1/"),
    ("http://①②⑦.0.0.1", "http://127.0.0.1/"),
    ("http://%31%32%37.0.0.1", "http://127.0.0.1/"),
    ("http://%6Cocalhost/", "http://localhost/"),
    ("http://ｌｏｃａｌｈｏｓｔ/", "http://localhost/"),
    ("http://LocalHost:080/", "http://localhost/"),
    ("http://169.254.169.254", "http://169.254.169.254/"),
    ("https://ok.test@evil.test", "https://evil.test/"),
    ("https://ok.test:443@evil.test", "https://evil.test/"),
    ("https://ok.test%40evil.test@other.test/", "https://other.test/"),
    ("https://a@b@evil.test/", "https://evil.test/"),
    ("https://ok.test.evil.test", "https://ok.test.evil.test/"),
    ("https://evil.test/#@ok.test", "https://evil.test/#@ok.test"),
    ("https://evil.test?@ok.test", "https://evil.test/?@ok.test"),
    ("https://evil.test#@ok.test/", "https://evil.test/#@ok.test/"),
    ("https://evil.test\\@ok.test", "https://evil.test/@ok.test"),
    ("https:\\\\evil.test\\a", "https://evil.test/a"),
    ("https:evil.test/a", "https://evil.test/a"),
    ("https:////evil.test", "https://evil.test/"),
    ("  ht\ntp://ev\til.test/\x00", "http://evil.test/"),
    ("HTTPS://EVIL.Test:443/A", "https://evil.test/A"),
    ("https://evil.test:/", "https://evil.test/"),
    ("https://evil.test:0080/", "https://evil.test:80/"),
    ("https://faß.de", "https://xn--fa-hia.de/"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ("https://☃.net/", "https://xn--n3h.net/"),
    ("https://a_b.test/", "https://a_b.test/"),
    ("http://h.test/a/../b/./c", "http://h.test/b/c"),
    ("http://h.test/a/%2e%2E/b/%2e", "http://h.test/b/"),
    ("http://h.test/../..", "http://h.test/"),
    ("http://h.test/a//b/", "http://h.test/a//b/"),
    ('http://h.test/a b"<>`{}é', "http://h.test/a%20b%22%3C%3E%60%7B%7D%C3%A9"),
    ("http://h.test/%zz%41", "http://h.test/%zz%41"),
    ("http://h.test/?q='a b'&é", "http://h.test/?q=%27a%20b%27&%C3%A9"),
    ("http://h.test/#a b`", "http://h.test/#a%20b%60"),
]

NO_URL = [
    "", " ", "example.com", "//example.com", "/path", "localhost:8000", "not a url", "://missing", "http://", "http:",
    "http://:80/", "http://a b/", "http://a..b/", "http://.a/", "http://a:99999/", "http://a:8o/", "http://a:-1/",
    "http://a:80:90/", "http://[::1", "http://[::1]x/", "http://[g::]/", "http://[fe80::1%25eth0]/", "http://1.2.3.4.5/",
    "http://1.2.3.256/", "http://256.1/", "http://0xg.1/", "http://08/", "http://4294967296/", "http://a%2fb/",
    "http://a%00b/", "http://a%25b/", "http://a<b/", "http://a|b/", "http://a^b/", "http://ａ／ｂ/", "http://\u00ad/",
    "http://" + "a" * 64 + ".test/", "http://" + "a." * 127 + "test/",
]  # fmt: skip

OTHER_SCHEMES = [
    "file:///etc/passwd", "view-source:http://ok.test", "data:text/html,x", "blob:http://ok.test/1", "about:blank",
    "javascript:alert(1)", "chrome://settings", "about:srcdoc", "filesystem:http://ok.test/temporary/x", "ftp://ok.test/",
    "ws://ok.test/", "wss://ok.test/", "mailto:a@ok.test", "JavaScript:x", " file:/etc", "ja\nvascript:x", "gopher://x/",
    "chrome-extension://abc/", "devtools://devtools/",
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_one_form_for_every_spelling(text: str, canonical: str) -> None:
    assert str(parse_url(text)) == canonical


@pytest.mark.parametrize("text", NO_URL)
def test_what_is_no_url_says_so(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_url(text)


@pytest.mark.parametrize("text", OTHER_SCHEMES)
def test_other_schemes_are_refused_by_name(text: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        parse_url(text)
    assert caught.value.rule == "scheme"
    assert str(caught.value).partition(":")[0] in text.replace("\n", "").strip().lower()


def test_parts() -> None:
    url = parse_url("https://user:pw@[2001:DB8::1]:8443/a/b?c=d#e")

    assert url == Url(scheme="https", host="2001:db8::1", port=8443, path="/a/b", query="c=d", fragment="e")
    assert url.origin == "https://[2001:db8::1]:8443"
    assert parse_url("https://shop.test:443").authority == "shop.test"


def test_a_missing_scheme_is_explained() -> None:
    with pytest.raises(InvalidInput, match=r"https://shop\.example/"):
        parse_url("localhost:8000")


def test_a_password_is_in_no_error() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_url("http://ann:hunter2@a..b/")
    assert "hunter2" not in str(caught.value)


def test_authority() -> None:
    assert parse_authority("Shop.TEST:8443") == ("shop.test", 8443)
    assert parse_authority("[::1]:443") == ("::1", 443)
    assert parse_authority("127.1") == ("127.0.0.1", None)


hosts = st.one_of(
    st.text(min_size=1, max_size=20),
    st.from_regex(r"[a-z0-9.\-]{1,20}", fullmatch=True),
    st.ip_addresses().map(lambda ip: f"[{ip}]" if ip.version == 6 else str(ip)),
    st.integers(0, 2**33).map(str),
    st.integers(0, 2**33).map(hex),
)
tails = st.text(alphabet=string.printable + "é☃\u202e", max_size=30)


def parsed(text: str) -> Url:
    try:
        return parse_url(text)
    except AgentLoopError:
        assume(False)
        raise


@given(st.sampled_from(["http://", "https:", "HTTP:\\\\", " http:///"]), hosts, tails)
def test_reading_the_canonical_form_again_changes_nothing(scheme: str, host: str, tail: str) -> None:
    url = parsed(scheme + host + tail)

    assert parse_url(str(url)) == url
    assert canonical_host(url.host) == url.host


@given(hosts, tails)
def test_a_host_holds_nothing_that_another_reader_could_split_at(host: str, tail: str) -> None:
    url = parsed(f"http://{host}{tail}")

    assert url.host == url.host.lower().strip()
    assert url.host.isascii()
    assert not set(url.host) & set("@/\\?#%[] \t\r\n")
    assert str(url).isascii()
    assert str(url).isprintable()


@given(st.text(alphabet=string.ascii_letters + string.digits + ":@.%-_~!$&'()*+,;=", max_size=20))
def test_a_user_name_never_changes_the_host(user: str) -> None:
    assert parse_url(f"https://{user}@shop.test/a") == parse_url("https://shop.test/a")


@given(st.text())
def test_any_text_is_a_url_or_an_error_of_ours(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://shop.test/{text}"):
        try:
            parse_url(candidate)
        except (InvalidInput, RequestRefused):
            continue


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_is_that_address(address: object) -> None:
    first, *rest = str(address).split(".")
    number = int.from_bytes(bytes(map(int, [first, *rest])))
    spellings = [str(number), hex(number), f"0{number:o}", f"{int(first):#x}.{number % 2**24}", f"{address}."]
    assert {canonical_host(text) for text in spellings} == {str(address)}
