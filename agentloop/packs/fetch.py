"""`fetch`: HTTP for scripts, inside the boundary, and HTML as Markdown."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import AgentLoopError, InvalidInput, Refused
from agentloop.guard.network.base import OwnPorts, Resolver
from agentloop.guard.network.client import GuardedClient, Reply
from agentloop.guard.network.guard import Boundary, run_boundary
from agentloop.guard.network.url import Url, parse_url
from agentloop.guard.secrets import Secrets
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.html import html_to_markdown
from agentloop.packs.options import Options, text_argument
from agentloop.packs.permission import Permission, WebPermission
from agentloop.packs.resources import help_texts, text
from agentloop.packs.secret_sending import admit_without_secrets, fill_secrets
from agentloop.records import Json

__all__ = ["Sender", "Web", "fetch_capability", "fetch_pack"]

_OPTIONS: Final = ("method", "headers", "body", "json", "form", "auth")
_ERROR_CHARS: Final = 200
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_FIELD: Final = r"[\w.*~%+-]+=[\w.*~%+-]*"
_FORM_TEXT: Final = re.compile(rf"{_FIELD}(?:&{_FIELD})*", re.ASCII)


def fetch_capability(
    *,
    allow: Sequence[str] | None = None,
    allow_private: bool = False,
    own_ports: OwnPorts | None = None,
    resolver: Resolver | None = None,
) -> Capability:
    """`fetch` within what the operator allows (see `Boundary`), which a run's own `allow` can only narrow.

    `own_ports` are never reached, by default those of the run; `resolver` None is the system's.
    Raises `InvalidInput` for a pattern that is none.
    """
    web = Web(allow=allow, allow_private=allow_private, own_ports=own_ports, resolver=resolver)

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [fetch_pack(web.client(context), Permission(context), boundary=web.boundary(context))]

    return Capability(name="fetch", description="Fetches URLs.", build=build)


def fetch_pack(
    client: GuardedClient, permission: Permission | None = None, *, boundary: Boundary | None = None
) -> Pack:
    """`fetch`, `allowUrls`, `fetchWhitelist` and `htmlToMarkdown`.

    Policy, then `boundary` (None: the client's), then a person decide on every hop. The pack does not close the client.
    """
    sender = Sender(client, permission or Permission(), boundary=boundary)
    declarations = text("fetch.d.ts")
    return Pack(
        name="fetch",
        description="Fetches URLs.",
        declarations=declarations,
        help=help_texts(declarations),
        primitives={
            "fetch": Primitive(sender.send, untrusted=True),
            "allowUrls": Primitive(sender.allow),
            "fetchWhitelist": Primitive(sender.whitelist),
            "htmlToMarkdown": Primitive(_to_markdown, untrusted=True),
        },
    )


class Web:
    """What an operator lets the scripts of any run reach."""

    def __init__(
        self,
        *,
        allow: Sequence[str] | None,
        allow_private: bool,
        own_ports: OwnPorts | None,
        resolver: Resolver | None = None,
    ) -> None:
        self._allow = None if allow is None else Boundary(allow=allow).allowed
        self._allow_private = allow_private
        self._own_ports = own_ports
        self._resolver = resolver

    def client(self, context: BuildContext) -> GuardedClient:
        """The run's client. Raises `InvalidInput` when it was given none."""
        if context.http is None:
            raise InvalidInput("no HTTP client: BuildContext.http takes a GuardedClient")
        client: GuardedClient = context.http
        return client

    def boundary(self, context: BuildContext) -> Boundary:
        """What one run reaches of it."""
        return run_boundary(
            start_url=context.start_url,
            narrow=context.allow,
            allow=self._allow,
            allow_private=self._allow_private,
            own_ports=context.own_ports if self._own_ports is None else self._own_ports,
            resolver=self._resolver,
        )


class Sender:
    """Sends what scripts ask for and tells of it. `tool` is the name under which events and errors speak of it."""

    def __init__(
        self,
        client: GuardedClient,
        permission: Permission,
        *,
        boundary: Boundary | None = None,
        tool: str = "fetch",
    ) -> None:
        self._client = client
        self._permission = permission
        self._web = WebPermission(client.boundary if boundary is None else boundary, permission)
        self._tool = tool

    async def send(self, url: Json = None, options: Json = None) -> Json:
        """One request: `{status, ok, url, headers, body, truncated?}`."""
        secrets = self._permission.secrets
        filled = fill_secrets(secrets, url, _typed(options))
        request = _read(url, filled.options)
        try:
            reply = await self._client.request(
                request.method,
                request.url,
                headers=request.headers,
                body=request.body,
                admit=admit_without_secrets(secrets, request.url, self._web.admit),
                only_to=filled.origins,
            )
        except AgentLoopError as error:
            shown = secrets.hide_error(error)
            await self._tell(request, f"failed: {str(shown)[:_ERROR_CHARS]}", failed=type(error).__name__)
            raise shown from None
        await self._tell(request, str(reply.status), status=reply.status, bytes=len(reply.body))
        return await asyncio.to_thread(_hidden, secrets, _as_json(reply)) if secrets else _as_json(reply)

    async def allow(self, hosts: Json = None) -> bool:
        """Whether all these hosts may be reached, asking for those that may not yet."""
        urls = _hosts(hosts)
        return all([await self._may(url) for url in urls])

    async def whitelist(self) -> list[str]:
        """The patterns of what may be reached unasked."""
        return await self._web.whitelist()

    async def _may(self, url: Url) -> bool:
        try:
            await self._web.admit(url)
        except Refused as refusal:
            reason = str(refusal)[:_ERROR_CHARS]
            await self._permission.tell("act", content=f"allowUrls {url.origin}: {reason}", tool="allowUrls")
            return False
        return True

    async def _tell(self, request: _Request, outcome: str, **args: Json) -> None:
        await self._permission.tell(
            "act",
            content=f"{self._tool} {request.method} {request.url}: {outcome}",
            tool=self._tool,
            args={"verb": self._tool, "method": request.method, "url": str(request.url), **args},
        )


@dataclass(frozen=True, kw_only=True)
class _Request:
    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes


def _typed(options: Json) -> Json:
    """The options, the headers as an object; a body that reads as the fields of a form is sent as one.

    That is how `URLSearchParams` comes out of a script.
    """
    if not isinstance(options, dict):
        return options
    headers = options.get("headers")
    if isinstance(headers, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in headers):
        headers = {str(name): value for name, value in headers}
    body = options.get("body")
    if isinstance(body, str) and _FORM_TEXT.fullmatch(body) and isinstance(headers, dict | None):
        headers = {"content-type": _FORM, **{name.lower(): value for name, value in (headers or {}).items()}}
    return {**options, "headers": headers}


def _read(url: Json, options: Json) -> _Request:
    given = Options(options, _OPTIONS)
    body, kind = _body(given)
    headers = {**({"content-type": kind} if kind else {}), **_headers(given.value("headers"))}
    if (auth := given.value("auth")) is not None:
        headers["authorization"] = _authorization(auth)
    return _Request(method=(given.text("method") or "GET").upper(), url=_url(url), headers=headers, body=body)


def _url(url: Json) -> Url:
    if not isinstance(url, str) or not url.strip():
        raise InvalidInput("fetch needs a URL with its scheme, as in https://api.example/items")
    return parse_url(url)


def _headers(headers: Json) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, dict):
        raise InvalidInput('headers is an object such as {accept: "text/html"}')
    return {name.lower(): _as_text(value) for name, value in headers.items() if value is not None}


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _body(given: Options) -> tuple[bytes, str]:
    """The body's bytes and the content type that goes with it, "" for none."""
    kinds = [name for name in ("body", "json", "form") if given.value(name) is not None]
    if len(kinds) > 1:
        raise InvalidInput(f"fetch takes one of body, json and form, not {' and '.join(kinds)}")
    if not kinds:
        return b"", ""
    value = given.value(kinds[0])
    if kinds[0] == "form":
        if not isinstance(value, dict):
            raise InvalidInput('form is an object such as {q: "shoes"}')
        pairs = {name: [_as_text(one) for one in _listed(item)] for name, item in value.items() if item is not None}
        return urlencode(pairs, doseq=True).encode(), _FORM
    if kinds[0] == "body":
        if not isinstance(value, str):
            raise InvalidInput("body is a text: {json: …} sends a value as JSON, {form: …} the fields of a form")
        return value.encode(), "text/plain; charset=utf-8"
    return json.dumps(value, ensure_ascii=False).encode(), _JSON


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else [value]


