"""Permission for what a script is about to do: a policy first, then the boundary, then a person.

A yes of a person is a grant of one exact scope, which the session keeps; no is never widened into
anything. The reason that a script reads is always that of the refusal, whoever was or was not asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentloop.capabilities import BuildContext
from agentloop.errors import EndRun, EndTurn, InvalidInput, PolicyDenied, Refused, RequestRefused
from agentloop.guard.grants import Ask, Grant
from agentloop.guard.network.address import METADATA_HOSTS, NEVER, AddressKind, classify, parse_address
from agentloop.guard.network.base import Checked
from agentloop.guard.network.guard import Boundary
from agentloop.guard.network.pattern import Pattern
from agentloop.guard.network.url import Url
from agentloop.guard.policy import Decision, ToolCall
from agentloop.guard.secrets import Secrets
from agentloop.records import Json

__all__ = ["HostScopes", "Permission", "WebPermission", "host_scopes"]

_FINAL: Final = frozenset({kind.value for kind in NEVER} | {"own-port", "rebinding", "scheme"})


class Permission:
    """Whom to ask on behalf of a run. Without a policy nothing is denied, without `ask` nobody is there."""

    def __init__(self, context: BuildContext | None = None) -> None:
        # The context is read at each call: the pack may be kept for the session's next run.
        self._context = context or BuildContext()
        self._asking = asyncio.Lock()

    @property
    def ask(self) -> Ask | None:
        """The seam through which a person is asked; None when there is nobody."""
        return self._context.ask

    @property
    def secrets(self) -> Secrets:
        """The secrets that the run's scripts may use."""
        return self._context.secrets

    async def tell(self, type: str, **fields: Json) -> None:
        """Adds an event of the run: `await tell("act", content="…", tool="…", args={…})`."""
        await self._context.emit(type, **fields)

    async def decision(self, tool: str, **args: Json) -> Decision:
        """What the policy says of a call; one that fails allows nothing."""
        run = self._context
        if run.policy is None:
            return Decision(allowed=True)
        call = ToolCall(tool=tool, args=args, scope=run.scope, session_id=run.session_id, run_id=run.run_id)
        try:
            return await run.policy.check(call)
        except Exception as error:  # the border: a policy is foreign code, and one that fails allows nothing
            return Decision(allowed=False, reason=f"the policy failed: {type(error).__name__}: {error}")

    async def need(self, tool: str, **args: Json) -> None:
        """Returns when the policy allows the call, else raises `PolicyDenied`; nobody is asked."""
        decision = await self.decision(tool, **args)
        if not decision.allowed:
            raise PolicyDenied(f"{tool} denied: {_reason(decision)}")

    async def granted(
        self, message: str, grant: Grant, *, need: Grant | None = None, other: Mapping[str, Grant] | None = None
    ) -> bool:
        """Whether a person says yes to this, or has said so before. One question is open at a time.

        `need` and `other` as in `agentloop.guard.grants.Ask`.
        """
        ask = self.ask
        if ask is None:
            return False
        # Whoever asks by the shorter form need not know of scopes.
        scopes: dict[str, object] = {"need": need} if need is not None else {}
        scopes |= {"other": other} if other else {}
        async with self._asking:
            try:
                return await ask(message, kind="confirm", grant=grant, **scopes) is True
            except (EndRun, EndTurn):
                raise
            except Exception as error:  # the border: whoever asks is foreign code, and an answer that fails is no yes
                await self.tell("warning", content=f"a question could not be asked: {error or type(error).__name__}")
                return False

    async def confirm(
        self,
        what: str,
        reason: str,
        *,
        question: str,
        grant: Grant,
        need: Grant | None = None,
        other: Mapping[str, Grant] | None = None,
    ) -> None:
        """Returns when a person says yes to `question`, else raises `PolicyDenied`, which names `what` and `reason`."""
        if self.ask is None:
            raise PolicyDenied(f"{what} denied: {reason}")
        if not await self.granted(question, grant, need=need, other=other):
            raise PolicyDenied(f"{what} was declined: {reason}")

    async def modules(self, modules: Mapping[str, str]) -> dict[str, str]:
        """The sources as scripts get them: `require` of one whose name the policy denies throws the reason."""
        return {name: await self._module(name, source) for name, source in modules.items()}

    async def _module(self, name: str, source: str) -> str:
        decision = await self.decision(name)
        if decision.allowed:
            return source
        # The source itself never enters the sandbox, so no script can get round this.
        return f"throw new Error({json.dumps(f'denied: {_reason(decision)}')});"


