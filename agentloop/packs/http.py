"""`require("http")`: `fetch` by method, under the same permission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentloop.capabilities import BuildContext, Capability
from agentloop.guard.network.base import OwnPorts, Resolver
from agentloop.guard.network.client import GuardedClient
from agentloop.guard.network.guard import Boundary
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.fetch import Sender, Web
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, text

__all__ = ["http_capability", "http_pack"]

_DESCRIPTION: Final = "Sends HTTP requests by method."


def http_capability(
    *,
    allow: Sequence[str] | None = None,
    allow_private: bool = False,
    own_ports: OwnPorts | None = None,
    resolver: Resolver | None = None,
) -> Capability:
    """The module `http`, which reaches what `fetch_capability` with the same arguments does."""
    web = Web(allow=allow, allow_private=allow_private, own_ports=own_ports, resolver=resolver)

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [await http_pack(web.client(context), Permission(context), boundary=web.boundary(context))]

    return Capability(name="http", description=_DESCRIPTION, build=build)


async def http_pack(
    client: GuardedClient, permission: Permission | None = None, *, boundary: Boundary | None = None
) -> Pack:
    """The module `http` and the primitive `_http` that it stands on. The pack does not close the client."""
    permission = permission or Permission()
    sender = Sender(client, permission, boundary=boundary, tool="http")
    declarations = text("http.d.ts")
    return Pack(
        name="http",
        description=_DESCRIPTION,
        kind="module",
        declarations=declarations,
        help=help_texts(declarations),
        primitives={"_http": Primitive(sender.send, untrusted=True)},
        modules=await permission.modules({"http": text("http.js")}),
    )