def _authorization(auth: Json) -> str:
    match auth:
        case {"bearer": str(token)} if len(auth) == 1:
            return f"Bearer {token}"
        case {"user": str(user), "password": str(password)} if len(auth) == 2 and ":" not in user:
            return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    raise InvalidInput('auth is {bearer: "…"} or {user: "…", password: "…"}')


def _hosts(hosts: Json) -> list[Url]:
    listed = [item for item in _listed(hosts) if item is not None]
    if not listed or not all(isinstance(item, str) and item.strip() for item in listed):
        raise InvalidInput('allowUrls needs hosts, as in allowUrls(["api.example.com", "http://127.0.0.1:8080"])')
    urls = [_url(item if "://" in item else f"https://{item.strip()}") for item in listed]
    return list({(url.host, url.port): url for url in urls}.values())


def _as_json(reply: Reply) -> dict[str, Json]:
    data: dict[str, Json] = {
        "status": reply.status,
        "ok": 200 <= reply.status < 300,
        "url": reply.url,
        "headers": dict(reply.headers),
        "body": reply.text,
    }
    return {**data, "truncated": True} if reply.truncated else data


def _hidden(secrets: Secrets, data: dict[str, Json]) -> Json:
    """The response without secrets; of one that was cut short, without the beginning of one at its end."""
    if "truncated" not in data:
        return secrets.hide(data)
    shown = secrets.hide({**data, "body": data["body"] + "…"})
    return {**shown, "body": shown["body"].removesuffix("…")}


async def _to_markdown(html: Json = None) -> str:
    return await asyncio.to_thread(html_to_markdown, text_argument("html", html))
