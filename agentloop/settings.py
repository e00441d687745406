"""Every standing choice, from where it was made: flags, environment, the user's file, the workspace's file, defaults.

The one place that reads the environment and the configuration files, besides `OpenAI.from_env`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from agentloop import choices
from agentloop.errors import InvalidInput
from agentloop.guard.grants import CONFIRMABLE
from agentloop.guard.secrets import Secret, SecretBinding, read_bindings
from agentloop.records import Json, Prices, RunLimits

__all__ = ["Ignored", "Settings", "config_file", "data_directory", "database_path"]

_APP = "agentloop"
_PREFIX = "AGENTLOOP_"
_WORKSPACE_FILE = "agentloop.toml"
_FILE_BYTES = 65_536
_NEVER_IN_A_WORKSPACE = ("secret",)


# Where things are --------------------------------------------------------------------------------------------


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The user's data directory; nothing is created.

    $XDG_DATA_HOME/agentloop where that is set to an absolute path, else the platform's place:
    ~/.local/share, ~/Library/Application Support, %LOCALAPPDATA%.
    """
    return _place("XDG_DATA_HOME", ".local/share", ("LOCALAPPDATA", "Local"), environ)


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """The user's own configuration file, there or not.

    $XDG_CONFIG_HOME/agentloop/config.toml where that is set to an absolute path, else below ~/.config,
    ~/Library/Application Support, %APPDATA%.
    """
    return _place("XDG_CONFIG_HOME", ".config", ("APPDATA", "Roaming"), environ) / "config.toml"


def database_path(environ: Mapping[str, str] | None = None, flag: str | os.PathLike[str] | None = None) -> Path:
    """Where sessions are kept: `flag`, else $AGENTLOOP_DB, else sessions.db in the data directory."""
    env = os.environ if environ is None else environ
    chosen = flag or env.get(f"{_PREFIX}DB")
    return Path(chosen).expanduser() if chosen else data_directory(env) / "sessions.db"


def _place(variable: str, unix: str, windows: tuple[str, str], environ: Mapping[str, str] | None) -> Path:
    env = os.environ if environ is None else environ
    chosen = Path(env.get(variable, ""))
    if chosen.is_absolute():
        return chosen / _APP
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / _APP
    if sys.platform == "win32":
        return Path(env.get(windows[0]) or home / "AppData" / windows[1]) / _APP
    return home / unix / _APP


# The settings ------------------------------------------------------------------------------------------------


def _setting(
    read: Callable[[object], object],
    default: Any = None,
    *,
    name: str = "",
    workspace: bool = False,
    lasts: bool = True,
) -> Any:
    """`workspace`: the workspace's file may set it, a number only below the default. `lasts`: a run remembers it."""
    return field(default=default, metadata={"read": read, "name": name, "workspace": workspace, "lasts": lasts})


