"""A capability is a named bundle of packs, built afresh for each run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentloop.artifacts.base import Artifacts
from agentloop.clock import Clock
from agentloop.guard.grants import Ask
from agentloop.guard.network.base import OwnPorts
from agentloop.guard.network.egress import Egress
from agentloop.guard.policy import Policy
from agentloop.guard.secrets import Secrets
from agentloop.llm.base import LLM
from agentloop.packs.base import Pack
from agentloop.records import Json, Scope

__all__ = ["BuildContext", "Capability", "Emit"]

Emit = Callable[..., Awaitable[None]]
"""`await emit("act", content="…", args={…})`: adds an event of the run; the journal stamps and redacts it."""


async def _emit_nothing(type: str, **fields: Json) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class BuildContext:
    """What a capability may use of the run it is built for; everything else it closes over.

    `llm` is metered: what it spends counts for the run. `http` is the guarded client once a pack
    needs one. `ask` pauses `clock` while a question is open. `enabled` None means all. `state` is what a pack
    saved last in this session; `resumed` tells that this same run was begun by another process. `secrets` are
    those that its scripts may use and never see. Whatever opens a way out gives it a door of `egress`, which caps
    and counts, and keeps it off `own_ports`; whatever opens a port adds it there.
    """

    run_id: str = ""
    session_id: str = ""
    message_id: str = ""
    user_id: str = ""
    scope: Scope = Scope()
    enabled: Sequence[str] | None = None
    policy: Policy | None = None
    llm: LLM | None = None
    http: Any = None
    ask: Ask | None = None
    emit: Emit = _emit_nothing
    workspace: str | None = None
    artifacts: Artifacts | None = None
    clock: Clock = field(default_factory=Clock)
    allow: Sequence[str] | None = None
    start_url: str | None = None
    state: bytes | None = None
    resumed: bool = False
    secrets: Secrets = field(default_factory=Secrets)
    egress: Egress = field(default_factory=Egress)
    own_ports: OwnPorts = field(default_factory=OwnPorts)
    settings: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Capability:
    """`build` may return no packs (an optional dependency is missing) or raise: the run warns and goes on.

    An `always_on` capability is built whatever the session has enabled. Without a `required` one there is
    no run: its failure ends it.
    """

    name: str
    description: str
    build: Callable[[BuildContext], Awaitable[Sequence[Pack]]]
    always_on: bool = False
    required: bool = False
