"""Addresses as scripts write them."""

from __future__ import annotations

import pytest

from agentloop.browser.addresses import absolute_address
from agentloop.errors import InvalidInput


@pytest.mark.parametrize(
    ("url", "absolute"),
    [
        ("https://a.test/x", "https://a.test/x"),
        ("about:blank", "about:blank"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("a.test/x", "https://a.test/x"),
        ("localhost:8080/x", "http://localhost:8080/x"),
        ("//a.test/x", "https://a.test/x"),
        ("/cart", "http://shop.test/cart"),
        ("?q=1", "http://shop.test/list/?q=1"),
        ("./next", "http://shop.test/list/next"),
        ("#end", "http://shop.test/list/#end"),
    ],
)
def test_addresses_become_absolute(url: str, absolute: str) -> None:
    assert absolute_address(url, "http://shop.test/list/") == absolute


def test_a_path_needs_a_site() -> None:
    with pytest.raises(InvalidInput, match="whole address"):
        absolute_address("/cart", "about:blank")
    with pytest.raises(InvalidInput, match="url is required"):
        absolute_address(" ", "http://shop.test/")
