"""Secrets that scripts may use and never see: each bound to the hosts that may learn it.

A script holds a placeholder, which is worth nothing anywhere else. The value is put in its place only where it is
typed into a page of a bound origin or sent to one, and what comes back is given the placeholder again.
"""

from __future__ import annotations

import json
import re
import secrets as random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Final, NoReturn, TypeVar

from agentloop.errors import AgentLoopError, InvalidInput, RequestRefused
from agentloop.guard.network.address import AddressKind, classify, parse_address
from agentloop.guard.network.url import parse_url
from agentloop.guard.redact import Redactor
from agentloop.records import Json

__all__ = ["SHORTEST", "Secret", "SecretBinding", "Secrets", "origin_of", "read_bindings"]

T = TypeVar("T")

SHORTEST: Final = 4
"""Characters of a value at least: shorter ones stand in too many texts by chance to be taken out of them."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_BINDING: Final = re.compile(rf"(?P<name>{_NAME.pattern})=env:(?P<variable>{_NAME.pattern})@(?P<origin>\S+)", re.ASCII)
_PLACEHOLDER: Final = re.compile(rf"secret\.(?P<name>{_NAME.pattern})\.[0-9a-f]{{10}}", re.ASCII)
_NO_FILE_NAME: Final = re.compile(r"[\x00-\x1f\x7f<>:\"/\\|?*]")
_FORM: Final = "NAME=env:VARIABLE@https://host"
_LONGEST: Final = 10_000


class Secret:
    """A value with a name, and the origins that may learn it. Nothing but `value` shows it: neither `repr` nor a copy.

    `origins` are exact: https, or http on this machine, as in "https://shop.example" and "http://127.0.0.1:8080".
    `placeholder` is what scripts hold; nobody can guess it and a new `Secret` has a new one. Raises `InvalidInput`,
    which never quotes the value.
    """

    __slots__ = ("__value", "name", "origins", "placeholder")

    name: str
    origins: frozenset[str]
    placeholder: str

    def __init__(self, *, name: str, value: str, origins: Iterable[str]) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is no name for a secret: letters, digits and _, at most 64, no digit first")
        given = [origins] if isinstance(origins, str) else list(origins)
        if not given:
            raise InvalidInput(f"secret {name}: name the origins that may learn it, such as https://shop.example")
        if not isinstance(value, str) or not SHORTEST <= len(value.strip()) <= _LONGEST:
            raise InvalidInput(
                f"secret {name}: a value has {SHORTEST} to {_LONGEST:,} characters; a shorter one could not be told "
                "from other text, and so not be kept out of it"
            )
        keep = super().__setattr__
        keep("name", name)
        keep("origins", frozenset(origin_of(origin, name=name) for origin in given))
        keep("placeholder", f"secret.{name}.{random.token_hex(5)}")
        keep("_Secret__value", value)

    @property
    def value(self) -> str:
        """The value itself."""
        value: str = self.__value  # type: ignore[attr-defined]
        return value

    @property
    def hosts(self) -> str:
        """The origins in words."""
        return ", ".join(sorted(self.origins))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """For a `Redactor`: the value, in capitals, in small letters, and as browsers make a file's name of it."""
        value = self.value
        written = (value, value.upper(), value.lower(), value[:1].upper() + value[1:], _NO_FILE_NAME.sub("_", value))
        forms = dict.fromkeys(written)
        return tuple((form, self.placeholder) for form in reversed(forms))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __repr__(self) -> str:
        return f"Secret(name={self.name!r}, origins={sorted(self.origins)!r})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"secret {self.name} is never stored or sent to another process")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self


@dataclass(frozen=True, kw_only=True)
class SecretBinding:
    """Where the value of a secret is found, and where it may go: no secret itself."""

    name: str
    variable: str
    origins: tuple[str, ...]

    def __str__(self) -> str:
        return ",".join(f"{self.name}=env:{self.variable}@{origin}" for origin in self.origins)

    def read(self, environ: Mapping[str, str]) -> Secret:
        """The secret with the variable's value. Raises `InvalidInput` naming the variable when it is not set."""
        value = environ.get(self.variable)
        if not value:
            raise InvalidInput(
                f"--secret {self.name}: the environment variable {self.variable} is not set; set it to the secret's "
                "value for this command"
            )
        return Secret(name=self.name, value=value, origins=self.origins)


