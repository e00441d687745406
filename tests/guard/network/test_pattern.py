from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import InvalidInput
from agentloop.guard.network.pattern import Pattern, for_browser
from agentloop.guard.network.url import parse_url

MATCHES = [
    ("shop.test", "https://shop.test/any/where", True),
    ("shop.test", "http://shop.test/", True),
    ("shop.test", "https://shop.test:8443/", False),
    ("shop.test", "http://shop.test:443/", False),
    ("shop.test", "https://www.shop.test/", False),
    ("shop.test", "https://shop.test.evil.test/", False),
    ("shop.test", "https://shop.test@evil.test/", False),
    ("shop.test", "https://notshop.test/", False),
    ("SHOP.Test.", "https://shop.test/", True),
    ("https://shop.test", "https://shop.test/", True),
    ("https://shop.test", "http://shop.test/", False),
    ("https://shop.test/", "https://shop.test/x", True),
    ("http://shop.test:8000", "http://shop.test:8000/x", True),
    ("http://shop.test:8000", "https://shop.test:8000/x", False),
    ("shop.test:8000", "https://shop.test:8000/", True),
    ("shop.test:8000", "http://shop.test:8000/", True),
    ("shop.test:8000", "http://shop.test/", False),
    ("*.shop.test", "https://www.shop.test/", True),
    ("*.shop.test", "https://a.b.shop.test/", True),
    ("*.shop.test", "https://shop.test/", True),
    ("*.shop.test", "https://myshop.test/", False),
    ("*.shop.test:8443", "https://a.shop.test:8443/", True),
    ("https://*.shop.test", "http://a.shop.test/", False),
    ("*", "https://anything.test/", True),
    ("*", "https://anything.test:8443/", False),
    ("*:8443", "https://anything.test:8443/", True),
    ("https://*", "http://anything.test/", False),
    ("127.0.0.1:8000", "http://2130706433:8000/", True),
    ("127.0.0.1:8000", "http://127.0.0.2:8000/", False),
    ("[::1]:8000", "http://[0:0::1]:8000/", True),
    ("bücher.example", "https://xn--bcher-kva.example/", True),
    ("shop.test/api", "https://shop.test/api", True),
    ("shop.test/api", "https://shop.test/api/v1", True),
    ("shop.test/api", "https://shop.test/apiary", False),
    ("shop.test/api", "https://shop.test/API", False),
    ("shop.test/api/*", "https://shop.test/api/v1", True),
    ("shop.test/api/", "https://shop.test/api", True),
    ("shop.test/api", "https://shop.test/api/../admin", False),
    ("shop.test/api", "https://shop.test/api/%2e%2e/admin", False),
    ("shop.test/api", "https://shop.test/api/..%2fadmin", False),
    ("shop.test/api", "https://shop.test/api/..%5Cadmin", False),
    ("shop.test/api", "https://shop.test/api%2f..%2fadmin", False),
]

REFUSED = [
    ("", "names a host"),
    ("https://", "names a host"),
    ("ftp://shop.test", "only http:// and https://"),
    ("file:///etc", "only http:// and https://"),
    ("ann:pw@shop.test", "no user name"),
    ("https://ann@shop.test/", "no user name"),
    ("shop.test/a?b=c", "no query"),
    ("shop.test?b", "no query"),
    ("shop.test/#a", "no fragment"),
    ("shop.test\\a", "no backslash"),
    ("shop.test evil.test", "no space"),
    ("*.com", "too wide"),
    ("*.co.uk", "too wide"),
    ("*.com.au", "too wide"),
    ("*.", "names a host"),
    ("*.0.0.1", "too wide"),
    ("*shop.test", "a star stands alone"),
    ("*.*.test", "a star stands alone"),
    ("**", "a star stands alone"),
    ("a.*.test", "a star stands alone"),
    ("shop.test:*", "a star stands alone"),
    ("shop.test:99999", "not a port"),
    ("shop.test/a*b", "star in a path"),
]


@pytest.mark.parametrize(("pattern", "url", "meant"), MATCHES)
def test_what_a_pattern_means(pattern: str, url: str, meant: bool) -> None:
    assert Pattern.parse(pattern).matches_url(parse_url(url)) is meant


@pytest.mark.parametrize(("pattern", "says"), REFUSED)
def test_what_is_no_pattern(pattern: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Pattern.parse(pattern)


def test_a_password_is_in_no_error() -> None:
    with pytest.raises(InvalidInput) as caught:
        Pattern.parse("https://ann:hunter2@shop.test/")
    assert "hunter2" not in str(caught.value)
    assert "shop.test" in str(caught.value)


def test_a_tunnel_hides_its_scheme_but_not_its_port() -> None:
    assert Pattern.parse("http://shop.test:8000").matches("shop.test", 8000)
    assert Pattern.parse("https://shop.test").matches("shop.test", 443)
    assert not Pattern.parse("https://shop.test").matches("shop.test", 80)
    assert Pattern.parse("shop.test").matches("shop.test", 80)


def test_a_path_needs_to_be_seen() -> None:
    assert not Pattern.parse("shop.test/api").matches("shop.test", 443, "https")


def test_a_browser_cannot_be_held_to_a_path() -> None:
    assert for_browser(Pattern.parse("https://shop.test/")).path == ""
    with pytest.raises(InvalidInput, match="TLS hides paths") as caught:
        for_browser(Pattern.parse("https://shop.test:8443/api"))
    assert "write https://shop.test:8443" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["shop.test", "https://*.shop.test:8443/a/b", "*", "http://*:81", "[::1]:8000", "127.0.0.1"]
)
def test_a_pattern_writes_itself_as_it_reads(text: str) -> None:
    assert str(Pattern.parse(text)) == text
    assert Pattern.parse(str(Pattern.parse(text))) == Pattern.parse(text)


labels = st.from_regex(r"[a-z]([a-z0-9\-]{0,5}[a-z0-9])?", fullmatch=True)


@given(labels, labels, labels)
def test_an_exact_pattern_means_one_host(first: str, second: str, third: str) -> None:
    host = f"{first}.{second}.{third}"
    pattern = Pattern.parse(host)

    assert pattern.names(host)
    for other in (f"x.{host}", f"x{host}", f"{host}.x", f"{second}.{third}", f"{host}x"):
        assert other == host or not pattern.names(other)
