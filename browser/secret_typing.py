"""Secrets into fields: the one place where a value takes its placeholder's, and the rule that is checked there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentloop.browser.abilities import Frames
from agentloop.browser.base import Driver
from agentloop.browser.input import Input
from agentloop.browser.listing import Aim
from agentloop.browser.marks import Marks
from agentloop.browser.scripts import Scripts
from agentloop.errors import InvalidInput, RequestRefused, TargetError
from agentloop.guard.network.url import parse_url
from agentloop.guard.secrets import Secret, Secrets
from agentloop.records import Json

__all__ = ["SecretTyping", "refuse_placeholders"]


class SecretTyping:
    """Types secrets into the pages of their own hosts.

    With `Frames` the check and the typing are one step of a world that the page cannot enter. A driver of the ten
    methods is asked for the page's address, which no page can forge, right before it types by a selector that no
    other page has.
    """

    def __init__(self, driver: Driver, marks: Marks, input: Input, secrets: Secrets) -> None:
        self._driver = driver
        self._marks = marks
        self._input = input
        self._secrets = secrets
        self._scripts = Scripts(driver)

    def of_placeholder(self, text: str) -> Secret | None:
        """The secret whose placeholder `text` is. Raises `InvalidInput` for text that has one among other words."""
        if not self._secrets:
            return None
        secret = self._secrets.of_placeholder(text)
        if secret is None and (parts := self._secrets.within(text)):
            raise InvalidInput(
                f'a secret is typed whole or not at all: give secret("{parts[0].name}") alone as the text; '
                "nothing was typed"
            )
        return secret

    def hidden(self, text: str) -> str:
        """What somebody else said or typed, as it reads on a page without secrets."""
        return self._secrets.hide(text)

    async def type(self, aim: Aim, secret: Secret) -> bool:
        """Replaces what the field holds; whether it was kept.

        Raises `RequestRefused` (rule "secret") where the secret may not go, `TargetError` for what is no field.
        """
        await self._check(aim, secret)
        await self._input.focus(aim)
        if isinstance(self._driver, Frames):
            answer = await self._ask(aim, secret, value=secret.value)
            return bool(answer["kept"])
        await self._input.empty(aim)
        async with self._marks.tag(aim) as selector:
            await self._check(aim, secret)
            await self._driver.send_keys(selector, secret.value)
        return bool((await self._marks.state(aim)).filled)

    async def _check(self, aim: Aim, secret: Secret) -> None:
        if not isinstance(self._driver, Frames):
            address = str(await self._driver.eval("location.href"))
            if _origin(address) not in secret.origins:
                raise _refused(secret, {"state": "frame", "where": _origin(address)})
        await self._ask(aim, secret)

    async def _ask(self, aim: Aim, secret: Secret, **more: Json) -> dict[str, Any]:
        request: dict[str, Json] = {"op": "type_secret", "key": aim.key, "origins": sorted(secret.origins), **more}
        answer: dict[str, Any] = await self._scripts.run(aim.frame, request)
        if answer["state"] == "gone":
            raise TargetError("the field is no longer on the page; nothing was typed", reason="gone")
        if answer["state"] == "unfit":
            raise TargetError("a secret goes into text fields only; nothing was typed", reason="unfit")
        if answer["state"] != "ok":
            raise _refused(secret, answer)
        return answer


def _origin(address: str) -> str:
    try:
        return parse_url(address).origin
    except (InvalidInput, RequestRefused):
        return ""


def _refused(secret: Secret, answer: dict[str, Any]) -> RequestRefused:
    where = str(answer.get("where") or "a page without an address of its own")
    why = {
        "frame": f"the field is on {where}",
        "around": f"the field is in a frame within {where}",
        "get": "its form is sent by GET, which would put it into an address",
        "action": f"its form is sent to {where}",
    }[answer["state"]]
    message = f"secret {secret.name} is for {secret.hosts} only, and {why}: nothing was typed"
    return RequestRefused(message, host=_host(where), rule="secret")


def _host(origin: str) -> str:
    return origin.partition("://")[2]


def refuse_placeholders(secrets: Secrets, verb: str, values: Sequence[Json]) -> None:
    """Returns when a call has no placeholder in it but as the text of `type`. Raises `RequestRefused`."""
    # What else than the whole placeholder is typed, `type` itself refuses.
    if secrets and verb not in ("type", "typeMark") and (found := secrets.within(list(values))):
        name = found[0].name
        raise RequestRefused(
            f'secret {name} is for type(target, secret("{name}")) and for headers and bodies of requests: '
            f"{verb} was not done",
            host="",
            rule="secret",
        )