@dataclass(frozen=True, kw_only=True)
class Ignored:
    """A line of the workspace's file that has no say."""

    file: Path
    key: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is chosen, and by whom; made by `gather`. None = nobody chose."""

    model: str | None = _setting(choices.text, workspace=True)
    """The model to ask."""
    llm: str | None = _setting(choices.text)
    """`scripted:FILE` instead of a model."""
    llm_base_url: str | None = _setting(choices.text)
    """Where the model is served."""
    persona: Path | None = _setting(choices.path, workspace=True, lasts=False)
    """A file with words on who the model is."""
    max_steps: int = _setting(choices.count, RunLimits().iterations, workspace=True)
    """Model calls of a run."""
    timeout: float = _setting(choices.seconds, RunLimits().wall_s, workspace=True)
    """Seconds of a run."""
    max_prompt_tokens: int | None = _setting(choices.count, workspace=True)
    """Prompt tokens of a run."""
    max_completion_tokens: int | None = _setting(choices.count, workspace=True)
    """Completion tokens of a run."""
    max_cost: float | None = _setting(choices.amount, workspace=True)
    """Cost of a run, in the currency of `price`."""
    price: Prices | None = _setting(choices.price)
    """Per million tokens."""
    history_window: int | None = _setting(choices.count, workspace=True)
    """Steps of earlier runs that are replayed; None: 80, or what the context window gives."""
    context_window: int | None = _setting(choices.count, workspace=True)
    """Tokens that the model is served with."""
    packs: tuple[str, ...] = _setting(choices.names, (), name="with")
    """More that scripts may call."""
    enable: tuple[str, ...] | None = _setting(choices.some_names, lasts=False)
    """The only capabilities of a new session."""
    allow_exec: tuple[str, ...] = _setting(choices.names, ())
    """Programs that exec may run without asking."""
    dangerously_allow_shell: bool = _setting(choices.flag, False, lasts=False)
    """Exec takes a shell's line."""
    no_exec: bool = _setting(choices.flag, False)
    """There is no exec, whatever was added."""
    no_network: bool = _setting(choices.flag, False)
    """There is neither fetch nor http."""
    no_project: bool = _setting(choices.flag, False)
    """Neither AGENTS.md nor skills of the workspace are read."""
    secret: tuple[SecretBinding, ...] = _setting(read_bindings, (), lasts=False)
    """Secrets that scripts may use and never see; their values stay in the environment."""
    approve: Literal["prompt", "auto", "deny"] | None = _setting(choices.one_of("prompt", "auto", "deny"), lasts=False)
    """How permission questions are answered; None: prompt at a terminal, else deny."""
    confirm: tuple[str, ...] = _setting(choices.some_of(*CONFIRMABLE), ())
    """Acts of a browser that are asked about before they happen."""
    db: Path | None = _setting(choices.path, lasts=False)
    """The database of sessions."""
    ephemeral: bool = _setting(choices.flag, False, lasts=False)
    """Keep nothing on disk."""
    quiet: bool = _setting(choices.flag, False, lasts=False)
    """Nothing but the answer."""
    allow: tuple[str, ...] | None = _setting(choices.names)
    """What pages may reach."""
    allow_private: bool = _setting(choices.flag, False)
    """Pages may reach private addresses too."""
    max_egress_bytes: int = _setting(choices.count, RunLimits().egress_bytes, workspace=True)
    """Bytes that pages and scripts of a run may send and receive."""
    egress: Path | None = _setting(choices.path, lasts=False)
    """Where the egress manifest goes, besides the artifacts."""
    dangerously_unguarded: bool = _setting(choices.flag, False, lasts=False)
    """A browser whose pages nothing holds back is used all the same."""
    headed: bool = _setting(choices.flag, False)
    """Show the browser."""
    slow_mo: int = _setting(choices.pause, 0)
    """Milliseconds before each act."""
    artifacts: Path | None = _setting(choices.path)
    """Where pictures of each turn go."""
    vision: str | None = _setting(choices.text)
    """An image-capable model for `ask`."""
    cdp: str | None = _setting(choices.text, lasts=False)
    """The DevTools address of a browser that runs already."""
    browser_sandbox: Literal["auto", "on", "off"] = _setting(choices.one_of("auto", "on", "off"), "auto")
    """Chromium's own sandbox."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Who chose, by flag name: the flag, the variable, or the file; missing = default."""
    ignored: tuple[Ignored, ...] = field(default=(), repr=False)
    """What the workspace's file may not choose."""
    unknown: tuple[str, ...] = field(default=(), repr=False)
    """What to say of variables with our prefix that nobody reads."""

    @classmethod
    def gather(
        cls,
        flags: Mapping[str, object],
        *,
        remembered: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        workspace: Path | None = None,
    ) -> Settings:
        """The settings for these flags (by flag name, None = not given) in `workspace`, by default this folder.

        `remembered` are those of a run that is taken up again (`to_dict`): only flags win over them.
        Raises `InvalidInput`, naming flag, variable, or file and key, for what cannot be read.
        """
        env = os.environ if environ is None else environ
        chosen: dict[str, Any] = {}
        origins: dict[str, str] = {}
        ignored: list[Ignored] = []
        folder = Path.cwd() if workspace is None else workspace
        for values, origin in (
            _of_workspace(folder / _WORKSPACE_FILE, ignored),
            _of_file(config_file(env)),
            *_of_environment(env),
            _of_memory(remembered or {}),
            *_of_flags(flags),
        ):
            chosen |= values
            origins |= dict.fromkeys(values, origin)
        return cls(
            **{_SETTINGS[name].name: value for name, value in chosen.items()},
            origins=origins,
            ignored=tuple(ignored),
            unknown=tuple(_unknown_variables(env)),
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The flag names of all settings, without their dashes."""
        return tuple(_SETTINGS)

    @classmethod
    def read(cls, name: str, text: str) -> object:
        """`text` as a value of the setting. Raises ValueError with what it must be."""
        return choices.from_text(_SETTINGS[name].metadata["read"], text)

    @property
    def limits(self) -> RunLimits:
        """The limits of a run."""
        return RunLimits(
            iterations=self.max_steps,
            wall_s=self.timeout,
            prompt_tokens=self.max_prompt_tokens,
            completion_tokens=self.max_completion_tokens,
            cost=self.max_cost,
            egress_bytes=self.max_egress_bytes,
            prices=self.price or Prices(),
        )

    def secrets(self, environ: Mapping[str, str] | None = None) -> tuple[Secret, ...]:
        """The secrets with their values. Raises `InvalidInput` that names a variable which is not set."""
        env = os.environ if environ is None else environ
        return tuple(binding.read(env) for binding in self.secret)

    def to_dict(self) -> dict[str, Json]:
        """What was chosen of all that shapes a run, as JSON values; neither permissions nor where it is kept."""
        chosen = ((name, self.value(name)) for name in self.origins if _SETTINGS[name].metadata["lasts"])
        return {name: _plain(value) for name, value in chosen if not _secret(value)}

    def value(self, name: str) -> object:
        """The value of the setting with this flag name."""
        return getattr(self, _SETTINGS[name].name)

    def by_flag(self, name: str) -> bool:
        """Whether it was given on the command line."""
        return self.origins.get(name) == f"--{name}"


def _named(entry: Field[Any]) -> str:
    return entry.metadata["name"] or entry.name.replace("_", "-")


_SETTINGS: Mapping[str, Field[Any]] = MappingProxyType(
    {_named(entry): entry for entry in fields(Settings) if "read" in entry.metadata}
)


# Where values come from --------------------------------------------------------------------------------------

_Values = tuple[dict[str, object], str]


def _of_flags(flags: Mapping[str, object]) -> list[_Values]:
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    return [({name: _read(name, value, f"--{name}")}, f"--{name}") for name, value in given.items()]


def _of_memory(remembered: Mapping[str, object]) -> _Values:
    unknown = next((name for name in remembered if name not in _SETTINGS), None)
    if unknown is not None:
        raise InvalidInput(f"the run was set up with {unknown!r}, unknown here: a newer agentloop began it")
    return {name: _read(name, value, f"the run's {name}") for name, value in remembered.items()}, "the run"


def _plain(value: object) -> Json:
    if isinstance(value, Prices):
        return [value.prompt, value.completion]
    if isinstance(value, Path):
        return str(value.absolute())
    return list(value) if isinstance(value, tuple) else value


def _secret(value: object) -> bool:
    """Whether it is an address that may hold a password or a token."""
    return isinstance(value, str) and "://" in value and ("@" in value or "?" in value)


def _of_environment(environ: Mapping[str, str]) -> list[_Values]:
    found: list[_Values] = []
    for name, entry in _SETTINGS.items():
        variable = _PREFIX + name.upper().replace("-", "_")
        if text := environ.get(variable, "").strip():
            try:
                found.append(({name: choices.from_text(entry.metadata["read"], text)}, variable))
            except ValueError as error:
                raise InvalidInput(f"{variable} {error}") from None
    return found


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    known = {f"{_PREFIX}CHROMIUM", *(_PREFIX + name.upper().replace("-", "_") for name in _SETTINGS)}
    for name in sorted(environ):
        if name.startswith(_PREFIX) and name not in known:
            near = get_close_matches(name, known, n=1)
            yield f"{name} is no setting and is ignored" + (f"; did you mean {near[0]}?" if near else "")


def _of_file(file: Path) -> _Values:
    values = {key: _from_entry(file, key, entry) for key, entry in _table(file).items() if _known(file, key)}
    return values, str(file)


def _of_workspace(file: Path, ignored: list[Ignored]) -> _Values:
    values: dict[str, object] = {}
    for key, entry in _table(file).items():
        if _beyond_a_workspace(key) or (_known(file, key) and not _SETTINGS[key].metadata["workspace"]):
            ignored.append(Ignored(file=file, key=key, why="a workspace may not choose this"))
        elif _widens(value := _from_entry(file, key, entry), _SETTINGS[key].default):
            ignored.append(Ignored(file=file, key=key, why=f"a workspace may only go below {_SETTINGS[key].default:g}"))
        else:
            values[key] = _inside(file, key, value) if isinstance(value, Path) else value
    return values, str(file)


def _beyond_a_workspace(key: str) -> bool:
    return key in _NEVER_IN_A_WORKSPACE or key.startswith("dangerously")


def _widens(value: object, default: object) -> bool:
    return isinstance(value, int | float) and isinstance(default, int | float) and value > default


def _inside(file: Path, key: str, path: Path) -> Path:
    if not path.resolve().is_relative_to(file.parent.resolve()):
        raise InvalidInput(f"{file}: {key}: {path} is outside the workspace; name a file in it")
    # Who reads a pipe of the workspace's would wait for ever.
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{file}: {key}: {path} is no ordinary file")
    return path


def _table(file: Path) -> dict[str, object]:
    if not file.is_file():
        return {}
    import tomllib

    try:
        with file.open("rb") as stream:
            data = stream.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise InvalidInput(f"{file} is longer than {_FILE_BYTES} bytes")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is no TOML: {error}") from None


def _known(file: Path, key: str) -> bool:
    if key in _SETTINGS:
        return True
    near = get_close_matches(key.replace("_", "-"), _SETTINGS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(_SETTINGS)}"
    raise InvalidInput(f"{file}: there is no setting {key!r}; {hint}")


def _from_entry(file: Path, key: str, entry: object) -> object:
    value = _read(key, entry, f"{file}: {key}")
    return file.parent / value if isinstance(value, Path) else value


def _read(name: str, value: object, where: str) -> object:
    try:
        return _SETTINGS[name].metadata["read"](value)
    except ValueError as error:
        raise InvalidInput(f"{where} {error}") from None