def read_bindings(value: object) -> tuple[SecretBinding, ...]:
    """Reads `NAME=env:VARIABLE@https://host`, a text with commas or several.

    One name may come again with another origin, as may an origin alone behind a comma. Raises ValueError with what
    it must be, never quoting what may be a value that was given by mistake.
    """
    if isinstance(value, Sequence) and value and all(isinstance(part, SecretBinding) for part in value):
        return tuple(value)
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(part, str) for part in given):
        raise ValueError(f"must be {_FORM}, or a list of such")
    found: dict[str, SecretBinding] = {}
    for text in given:
        last: SecretBinding | None = None
        for part in filter(None, (part.strip() for part in text.split(","))):
            last = _binding(part, last)
            known = found.get(last.name, last)
            if known.variable != last.variable:
                raise ValueError(f"gives {last.name} two variables, {known.variable} and {last.variable}: choose one")
            origins = dict.fromkeys((*known.origins, *last.origins))
            found[last.name] = replace(last, origins=tuple(origins))
    return tuple(found.values())


def _binding(part: str, last: SecretBinding | None) -> SecretBinding:
    if last is not None and part.startswith(("https://", "http://")):
        return replace(last, origins=(_read_origin(part, last.name),))
    match = _BINDING.fullmatch(part)
    if match is None:
        name = _NAME.match(part)
        about = f"{name[0]} " if name and part[name.end() :].startswith("=") else ""
        raise ValueError(
            f"{about}must be {_FORM}: the value itself stays in an environment variable, "
            "where no list of processes and no history of commands shows it"
        )
    origin = _read_origin(match["origin"], match["name"])
    return SecretBinding(name=match["name"], variable=match["variable"], origins=(origin,))


def _read_origin(text: str, name: str) -> str:
    try:
        return origin_of(text, name=name)
    except InvalidInput as error:
        raise ValueError(str(error).removeprefix("secret ")) from None


def origin_of(text: str, *, name: str) -> str:
    """The canonical form of an exact origin to which the secret `name` may go. Raises `InvalidInput`."""
    try:
        url = parse_url(text)
    except (InvalidInput, RequestRefused):
        url = None
    rest = text.partition("://")[2].removesuffix("/")
    if url is None or any(mark in rest for mark in "*@/\\?#"):
        raise InvalidInput(f"secret {name}: bind it to one exact origin, scheme and host, such as https://shop.example")
    if url.scheme != "https" and not _on_this_machine(url.host):
        raise InvalidInput(
            f"secret {name}: {url.origin} is not encrypted; give https://, or an address of this machine"
        )
    return url.origin


def _on_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return classify(parse_address(host)) is AddressKind.LOOPBACK
    except InvalidInput:
        return False


