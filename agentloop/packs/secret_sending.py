"""Secrets in requests: put into headers and bodies for the hosts they are bound to, refused everywhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from agentloop.errors import InvalidInput, RequestRefused
from agentloop.guard.network.base import Checked
from agentloop.guard.network.client import Admit
from agentloop.guard.network.url import Url, parse_url
from agentloop.guard.redact import Redactor
from agentloop.guard.secrets import Secret, Secrets
from agentloop.records import Json

__all__ = ["SecretRequest", "admit_without_secrets", "fill_secrets"]

_CARRYING: Final = ("headers", "body", "json", "form", "auth")
_FORM: Final = "x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class SecretRequest:
    """What is sent: the options of a request with the values in place, and the only origins that may get them.

    `origins` None means that no secret is in it.
    """

    options: Json
    origins: frozenset[str] | None = None


def fill_secrets(secrets: Secrets, url: Json, options: Json) -> SecretRequest:
    """The options of `fetch` with each placeholder in headers and body replaced by its secret's value.

    A text as body gets it as its kind wants it: escaped in JSON, percent-encoded in a form. Raises `RequestRefused`
    (rule "secret") for a host that is not the secret's, and for a placeholder anywhere else than there; `InvalidInput`
    for one of an earlier run.
    """
    if not secrets:
        return SecretRequest(options=options)
    if name := secrets.outdated([url, options]):
        raise InvalidInput(
            f'a placeholder of secret {name} is not, or no longer, this run\'s: call secret("{name}") again'
        )
    _refuse_in_url(secrets, url)
    given = options if isinstance(options, Mapping) else {}
    headers = given.get("headers")
    elsewhere = {name: value for name, value in given.items() if name not in _CARRYING}
    names = list(headers) if isinstance(headers, Mapping) else []
    if misplaced := secrets.within([elsewhere, names, list(given)]):
        raise RequestRefused(_only_there(misplaced[0]), host="", rule="secret")
    used = secrets.within([given.get(name) for name in _CARRYING])
    if not used:
        return SecretRequest(options=options)
    origins = _origins(used, url)
    body = given.get("body")
    filled = {name: value if name == "body" else secrets.filled(value) for name, value in given.items()}
    if isinstance(body, str):
        filled["body"] = secrets.filled(body, write=_writing(body, headers))
    elif body is not None:
        filled["body"] = secrets.filled(body)
    return SecretRequest(options=filled, origins=origins)


def admit_without_secrets(secrets: Secrets, first: Url, admit: Admit) -> Admit:
    """`admit` for a request to `first`, which follows no redirect that would tell another host a secret in its URL.

    A server that may know the secret puts it there when it redirects to where a script told it to.
    """
    if not secrets:
        return admit

    async def admitted(url: Url) -> Checked:
        if url != first and (secret := _told_by(url, secrets)):
            raise RequestRefused(
                f"the redirect to {url.origin} has secret {secret.name} in its URL, which may go to {secret.hosts} "
                "and nowhere else: it was not followed",
                host=url.host,
                rule="secret",
            )
        return await admit(url)

    return admitted


def _told_by(url: Url, secrets: Secrets) -> Secret | None:
    strangers = (secret for secret in secrets if url.origin not in secret.origins)
    return next((secret for secret in strangers if Redactor(secret.pairs()).sees(str(url))), None)


def _refuse_in_url(secrets: Secrets, url: Json) -> None:
    for secret in secrets:
        # A host is the same in small letters.
        if isinstance(url, str) and secret.placeholder.casefold() in url.casefold():
            raise RequestRefused(_only_there(secret), host="", rule="secret")


def _only_there(secret: Secret) -> str:
    return (
        f"secret {secret.name} stands in the headers or the body of a request to {secret.hosts}, never in a URL and "
        "nowhere else: nothing was sent"
    )


def _origins(used: tuple[Secret, ...], url: Json) -> frozenset[str]:
    if not isinstance(url, str):
        raise InvalidInput("fetch needs a URL with its scheme, as in https://api.example/items")
    target = parse_url(url)
    for secret in used:
        if target.origin not in secret.origins:
            raise RequestRefused(
                f"secret {secret.name} may go to {secret.hosts} and nowhere else: nothing was sent to {target.origin}",
                host=target.host,
                rule="secret",
            )
    return frozenset.intersection(*(secret.origins for secret in used))


def _writing(body: str, headers: Json) -> Callable[[str], str]:
    given = headers if isinstance(headers, Mapping) else {}
    kinds = [str(value) for name, value in given.items() if name.lower() == "content-type"]
    kind = kinds[0].lower() if kinds else ""
    if _FORM in kind:
        return quote_plus
    return _in_json if "json" in kind or _is_json(body) else str


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
