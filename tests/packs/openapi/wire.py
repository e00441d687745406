"""A server that takes requests as they come, and an independent reader of them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from aiohttp import web
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

from agentloop.capabilities import BuildContext, Capability
from agentloop.guard.grants import Ask
from agentloop.guard.network.client import ClientLimits, GuardedClient
from agentloop.guard.network.guard import run_boundary
from agentloop.guard.policy import Policy
from agentloop.guard.secrets import Secrets
from agentloop.packs.base import Pack
from agentloop.records import Json
from tests.source import ROOT

__all__ = ["READER", "SPECS", "Api", "Received", "built", "listening", "loaded", "plain", "understood"]

READER = Config(
    spec_validator_cls=None,  # type: ignore[arg-type]
    extra_media_type_deserializers={"application/merge-patch+json": json.loads},
)
"""The documents are validated once, by a test of their own, and not again for each request."""

SPECS = ROOT / "tests" / "packs" / "openapi" / "specs"


@dataclasses.dataclass
class Received:
    """A request as openapi-core reads one; what is percent-encoded in the path stays so."""

    host_url: str
    path: str
    method: str
    body: bytes
    raw: web.BaseRequest
    undecoded: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        query = urlsplit(self.raw.raw_path).query
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        # This reader parts spaceDelimited lists at "%20", so it must get them as they came.
        raw = [tuple(pair.partition("=")[::2]) for pair in query.split("&")]
        cookies = [part.partition("=")[::2] for part in self.raw.headers.get("Cookie", "").split("; ") if part]
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(
                [(name, value) for name, value in pairs if name not in self.undecoded]
                + [(name, value) for name, value in raw if name in self.undecoded]
            ),
            header=Headers(list(self.raw.headers.items())),
            cookie=ImmutableMultiDict([(name, value) for name, value in cookies]),
        )

    @property
    def content_type(self) -> str:
        return self.raw.headers.get("Content-Type", "")


class Api:
    """What arrived, and what is answered."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.answer: Callable[[], web.Response] | None = None
        self.answers: dict[str, web.Response] = {}

    async def take(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        if request.path in self.answers:
            return self.answers.pop(request.path)
        return web.json_response({"path": request.path}) if self.answer is None else self.answer()

    @property
    def last(self) -> web.BaseRequest:
        return self.requests[-1]

    @property
    def target(self) -> str:
        """Path and query of the last request, as they came."""
        return self.last.raw_path

    def received(self, *undecoded: str) -> Received:
        raw = self.last
        return Received(
            host_url=self.url,
            path=urlsplit(raw.raw_path).path,
            method=raw.method.lower(),
            body=self.bodies[-1],
            raw=raw,
            undecoded=frozenset(undecoded),
        )


@asynccontextmanager
async def listening(host: str = "127.0.0.1") -> AsyncIterator[Api]:
    api = Api()
    runner = web.ServerRunner(web.Server(api.take), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0)
        await site.start()
        api.url = f"http://{host}:{runner.addresses[0][1]}"
        yield api
    finally:
        await runner.cleanup()


@asynccontextmanager
async def built(
    capability: Capability,
    *,
    policy: Policy | None = None,
    ask: Ask | None = None,
    events: list[dict[str, Json]] | None = None,
    allow: list[str] | None = None,
    limits: ClientLimits | None = None,
    secrets: Secrets | None = None,
) -> AsyncIterator[Pack]:
    """The pack of a capability as a run builds it, with the run's own client."""

    async def emit(type: str, **fields: Json) -> None:
        if events is not None:
            events.append({"type": type, **fields})

    async with GuardedClient(run_boundary(start_url=None, narrow=allow), limits=limits) as http:
        context = BuildContext(
            policy=policy, ask=ask, http=http, emit=emit, allow=allow, secrets=Secrets() if secrets is None else secrets
        )
        [pack] = await capability.build(context)
        yield pack


def loaded(name: str, *, server: str) -> dict[str, Any]:
    """A document of `specs` with one server, for the independent reader."""
    text = (SPECS / name).read_text("utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    document["servers"] = [{"url": server}]
    for item in document["paths"].values():
        item.pop("servers", None)
    return document


def understood(document: Mapping[str, Any], request: Received) -> tuple[dict[str, dict[str, Any]], Any]:
    """Parameters by place, and the body, as openapi-core has them; what it does not accept is raised."""
    result = OpenAPI.from_dict(dict(document), config=READER).unmarshal_request(request)
    result.raise_for_errors()
    path = {name: _decoded(plain(value)) for name, value in result.parameters.path.items()}
    others = {place: plain(dict(getattr(result.parameters, place))) for place in ("query", "header", "cookie")}
    return {"path": path, **others}, plain(result.body)


def plain(value: Any) -> Any:
    """What was sent, from the richer values that a reader makes of it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value


def _decoded(value: Any) -> Any:
    return unquote(value) if isinstance(value, str) else value
