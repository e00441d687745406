"""From a session's capabilities to the sandbox of one run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import EndRun, EndTurn
from agentloop.guard.logs import logger
from agentloop.packs.base import Pack
from agentloop.sandbox.base import Isolation, Limits, Sandbox
from agentloop.sandbox.host import open_sandbox
from agentloop.sandbox.toolbox import resolve_clashes
from agentloop.sandbox.zygote import Engine

__all__ = ["BuiltSandbox", "CapabilityBuilder", "SandboxBuilder"]

_CLOSE_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class BuiltSandbox:
    """What a run gets. `warnings` says in words what could not be built and was left out."""

    sandbox: Sandbox
    packs: tuple[Pack, ...]
    warnings: tuple[str, ...] = ()
    isolation: Isolation = "none"


class SandboxBuilder(Protocol):
    """Builds the sandbox of one run; leaving the block closes it and everything that was built for it.

    Raises `SandboxError` when there can be no sandbox, `InvalidInput` when packs clash.
    """

    def build(self, context: BuildContext) -> AbstractAsyncContextManager[BuiltSandbox]: ...


class CapabilityBuilder:
    """Builds the always-on capabilities and those that the context enables, in the order given.

    One that fails to build becomes a warning and is left out, unless it is required; an enabled name that none has is
    a warning too; so does a pack that gives way
    to others of its name. At the end the
    sandbox and then every pack is closed, each within five seconds, whatever happens to the others.
    """

    def __init__(
        self,
        capabilities: Sequence[Capability],
        *,
        limits: Limits | None = None,
        engine: Engine = "auto",
        require_isolation: Isolation | None = None,
    ) -> None:
        self._capabilities = tuple(capabilities)
        self._limits = limits or Limits()
        self._engine: Engine = engine
        self._required = require_isolation

    @asynccontextmanager
    async def build(self, context: BuildContext) -> AsyncIterator[BuiltSandbox]:
        """See `SandboxBuilder.build`."""
        async with AsyncExitStack() as stack:
            packs: list[Pack] = []
            stack.push_async_callback(_close_all, packs)
            warnings = [
                warning
                for capability in self._capabilities
                if capability.always_on or context.enabled is None or capability.name in context.enabled
                if (warning := await _build_one(capability, context, packs))
            ]
            kept, clashes = resolve_clashes(packs)
            sandbox = await stack.enter_async_context(
                open_sandbox(
                    packs=kept,
                    limits=self._limits,
                    clock=context.clock,
                    engine=self._engine,
                    require_isolation=self._required,
                    emit=context.emit,
                )
            )
            yield BuiltSandbox(
                sandbox=sandbox,
                packs=tuple(kept),
                warnings=(*_unknown(context.enabled or (), self._capabilities), *warnings, *clashes),
                isolation=sandbox.isolation,
            )


def _unknown(enabled: Sequence[str], capabilities: Sequence[Capability]) -> list[str]:
    there = [capability.name for capability in capabilities]
    named = f"there are: {', '.join(there)}" if there else "there is none"
    return [f"{name!r} is enabled, but no capability is called so; {named}" for name in enabled if name not in there]


async def _build_one(capability: Capability, context: BuildContext, packs: list[Pack]) -> str:
    try:
        packs.extend(await capability.build(context))
    except (EndRun, EndTurn):
        raise
    except Exception as error:  # the border: a capability is foreign code, and the run goes on without it
        if capability.required:
            raise
        return f"capability {capability.name!r} could not be built and is left out: {error or type(error).__name__}"
    return ""


async def _close_all(packs: Sequence[Pack]) -> None:
    async with asyncio.TaskGroup() as group:
        for pack in packs:
            if pack.aclose is not None:
                group.create_task(_close(pack))


async def _close(pack: Pack) -> None:
    assert pack.aclose is not None
    try:
        async with asyncio.timeout(_CLOSE_S):
            await pack.aclose()
    except Exception as error:  # the border: one pack's trouble must not keep the others open
        logger(__name__).warning("pack %s did not close: %s", pack.name, error or type(error).__name__)
