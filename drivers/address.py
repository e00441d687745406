"""What may be navigated to at all, before the boundary is asked."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentloop.errors import InvalidInput, RequestRefused, WorldError
from agentloop.guard.network.guard import Boundary

__all__ = ["check_reachable", "checked_address", "within_reach"]

_ALLOWED = ("http", "https")
# What a page may make of itself, and what the browser shows in the place of one that did not come.
_HARMLESS = ("about", "blob", "data", "chrome-error")


def checked_address(url: str) -> str:
    """The address, stripped. Only http, https and about:blank pass: files, data and browser pages never meet the proxy.

    Raises `InvalidInput` for what is no absolute address, `RequestRefused` for any other scheme.
    """
    address = url.strip()
    if address == "about:blank":
        return address
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InvalidInput(f"{url!r} is not an address: {error}") from None
    if parts.scheme in _ALLOWED and parts.netloc:
        return address
    if not parts.scheme or "." in parts.scheme or parts.scheme == "localhost":
        raise InvalidInput(f"{url!r} is not a full address: write it with its scheme, as in https://example.org/")
    if parts.scheme in _ALLOWED:
        raise InvalidInput(f"{url!r} names no host")
    raise RequestRefused(
        f"{parts.scheme}: addresses are never opened; only http, https and about:blank are",
        host=parts.hostname or "",
        rule=f"scheme {parts.scheme}",
    )


async def check_reachable(address: str, boundary: Boundary) -> None:
    """Raises `RequestRefused`. Only for the better message: the proxy decides, at the moment of the request."""
    if address == "about:blank":
        return
    try:
        await boundary.resolve_url(address)
    except RequestRefused:
        raise
    except WorldError:
        pass  # what cannot be resolved now the browser reports


def within_reach(address: str) -> bool:
    """Whether a page may be at this address: no file, no page of the browser itself."""
    scheme = address.partition(":")[0].lower()
    return scheme in _ALLOWED or scheme in _HARMLESS or not address
