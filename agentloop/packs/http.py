"""`require("http")`: `fetch` by method, under the same permission."""

from __future__ import annotations

from agentloop.guard.network.client import GuardedClient
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.fetch import Sender
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, text

__all__ = ["http_pack"]


async def http_pack(client: GuardedClient, permission: Permission | None = None) -> Pack:
    """The module `http` and the primitive `_http` that it stands on. The pack does not close the client."""
    permission = permission or Permission()
    declarations = text("http.d.ts")
    return Pack(
        name="http",
        description="Sends HTTP requests by method.",
        kind="module",
        declarations=declarations,
        help=help_texts(declarations),
        primitives={"_http": Primitive(Sender(client, permission, tool="http").send, untrusted=True)},
        modules=await permission.modules({"http": text("http.js")}),
    )
