"""Which capabilities a run gets. The only place that knows them all by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentloop.capabilities import BuildContext, Capability
from agentloop.context.compaction import SummarizingCompactor
from agentloop.context.profile import Profile
from agentloop.context.prompt import Prompt, PromptName
from agentloop.context.settings import LoopSettings
from agentloop.errors import InvalidInput, refuse_text
from agentloop.guard.grants import confirmable
from agentloop.guard.network.base import OwnPorts
from agentloop.guard.secrets import Secret
from agentloop.packs.base import Pack
from agentloop.records import RunLimits

if TYPE_CHECKING:
    from agentloop.artifacts.egress import EgressManifest
    from agentloop.browser.base import Driver

__all__ = [
    "NAMES",
    "STANDING",
    "capabilities_of_project",
    "default_capabilities",
    "loop_settings",
    "named_capabilities",
    "secret_capabilities",
    "undeclared",
]

NAMES = ("browser", "markdown", "http", "fetch", "ai", "workspace", "exec")
"""What `named_capabilities`, and so `--with`, can add."""

_DEFAULT = ("markdown", "http", "fetch", "ai")

STANDING = (*_DEFAULT, "workspace", "exec")
"""What a run without a browser has unless something is taken away."""


def default_capabilities(*, allow: Sequence[str] | None = None, allow_private: bool = False) -> tuple[Capability, ...]:
    """What every run can do beyond the core functions of the sandbox: markdown, http, fetch and ai.

    `allow` are patterns of what scripts may reach, None: any public address; a run's own `allow` only narrows it.
    Raises `InvalidInput` for a pattern that is none.
    """
    return named_capabilities(_DEFAULT, allow=allow, allow_private=allow_private)


def named_capabilities(
    names: Sequence[str],
    *,
    allow: Sequence[str] | None = None,
    allow_private: bool = False,
    folder: str | os.PathLike[str] = ".",
    allow_commands: Sequence[str] = (),
    allow_shell: bool = False,
    confirm: Sequence[str] = (),
) -> tuple[Capability, ...]:
    """The capabilities of these names; `allow` and `allow_private` as in `default_capabilities`.

    `folder` is what workspace and exec work in; each change and each command is asked about, except commands of
    `allow_commands`. `allow_shell` lets exec take a shell's line. `confirm` are acts of the browser that are asked
    about before they happen (`guard.grants.CONFIRMABLE`).

    Raises `InvalidInput` for an unknown name, naming those there are, and for one text in place of a list.
    """
    refuse_text("names", names, of="names")
    refuse_text("allow", allow, of="patterns")
    refuse_text("allow_commands", allow_commands, of="commands")
    confirmable(confirm)
    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"no pack is called {name!r}; there are: {', '.join(NAMES)}")
    web = _Web(allow=allow, allow_private=allow_private, confirm=confirm)
    makers: dict[str, Callable[[], Capability]] = {
        "browser": web.browser,
        "markdown": _markdown,
        "http": web.http,
        "fetch": web.fetch,
        "ai": _ai,
        "workspace": lambda: _workspace(folder),
        "exec": lambda: _exec(folder, allow_commands=allow_commands, allow_shell=allow_shell),
    }
    return tuple(makers[name]() for name in dict.fromkeys(names))


def capabilities_of_project(
    folder: str | os.PathLike[str], *, context_window: int | None = None
) -> tuple[Capability, ...]:
    """The instructions and skills of the project around `folder`, as they are now; reads files, and allows nothing.

    With a `context_window` instructions that are too long for it are told by their beginnings. Raises `InvalidInput`.
    """
    from agentloop.project import project_capabilities
    from agentloop.project.instructions import INLINE_BYTES

    sized = None if context_window is None else min(Profile.for_window(context_window).inline_bytes, INLINE_BYTES)
    return project_capabilities(folder, inline_bytes=sized)


def secret_capabilities(secrets: Sequence[Secret]) -> tuple[Capability, ...]:
    """`secret()` for the scripts of a run that any are bound to."""
    if not secrets:
        return ()
    from agentloop.packs.secret import secret_capability

    return (secret_capability(),)


def undeclared(capability: Capability) -> Capability:
    """The same, but the prompt does not tell of it: the model finds it through `help()`."""

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [replace(pack, declarations="") for pack in await capability.build(context)]

    return replace(capability, build=build)


def loop_settings(
    prompt: PromptName = "run",
    *,
    limits: RunLimits | None = None,
    context_window: int | None = None,
    history_window: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    egress: EgressManifest | None = None,
    own_ports: OwnPorts | None = None,
) -> LoopSettings:
    """The settings for a prompt that ships.

    `context_window`, in tokens as the model is served, brings a budget for each call, a compactor and a history window
    that fit it (`Profile`); a `history_window` of one's own wins over that. Raises `InvalidInput`.
    """
    folder = None if workspace is None else os.fspath(workspace)
    settings = LoopSettings(
        limits=limits or RunLimits(),
        prompt=Prompt.named(prompt),
        workspace=folder,
        egress=egress,
        own_ports=OwnPorts() if own_ports is None else own_ports,
    )
    if context_window is not None:
        profile = Profile.for_window(context_window)
        settings = profile.apply(replace(settings, compactor=SummarizingCompactor()))
    return settings if history_window is None else replace(settings, history_window=history_window)


def _markdown() -> Capability:
    from agentloop.packs.markdown import markdown_capability

    return markdown_capability()


def _ai() -> Capability:
    from agentloop.packs.ai import ai_capability

    return ai_capability()


def _workspace(folder: str | os.PathLike[str]) -> Capability:
    from agentloop.packs.workspace import workspace_capability

    return workspace_capability(os.fspath(folder))


def _exec(folder: str | os.PathLike[str], *, allow_commands: Sequence[str], allow_shell: bool) -> Capability:
    from agentloop.packs.exec import exec_capability

    return exec_capability(os.fspath(folder), allow_commands=allow_commands, allow_shell=allow_shell)


@dataclass(frozen=True, kw_only=True)
class _Web:
    allow: Sequence[str] | None
    allow_private: bool
    confirm: Sequence[str]

    def browser(self) -> Capability:
        from agentloop.browser.pack import browser_capability
        from agentloop.drivers.playwright_driver import PlaywrightDriver

        def open_driver(context: BuildContext) -> AbstractAsyncContextManager[Driver]:
            return PlaywrightDriver.launch(
                allow=self.allow,
                narrow=context.allow,
                allow_private=self.allow_private,
                start_url=context.start_url,
                egress=context.egress,
                own_ports=context.own_ports,
                storage_state=context.state,
            )

        return browser_capability(open_driver, confirm=self.confirm)

    def http(self) -> Capability:
        from agentloop.packs.http import http_capability

        return http_capability(allow=self.allow, allow_private=self.allow_private)

    def fetch(self) -> Capability:
        from agentloop.packs.fetch import fetch_capability

        return fetch_capability(allow=self.allow, allow_private=self.allow_private)