class WebPermission:
    """Permission to reach URLs: `admit` is what a `GuardedClient` judges each hop by.

    Asked about are exact hosts with their ports, and once more, by itself, that such a host lies at a
    private address. What the boundary never opens is not asked about; nor is a name resolved before
    somebody said yes, because the name alone may carry data out.
    """

    def __init__(self, boundary: Boundary, permission: Permission) -> None:
        self.boundary = boundary
        self._permission = permission

    async def admit(self, url: Url) -> Checked:
        """The addresses of a URL that may be reached.

        Raises `PolicyDenied` or `RequestRefused` with the reason, `WorldError` when it has no address.
        """
        decision = await self._permission.decision("fetch", url=str(url))
        try:
            if not decision.allowed:
                raise PolicyDenied(f"{_place(url)} denied: {_reason(decision)}")
            return await self.boundary.resolve_url(url)
        except RequestRefused as refusal:
            if refusal.rule in _FINAL:
                raise
            return await self._asked(url, refusal)
        except PolicyDenied as refusal:
            return await self._asked(url, refusal)

    async def whitelist(self) -> list[str]:
        """The patterns of the policy, or else of the boundary."""
        decision = await self._permission.decision("fetch", url="")
        return [str(pattern) for pattern in decision.patterns or self.boundary.allowed or ()]

    async def _asked(self, url: Url, refusal: Refused) -> Checked:
        if url.host in METADATA_HOSTS or _is_literal(url.host):
            checked = await self.boundary.opened(_pattern(url, private=True)).resolve_url(url)
            await self._ask(url, refusal, private=_is_private(checked))
            return checked
        await self._ask(url, refusal, private=False)
        try:
            return await self.boundary.opened(_pattern(url, private=False)).resolve_url(url)
        except RequestRefused as second:
            if second.rule in _FINAL:
                raise
            await self._ask(url, second, private=True)
            return await self.boundary.opened(_pattern(url, private=True)).resolve_url(url)

    async def _ask(self, url: Url, refusal: Refused, *, private: bool) -> None:
        note = " (private address)" if private else ""
        message = f"Allow the agent to access {_place(url)}{note}? Now: {refusal}"
        place = f"private {_place(url)}" if private else _place(url)
        scopes = host_scopes(place, url.path)
        if not await self._permission.granted(message, scopes.host, need=scopes.page, other=scopes.folder):
            raise _denied(refusal)


@dataclass(frozen=True, kw_only=True)
class HostScopes:
    """What a yes about a URL may cover: its host and port, the page alone, and the folder that the page lies in."""

    host: Grant
    page: Grant
    folder: Mapping[str, Grant]


def host_scopes(place: str, path: str) -> HostScopes:
    """The scopes of a URL at `place` ("shop.test:443", with a word before it for another use than fetching)."""
    page, folder = f"{place}{path}", f"{place}{path[: path.rfind('/') + 1]}"
    beneath = {} if folder == f"{place}/" else {f"only what lies under {folder}": Grant(kind="host", subject=folder)}
    return HostScopes(host=Grant(kind="host", subject=place), page=Grant(kind="host", subject=page), folder=beneath)


def _denied(refusal: Refused) -> Refused:
    if isinstance(refusal, RequestRefused):
        return RequestRefused(f"denied: {refusal}", host=refusal.host, rule=refusal.rule)
    return refusal


def _reason(decision: Decision) -> str:
    return decision.reason or "the policy does not allow it"


def _place(url: Url) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port}"


def _pattern(url: Url, *, private: bool) -> Pattern:
    # Only an exact pattern reaches private addresses.
    reach: Final = "exact" if private else "subdomains"
    return Pattern(reach=reach, host=url.host, scheme=url.scheme, port=url.port)


def _is_literal(host: str) -> bool:
    """Whether it is known without asking anybody where the host is."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        parse_address(host)
    except InvalidInput:
        return False
    return True


def _is_private(checked: Checked) -> bool:
    return any(classify(address) is not AddressKind.PUBLIC for address in checked.addresses)