class Secrets:
    """The secrets bound to a run: what scripts know them by, where they may go, and how to keep them out of all else.

    `may_be_recorded`: recordings of pages that hold a secret are allowed. Raises `InvalidInput` for two of one name.
    """

    def __init__(self, secrets: Iterable[Secret] = (), *, may_be_recorded: bool = False) -> None:
        self._by_name: dict[str, Secret] = {}
        self._redactors: list[Redactor] = []
        self.may_be_recorded = may_be_recorded
        self.redactor = self.extend(Redactor())
        for secret in secrets:
            self.add(secret)

    def __bool__(self) -> bool:
        """True when there is any."""
        return bool(self._by_name)

    def __iter__(self) -> Iterator[Secret]:
        return iter(tuple(self._by_name.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order in which they were bound."""
        return tuple(self._by_name)

    def add(self, secret: Secret) -> None:
        """Binds one more. Raises `InvalidInput` when the name is taken by another."""
        if self._by_name.setdefault(secret.name, secret) is not secret:
            raise InvalidInput(f"two secrets are called {secret.name}: give each a name of its own")
        for redactor in self._redactors:
            redactor.learn(secret.pairs())

    def extend(self, redactor: Redactor) -> Redactor:
        """A redactor that takes out what `redactor` does and these secrets, those bound later too."""
        own = redactor.also(pair for secret in self for pair in secret.pairs())
        self._redactors.append(own)
        return own

    def get(self, name: str) -> Secret:
        """The secret of this name. Raises `InvalidInput` that lists the names there are."""
        if name not in self._by_name:
            there = f"there are: {', '.join(self.names)}" if self else "none is bound"
            raise InvalidInput(f"no secret is called {name!r}; {there}")
        return self._by_name[name]

    # What scripts give ------------------------------------------------------------------------------------

    def of_placeholder(self, text: Json) -> Secret | None:
        """The secret whose placeholder `text` is, whole; None when it is none.

        Raises `InvalidInput` for a placeholder that is not, or no longer, one of this run's.
        """
        match = _PLACEHOLDER.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            return None
        secret = self._by_name.get(match["name"])
        if secret is None or secret.placeholder != text:
            raise InvalidInput(f'that is no placeholder of this run: call secret("{match["name"]}") again')
        return secret

    def within(self, value: Json) -> tuple[Secret, ...]:
        """The secrets whose placeholders stand anywhere in a JSON value, its keys included."""
        texts = list(_texts(value))
        return tuple(secret for secret in self if any(secret.placeholder in text for text in texts))

    def outdated(self, value: Json) -> str | None:
        """The name in a placeholder, anywhere in a JSON value, that another run had for one of these secrets."""
        found = (match for text in _texts(value) for match in _PLACEHOLDER.finditer(text))
        known = ((match, self._by_name.get(match["name"])) for match in found)
        return next((secret.name for match, secret in known if secret and match[0] != secret.placeholder), None)

    def filled(self, value: T, *, write: Callable[[str], str] = str) -> T:
        """`value` with each placeholder in its texts replaced by the secret's value as `write` writes it."""
        filled: T = _mapped(value, lambda text: self._filled(text, write))
        return filled

    def _filled(self, text: str, write: Callable[[str], str]) -> str:
        for secret in self:
            if secret.placeholder in text:
                text = text.replace(secret.placeholder, write(secret.value))
        return text

    # What comes back --------------------------------------------------------------------------------------

    def hide(self, value: T, *, numbers: bool = False) -> T:
        """`value` with each secret in it replaced by its placeholder: texts, JSON, and dataclasses of such.

        So is the beginning of one that was cut off by a `…`. `numbers`: a number may be a secret too.
        """
        if not self:
            return value
        shown: T = _mapped(value, self._hidden, self.redactor.json if numbers else None, touched=self._touched)
        return shown

    def hide_error(self, error: AgentLoopError) -> BaseException:
        """`error` with the secrets taken out of its words."""
        return self.redactor.error(error)

    def _touched(self, value: Json) -> bool:
        # A look at many short texts at once costs no more than one at each, and mostly there is nothing to hide.
        return self.redactor.sees("\0".join(_texts(value)))

    def _hidden(self, text: str) -> str:
        return self.redactor.text(self.redactor.without_beginnings(text))


def _texts(value: Any) -> Iterator[str]:
    """All texts in it, and its numbers as JSON writes them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from _texts(getattr(value, entry.name))
    elif isinstance(value, int | float):
        yield json.dumps(value)


def _everywhere(value: Any) -> bool:
    return True


def _mapped(
    value: Any,
    change: Callable[[str], str],
    number: Callable[[Json], Json] | None = None,
    *,
    touched: Callable[[Any], bool] = _everywhere,
) -> Any:
    """`value` with `change` done to its texts and `number` to its numbers, where it is `touched`."""
    if isinstance(value, str):
        return change(value)
    if value is None or isinstance(value, bool | int | float):
        return value if number is None else number(value)
    if not touched(value):
        return value
    inner = partial(_mapped, change=change, number=number, touched=touched)
    if isinstance(value, Mapping):
        return {inner(key): inner(item) for key, item in value.items()}
    if isinstance(value, list):
        return [inner(item) for item in value]
    if isinstance(value, tuple):
        return tuple(inner(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{entry.name: inner(getattr(value, entry.name)) for entry in fields(value)})
    return value
