"""An API as a module of scripts: `require(name)` with a function for each operation."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import AgentLoopError, InvalidInput, refuse_text
from agentloop.guard.network.base import OwnPorts, Resolver
from agentloop.guard.network.client import GuardedClient, Reply
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.url import parse_url
from agentloop.guard.secrets import Secrets
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.fetch import Web
from agentloop.packs.openapi.bodies import is_json
from agentloop.packs.openapi.document import Source
from agentloop.packs.openapi.guide import Guide
from agentloop.packs.openapi.headers import StaticHeaders
from agentloop.packs.openapi.model import Api, Operation
from agentloop.packs.openapi.names import near, slug
from agentloop.packs.openapi.reading import read_api
from agentloop.packs.openapi.request import ApiRequest, api_request
from agentloop.packs.openapi.typescript import remark
from agentloop.packs.options import text_argument
from agentloop.packs.permission import Permission, WebPermission
from agentloop.packs.resources import text
from agentloop.packs.secret_sending import admit_without_secrets, fill_secrets
from agentloop.records import Json

__all__ = ["openapi_capability", "openapi_pack"]

_NAME: Final = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
_MODULE: Final = "openapi/openapi.js"
_ERROR_CHARS: Final = 200


def openapi_capability(
    spec: Source,
    *,
    name: str | None = None,
    description: str | None = None,
    base_url: str | None = None,
    url: str = "",
    documents: Mapping[str, Source] | None = None,
    server_variables: Mapping[str, str] | None = None,
    methods: Collection[str] | None = None,
    headers: Mapping[str, str] | None = None,
    public_headers: Mapping[str, str] | None = None,
    header_origins: Sequence[str] = (),
    allow: Sequence[str] | None = None,
    allow_private: bool = False,
    own_ports: OwnPorts | None = None,
    resolver: Resolver | None = None,
) -> Capability:
    """An API's operations as functions of the module `name` (None: from the title), from its OpenAPI document.

    `spec` is of version 3.0 or 3.1: values, JSON or YAML text, or a `Path`. Nothing is fetched: documents that it
    refers to come in `documents`, by address; `url` is its own address, against which relative ones are read.

    `base_url` takes the place of all servers of the document; else the first server of operation, path or document
    counts, with `server_variables` in it. `methods` None: GET, POST, PUT, PATCH and DELETE.

    `headers` are sent with every call to the origin of the base URL (and `header_origins`). They are credentials: no
    script, event or other host sees them, and what of them comes back is masked. `public_headers` go everywhere.

    `allow`, `allow_private`, `own_ports` and `resolver` say what may be reached, as for `fetch_capability`; the origin
    of `base_url` may always be, and without `allow` nothing else. Raises `InvalidInput`, with a JSON pointer for what
    is wrong in the document.
    """
    refuse_text("allow", allow, of="patterns")
    api = read_api(
        spec, url=url, documents=documents, base_url=base_url, server_variables=server_variables, methods=methods
    )
    named = _named_api(api, name, description, headers, public_headers, header_origins)
    reach = allow if base_url is None else [*(allow or ()), parse_url(base_url).origin]
    web = Web(allow=reach, allow_private=allow_private, own_ports=own_ports, resolver=resolver)

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [await _pack(named, web.client(context), Permission(context), web.boundary(context))]

    return Capability(name=named.name, description=named.description, build=build)


async def openapi_pack(
    client: GuardedClient,
    api: Api,
    permission: Permission | None = None,
    *,
    boundary: Boundary | None = None,
    name: str | None = None,
    description: str | None = None,
    headers: Mapping[str, str] | None = None,
    public_headers: Mapping[str, str] | None = None,
    header_origins: Sequence[str] = (),
) -> Pack:
    """The pack of an API that was read (`read_api`); the rest as in `openapi_capability`.

    Policy, then `boundary` (None: the client's), then a person decide on every hop. The pack does not close the client.
    """
    named = _named_api(api, name, description, headers, public_headers, header_origins)
    return await _pack(named, client, permission or Permission(), boundary or client.boundary)


@dataclass(frozen=True, kw_only=True)
class _NamedApi:
    """An API under the name that scripts know it by."""

    api: Api
    name: str
    description: str
    headers: StaticHeaders
    guide: Guide
    overview: str


def _named_api(
    api: Api,
    name: str | None,
    description: str | None,
    headers: Mapping[str, str] | None,
    public_headers: Mapping[str, str] | None,
    header_origins: Sequence[str],
) -> _NamedApi:
    name = (slug(api.title) or "api") if name is None else name
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"name {name!r}: a name has letters, digits and single dashes between them, as in pet-store")
    refuse_text("header_origins", header_origins, of="origins")
    origins = [*([api.base] if api.base else []), *header_origins]
    static = StaticHeaders(secret=headers or {}, public=public_headers or {}, origins=origins)
    told = description or remark(api.title) or "An API."
    guide = Guide(api, name=name, title=told, static=static.names)
    return _NamedApi(api=api, name=name, description=told, headers=static, guide=guide, overview=guide.overview())


async def _pack(named: _NamedApi, client: GuardedClient, permission: Permission, boundary: Boundary) -> Pack:
    calls = _Calls(named, client, permission, boundary)
    key = f"_openapi.api_{named.name.replace('-', '_')}"
    return Pack(
        name=named.name,
        description=named.description,
        kind="module",
        declarations=named.guide.pointer(),
        help={named.name: named.overview},
        primitives={
            f"{key}.call": Primitive(calls.call, untrusted=True),
            f"{key}.operations": Primitive(calls.operations),
            f"{key}.describe": Primitive(calls.describe),
        },
        modules=await permission.modules({named.name: text(_MODULE)}),
    )


class _Calls:
    """Sends what scripts ask for and tells of it. What the policy says of the module holds for each call."""

    def __init__(self, named: _NamedApi, client: GuardedClient, permission: Permission, boundary: Boundary) -> None:
        self._named = named
        self._client = client
        self._permission = permission
        self._web = WebPermission(boundary, permission)

    async def operations(self) -> list[str]:
        """The names of the functions."""
        await self._permission.need(self._named.name)
        return list(self._named.api.operations)

    async def describe(self, topic: Json = None) -> str:
        """Help on a function, or on what has these words."""
        await self._permission.need(self._named.name)
        return self._named.guide.about("" if topic is None else text_argument("topic", topic))

    async def call(self, function: Json = None, params: Json = None) -> Json:
        """One request: `{status, ok, headers, body, json?, truncated?}`."""
        await self._permission.need(self._named.name)
        operation = self._operation(function)
        headers = self._named.headers.sent_to(operation.server)
        request = await asyncio.to_thread(api_request, operation, params, headers=headers)
        secrets = self._permission.secrets
        try:
            reply = await self._sent(request, secrets)
        except AgentLoopError as error:
            shown = secrets.hide_error(error)
            outcome = f"failed: {str(shown)[:_ERROR_CHARS]}"
            await self._tell(operation, request, outcome, failed=type(error).__name__)
            raise shown from None
        await self._tell(operation, request, str(reply.status), status=reply.status, bytes=len(reply.body))
        return await asyncio.to_thread(self._answer, reply, secrets)

    async def _sent(self, request: ApiRequest, secrets: Secrets) -> Reply:
        """The reply; placeholders of secrets in headers and body are filled in, and go to their origins alone."""
        body = request.body.decode("utf-8", "surrogateescape")
        filled = fill_secrets(secrets, request.url, {"headers": dict(request.headers), "body": body})
        headers, body = _filled(filled.options)
        return await self._client.request(
            request.method,
            request.url,
            headers=headers,
            body=body.encode("utf-8", "surrogateescape"),
            admit=admit_without_secrets(secrets, parse_url(request.url), self._web.admit),
            only_to=filled.origins,
        )

    def _operation(self, function: Json) -> Operation:
        known = self._named.api.operations
        name = text_argument("operation", function)
        if name not in known:
            raise InvalidInput(f"{self._named.name} has no operation {name[:80]!r}{near(name, known)}")
        return known[name]

    async def _tell(self, operation: Operation, request: ApiRequest, outcome: str, **args: Json) -> None:
        await self._permission.tell(
            "act",
            content=f"{self._named.name} {operation.function} {request.method} {request.url}: {outcome}",
            tool=self._named.name,
            args={"verb": operation.function, "method": request.method, "url": request.url, **args},
        )

    def _answer(self, reply: Reply, secrets: Secrets) -> Json:
        """The reply as scripts get it, without static headers and secrets in it."""
        masked = self._named.headers.redactor
        # Where a text was cut off, the beginning of a secret may be its end.
        cut = "…" if reply.truncated else ""
        text = secrets.hide(masked.text(masked.without_beginnings(reply.text + cut))).removesuffix(cut)
        headers = secrets.hide(masked.json(dict(reply.headers)))
        ok = 200 <= reply.status < 300
        data: dict[str, Json] = {"status": reply.status, "ok": ok, "headers": headers, "body": text}
        if reply.truncated:
            return {**data, "truncated": True}
        return data | _parsed(text) if is_json(reply.headers.get("content-type", "")) else data


def _filled(options: Json) -> tuple[dict[str, str], str]:
    assert isinstance(options, dict)
    headers, body = options["headers"], options["body"]
    assert isinstance(headers, dict)
    return {name: str(value) for name, value in headers.items()}, str(body)


def _parsed(body: str) -> dict[str, Json]:
    """The body as `json`, nothing when it is none after all."""
    try:
        return {"json": json.loads(body, parse_constant=_refuse)}
    except (ValueError, RecursionError):
        return {}


def _refuse(constant: str) -> None:
    raise ValueError(constant)
