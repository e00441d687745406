"""Addresses as scripts write them."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from agentloop.errors import InvalidInput

__all__ = ["absolute_address"]


def absolute_address(url: str, base: str) -> str:
    """`url` as a browser needs it: one that begins with / ? # or . belongs to `base`.

    One without a scheme is https, or http on this machine. Raises `InvalidInput` for an empty one, and for a
    path while no site is open.
    """
    url = url.strip()
    if not url:
        raise InvalidInput("goto: url is required")
    if url[0] in "/?#." and not url.startswith("//"):
        if not base.startswith("http"):
            raise InvalidInput(f"goto: {url} belongs to no site, as none is open: give the whole address")
        return urljoin(base, url)
    if url.startswith("//"):
        return f"https:{url}"
    # "localhost:8080/x" has no scheme although a colon follows a word.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", url):
        return url
    return f"http://{url}" if re.match(r"(localhost|127\.[\d.]+)\b", url) else f"https://{url}"
