"""What of a browser is kept between turns, so that another process can go on: its storage and its address."""

from __future__ import annotations

import base64
import json
import secrets as random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from agentloop.browser.abilities import StorageState
from agentloop.browser.base import Driver
from agentloop.browser.browser import Browser
from agentloop.guard.secrets import Secret, Secrets

__all__ = ["Kept", "keep"]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Where the page was and what made the session logged in; a secret. `storage` is the driver's own form.

    `marks` are what stands in it for the values of secrets that pages have stored, by their names.
    """

    url: str = ""
    storage: bytes | None = None
    marks: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The form the store keeps."""
        storage = None if self.storage is None else base64.b64encode(self.storage).decode("ascii")
        kept = {"version": 1, "url": self.url, "storage": storage, "marks": dict(self.marks)}
        return json.dumps(kept).encode("utf-8")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Kept:
        """The inverse of `to_bytes`. What cannot be read is nothing kept: a run must not fail on it."""
        if not data:
            return cls()
        try:
            fields = json.loads(data)
            storage = fields["storage"]
            marks = {str(name): str(mark) for name, mark in fields.get("marks", {}).items()}
            storage = None if storage is None else base64.b64decode(storage)
            return cls(url=str(fields["url"]), storage=storage, marks=marks)
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def without(self, secrets: Secrets) -> Kept:
        """The same without the values of secrets: a mark that no page can guess stands for each.

        A text in which one stands in a form that cannot be put back is left empty; storage that is no JSON goes whole.
        """
        if not secrets or self.storage is None:
            return self
        marks = {secret.name: random.token_hex(16) for secret in secrets}

        def hidden(text: str) -> str:
            for secret in secrets:
                for form, written in _forms(secret).items():
                    text = text.replace(written, f"{marks[secret.name]}.{form}")
            return "" if secrets.redactor.sees(text) else text

        storage = _changed(self.storage, hidden)
        if storage is not None and secrets.redactor.sees(storage.decode("utf-8", "replace")):
            storage = None
        return replace(self, storage=storage, marks=marks)

    def opened(self, secrets: Secrets) -> Kept:
        """The same with the values of these secrets where their marks stand."""
        known = [secret for secret in secrets if secret.name in self.marks]
        if not known or self.storage is None:
            return self

        def shown(text: str) -> str:
            for secret in known:
                for form, written in _forms(secret).items():
                    text = text.replace(f"{self.marks[secret.name]}.{form}", written)
            return text

        return replace(self, storage=_changed(self.storage, shown))


def _forms(secret: Secret) -> dict[str, str]:
    """How pages store a text most, by names of ours."""
    value = secret.value
    return {"plain": value, "escaped": quote(value, safe="!'()*~"), "encoded": quote(value, safe="")}


def _changed(storage: bytes, change: Callable[[str], str]) -> bytes | None:
    try:
        return json.dumps(_mapped(json.loads(storage), change)).encode("utf-8")
    except (ValueError, RecursionError):
        return None


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {change(name): _mapped(item, change) for name, item in value.items()}
    return value


async def keep(browser: Browser, driver: Driver, secrets: Secrets | None = None) -> bytes:
    """What is to be kept now, secrets taken out. Raises `DriverError`."""
    url = await browser.url()
    storage = await driver.storage_state() if isinstance(driver, StorageState) else None
    return Kept(url=url, storage=storage).without(secrets or Secrets()).to_bytes()
