"""Where an API is: the server of a document, a path or an operation, its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

from agentloop.errors import InvalidInput, RequestRefused
from agentloop.guard.network.url import parse_url
from agentloop.packs.openapi.names import near
from agentloop.packs.openapi.node import Node

__all__ = ["Servers"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")


class Servers:
    """Chooses base URLs: the operator's own for everything, else the first server of whoever names some.

    Raises `InvalidInput` for a base URL that is none and, in `check`, for variables that no server has.
    """

    def __init__(self, *, base_url: str | None, url: str, variables: Mapping[str, str]) -> None:
        self._fixed = None if base_url is None else _base_of(base_url, "base_url")
        self._url = url
        self._variables = dict(variables)
        self._known: set[str] = set()

    def base(self, *levels: Node) -> str:
        """The base URL for the innermost of these (operation, path, document) that names servers; "" for none."""
        if self._fixed is not None:
            return self._fixed
        for level in levels:
            servers = level.get("servers")
            if servers is not None and (first := next(servers.elements(), None)) is not None:
                return self._filled(first)
        return _base_of(_joined(self._url, "/", "url"), "url") if self._url else ""

    def check(self) -> None:
        """Raises for a variable that was given and that no server has."""
        for name in self._variables.keys() - self._known if self._fixed is None else ():
            there = f"; there are: {', '.join(sorted(self._known))}" if self._known else ": they have none"
            raise InvalidInput(f"no server has a variable {name!r}{near(name, self._known) or there}")

    def _filled(self, server: Node) -> str:
        template = server.text("url")
        variables = server.get("variables")
        declared = {} if variables is None else dict(variables.items())
        for name in _VARIABLE.findall(template):
            if name not in declared:
                raise InvalidInput(f"{server.place}/variables: {name!r} of the URL is missing")
        values = {name: self._value(name, variable) for name, variable in declared.items()}
        return self._absolute(_VARIABLE.sub(lambda match: values[match[1]], template), server)

    def _value(self, name: str, variable: Node) -> str:
        self._known.add(name)
        value = self._variables.get(name, variable.text("default"))
        if not isinstance(value, str):
            raise InvalidInput(f"server_variables: {name!r} must be a string, not {value!r}")
        choices = variable.get("enum")
        known = [] if choices is None else [str(choice.value) for choice in choices.elements()]
        if "default" not in variable.mapping():
            raise InvalidInput(f"{variable.place}: 'default' is missing")
        if known and value not in known:
            raise InvalidInput(f"{variable.place}: {name!r} is one of {', '.join(known)}, not {value!r}")
        return value

    def _absolute(self, url: str, server: Node) -> str:
        if _SCHEME.match(url):
            return _base_of(url, f"{server.place}/url")
        if not self._url:
            raise InvalidInput(
                f"{server.place}/url: {url!r} is relative: give base_url, or url, the document's own address"
            )
        return _base_of(_joined(self._url, url, f"{server.place}/url"), f"{server.place}/url")


def _joined(url: str, relative: str, place: str) -> str:
    try:
        return urljoin(url, relative)
    except ValueError:
        raise InvalidInput(f"{place}: {relative[:120]!r} is no URL") from None


def _base_of(url: str, place: str) -> str:
    """A base URL without the slash at its end. Raises `InvalidInput` for one that cannot be one."""
    try:
        parts = urlsplit(url)
        parse_url(url)
    except ValueError:
        raise InvalidInput(f"{place}: {url[:120]!r} is no URL") from None
    except (InvalidInput, RequestRefused) as error:
        raise InvalidInput(f"{place}: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(f"{place}: a base URL holds no user name and password; headers={{'Authorization': …}} does")
    if parts.query or parts.fragment:
        raise InvalidInput(f"{place}: a base URL ends before ? and #, so {url[:120]!r} is none")
    return url.rstrip("/")
