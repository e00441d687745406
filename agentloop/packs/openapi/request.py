"""From what a script passes to the request that goes over the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentloop.errors import InvalidInput
from agentloop.packs.openapi.bodies import chosen, encoded, takes_files
from agentloop.packs.openapi.checking import Checker
from agentloop.packs.openapi.model import Body, Operation, Parameter
from agentloop.packs.openapi.names import near
from agentloop.packs.openapi.node import kind_of
from agentloop.packs.openapi.reading import BODY, CONTENT_TYPE
from agentloop.packs.openapi.styles import Pairs, cookie_pairs, header_text, path_text, query_pairs
from agentloop.records import Json

__all__ = ["ApiRequest", "api_request"]

_TEMPLATED: Final = re.compile(r"\{([^{}]*)\}")
_DOTS: Final = frozenset({".", ".."})
_COOKIE: Final = "cookie"
_SHOWN: Final = 40


@dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """A request; header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def api_request(operation: Operation, params: Json, *, headers: Mapping[str, str] | None = None) -> ApiRequest:
    """The request of a call. `headers` are sent with it and win over parameters; one that they hold is not required.

    Null and missing parameters mean the same. Raises `InvalidInput` that names the function and what is wrong.
    """
    try:
        return _Writer(operation, {name.lower(): value for name, value in (headers or {}).items()}).written(params)
    except InvalidInput as error:
        raise InvalidInput(f"{operation.function}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{operation.function}: the parameters nest too deeply") from None


class _Writer:
    def __init__(self, operation: Operation, static: Mapping[str, str]) -> None:
        self._operation = operation
        self._static = static

    def written(self, params: Json) -> ApiRequest:
        given = self._given(params)
        paths: dict[str, str] = {}
        query: Pairs = []
        cookies: Pairs = []
        headers: dict[str, str] = {}
        for parameter in self._operation.parameters:
            value = given.get(parameter.key)
            if value is None:
                self._check_missing(parameter)
                continue
            _check(Checker().problem(value, parameter.schema, parameter.key))
            match parameter.place:
                case "path":
                    paths[parameter.name] = path_text(parameter, value)
                case "query":
                    query += _some(query_pairs(parameter, value), parameter)
                case "cookie":
                    cookies += _some(cookie_pairs(parameter, value), parameter)
                case "header":
                    headers[parameter.name.lower()] = header_text(parameter, value)
        body = self._body(given)
        return ApiRequest(
            method=self._operation.method,
            url=self._operation.server + self._path(paths) + _query(query),
            headers=headers | self._accept() | _cookie_header(cookies) | self._all_static(cookies) | body.headers,
            body=body.data,
        )

    def _given(self, params: Json) -> dict[str, Json]:
        if params is not None and not isinstance(params, dict):
            raise InvalidInput(f"takes one object of parameters, not {kind_of(params)}")
        known = [parameter.key for parameter in self._operation.parameters]
        body = self._operation.body
        known += [] if body is None else [BODY] if len(body.media) == 1 else [BODY, CONTENT_TYPE]
        for name in params or {}:
            if name not in known:
                there = f"; there are: {', '.join(known[:_SHOWN])}" if known else ": it takes none"
                raise InvalidInput(f"there is no parameter {name[:80]!r}{near(name, known) or there}")
        return {name: value for name, value in (params or {}).items() if value is not None or name == BODY}

    def _check_missing(self, parameter: Parameter) -> None:
        supplied = parameter.place == "header" and parameter.name.lower() in self._static
        if parameter.required and not supplied:
            raise InvalidInput(f"{parameter.key} is missing: it is required ({parameter.place} parameter)")

    def _path(self, values: Mapping[str, str]) -> str:
        path = _TEMPLATED.sub(lambda match: values[match[1]], self._operation.path)
        # A dot segment would lead to another path than the one that was meant.
        for written, template in zip(path.split("/"), self._operation.path.split("/"), strict=False):
            if written in _DOTS and written != template:
                raise InvalidInput(f"a part of the path cannot be {written!r}")
        return path

    def _accept(self) -> dict[str, str]:
        return {"accept": f"{self._operation.accept}, */*;q=0.5"} if self._operation.accept else {}

    def _all_static(self, cookies: Pairs) -> dict[str, str]:
        static = dict(self._static)
        if cookies and _COOKIE in static:
            static[_COOKIE] = f"{static[_COOKIE]}; {_cookie_header(cookies)[_COOKIE]}"
        return static

    def _body(self, given: Mapping[str, Json]) -> _Written:
        body = self._operation.body
        if body is None:
            return _Written()
        value, wanted = given.get(BODY), given.get(CONTENT_TYPE)
        if BODY not in given or (value is None and not _takes_null(body)):
            if body.required:
                raise InvalidInput(f"{BODY} is missing: it is required")
            if wanted is not None:
                raise InvalidInput(f"{CONTENT_TYPE} is given without {BODY}")
            return _Written()
        if wanted is not None and not isinstance(wanted, str):
            raise InvalidInput(f"{CONTENT_TYPE} must be a string, not {kind_of(wanted)}")
        media = chosen(body, wanted)
        _check(Checker(files=takes_files(media.type)).problem(value, media.schema, BODY))
        content = encoded(media, value)
        return _Written(headers={"content-type": content.type}, data=content.data)


@dataclass(frozen=True, kw_only=True)
class _Written:
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""


def _check(problem: str) -> None:
    if problem:
        raise InvalidInput(problem)


def _takes_null(body: Body) -> bool:
    """Whether the body may be the JSON value null."""
    schema = body.media[0].schema
    return schema is not None and not Checker().problem(None, schema, BODY)


def _some(pairs: Pairs, parameter: Parameter) -> Pairs:
    if parameter.required and not pairs:
        raise InvalidInput(f"{parameter.key} is required and cannot be empty")
    return pairs


def _query(pairs: Pairs) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""


def _cookie_header(pairs: Pairs) -> dict[str, str]:
    return {_COOKIE: "; ".join(f"{name}={value}" for name, value in pairs)} if pairs else {}
