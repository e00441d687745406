"""`secret(name)`: a placeholder for what scripts may use and never see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from agentloop.capabilities import BuildContext, Capability
from agentloop.errors import AgentLoopError, EndRun, EndTurn, InvalidInput, PolicyDenied, WorldError
from agentloop.guard.secrets import Secret, Secrets
from agentloop.packs.backend import bounded
from agentloop.packs.base import Pack, Primitive
from agentloop.packs.permission import Permission
from agentloop.packs.resources import help_texts, say, text
from agentloop.records import Json

__all__ = ["LOOKUP_S", "SecretBackend", "secret_capability", "secret_pack"]

LOOKUP_S: Final = 30.0
"""Seconds that a backend may take for one secret."""

_DESCRIPTION: Final = "Secrets that scripts may use and never see."

SecretBackend: TypeAlias = Callable[[str], Awaitable[Secret | None]]
"""Finds a secret by name, with the origins it may go to; None when there is none. What it raises a script reads."""


def secret_capability(backend: SecretBackend | None = None) -> Capability:
    """`secret()` for the secrets bound to the run (`BuildContext.secrets`), and for those that `backend` finds.

    What the operator bound is allowed by that; what a backend finds is the policy's to allow, as the tool `secret`.
    """

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [secret_pack(context.secrets, Permission(context), backend=backend)]

    return Capability(name="secret", description=_DESCRIPTION, build=build, always_on=True)


def secret_pack(
    secrets: Secrets, permission: Permission | None = None, *, backend: SecretBackend | None = None
) -> Pack:
    """`secret(name)`, also as `require("secret").get`. What `backend` finds is bound to `secrets` from then on."""
    finder = _Finder(secrets, permission or Permission(), backend)
    declarations = text("secret.d.ts")
    return Pack(
        name="secret",
        description=_DESCRIPTION,
        declarations=declarations + _bound(secrets),
        help=help_texts(declarations),
        primitives={"secret": Primitive(finder.placeholder)},
        modules={"secret": text("secret.js")},
    )


def _bound(secrets: Secrets) -> str:
    lines = (say("secret.md", "bound", name=json.dumps(secret.name), hosts=secret.hosts) for secret in secrets)
    return "".join(f"{line}\n" for line in lines)


class _Finder:
    def __init__(self, secrets: Secrets, permission: Permission, backend: SecretBackend | None) -> None:
        self._secrets = secrets
        self._bound = frozenset(secrets.names)
        self._permission = permission
        self._backend = backend
        self._looking = asyncio.Lock()

    async def placeholder(self, name: Json = None) -> str:
        """What stands for the secret. Raises errors whose words begin with the call."""
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput('secret: a name is required, as in secret("LOGIN")')
        try:
            if self._backend is None:
                self._secrets.get(name)
            bound = {"bound": True} if name in self._bound else {}
            await self._permission.need("secret", name=name, **bound)
            return (await self._found(name)).placeholder
        except PolicyDenied as error:
            raise PolicyDenied(f'secret("{name}"): {error}') from None
        except InvalidInput as error:
            raise InvalidInput(f'secret("{name}"): {error}') from None

    async def _found(self, name: str) -> Secret:
        async with self._looking:
            if name in self._secrets.names or self._backend is None:
                return self._secrets.get(name)
            found = await self._looked_up(self._backend, name)
            if found is None:
                return self._secrets.get(name)
            if not isinstance(found, Secret) or found.name != name:
                raise InvalidInput("the backend gave something else than a Secret of this name")
            self._secrets.add(found)
            return found

    async def _looked_up(self, backend: SecretBackend, name: str) -> Secret | None:
        late = f"not found within {LOOKUP_S:g} s"
        try:
            return await bounded(backend(name), seconds=LOOKUP_S, late=late)
        except (EndRun, EndTurn, InvalidInput):
            raise
        except AgentLoopError as error:
            raise WorldError(f'secret("{name}"): {error}') from None
        except Exception as error:  # the border: a backend is foreign code, and its failure is the script's to catch
            raise WorldError(f'secret("{name}"): {type(error).__name__}: {error}') from None
