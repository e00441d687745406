"""`agentloop doctor`: what works here and what does not."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import click

from agentloop.cli.options import BROWSER, FOLDER, MODEL, NETWORK, PERMISSION, PROJECT, given_settings, options
from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.records import Prices
from agentloop.settings import Settings, data_directory, database_path

if TYPE_CHECKING:
    from agentloop.llm.openai import OpenAI

__all__ = ["Finding", "command", "examine"]

_PING_S = 20.0
_USER_OR_QUERY = re.compile(r"(?<=://)[^/@]*(?=@)|(?<=\?).*")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the report."""

    verdict: Literal["ok", "warn", "FAIL"]
    topic: str
    text: str


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Do not call the model.")
@options(MODEL, PERMISSION, NETWORK, FOLDER, PROJECT, BROWSER)
def command(offline: bool, **given: Any) -> int:
    """Tell what works here and what does not: script engine, browser, model, workspace, sessions, settings.

    Takes the options of the other commands, and tells of each setting who chose it.
    """
    workspace = Path(given["cwd"] or Path.cwd()).absolute()
    return asyncio.run(_report(given_settings(given), workspace, offline=offline))


async def examine(settings: Settings, *, offline: bool, workspace: Path) -> AsyncIterator[Finding]:
    """The findings, one after the other as they are made."""
    from agentloop.cli.workspace import workspace_findings

    yield _package()
    yield await _engine()
    if problem := _unknown_packs(settings, workspace):
        yield problem
    yield await _browser(settings)
    async for finding in _model(settings, offline=offline):
        yield finding
    usable = replace(settings, packs=(), enable=None) if problem else settings
    async for finding in workspace_findings(usable, workspace):
        yield finding
    yield _files()
    if settings.artifacts is not None:
        yield await _artifacts(settings.artifacts)
    yield await _sessions(settings)
    yield _permissions(settings)
    for finding in _settings(settings):
        yield finding


async def _report(flags: Mapping[str, object], workspace: Path, *, offline: bool) -> int:
    failed = False
    try:
        settings = Settings.gather(flags, workspace=workspace)
    except InvalidInput as error:
        failed = _tell(Finding(verdict="FAIL", topic="settings", text=str(error)))
        settings = Settings()
    async for finding in examine(settings, offline=offline, workspace=workspace):
        failed = _tell(finding) or failed
    return 1 if failed else 0


def _tell(finding: Finding) -> bool:
    """Prints the finding; True for a failure."""
    print(f"{finding.verdict:<4}  {finding.topic}: {visible(finding.text)}", flush=True)
    return finding.verdict == "FAIL"


def _package() -> Finding:
    try:
        other = version("agentloop")
    except PackageNotFoundError:
        return Finding(verdict="ok", topic="package", text=f"agentloop-engine {_version('agentloop-engine')}")
    text = f"the unrelated distribution `agentloop` {other} is installed too and has the same import name: remove it"
    return Finding(verdict="FAIL", topic="package", text=text)


async def _engine() -> Finding:
    from agentloop.sandbox import open_sandbox

    try:
        async with open_sandbox() as sandbox:
            outcome = await sandbox.run("function run(args) { return args.n * 2 }", '{"n": 21}')
            engine, isolation = sandbox.engine, sandbox.isolation
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="scripts", text=str(error))
    if outcome.value_json != "42":
        return Finding(verdict="FAIL", topic="scripts", text=f"a trial script did not give 42: {outcome.error}")
    text = f"{engine} in a process of its own, isolation: {isolation}"
    return Finding(verdict="ok" if isolation == "seccomp" else "warn", topic="scripts", text=text)


async def _browser(settings: Settings) -> Finding:
    from agentloop.drivers.host import BrowserHost

    try:
        async with BrowserHost.launch(
            browser_sandbox=settings.browser_sandbox,
            cdp_url=settings.cdp,
            dangerously_unguarded=settings.dangerously_unguarded,
        ) as host:
            if host.binary is None:
                held = f"boundary: {host.boundary}"
                text = f"one that runs already, version {host.version}, {held}"
                return Finding(verdict="ok" if host.boundary != "unguarded" else "warn", topic="browser", text=text)
            off = "as --browser-sandbox says" if settings.browser_sandbox == "off" else "as by default for root"
            sandboxed = "its sandbox on" if host.sandboxed else f"its sandbox off, {off}"
            text = f"{host.binary.path}, version {host.version}, {sandboxed}"
            return Finding(verdict="ok" if host.sandboxed else "warn", topic="browser", text=text)
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="browser", text=str(error))


async def _model(settings: Settings, *, offline: bool) -> AsyncIterator[Finding]:
    from agentloop.llm.openai import OpenAI

    try:
        client = OpenAI.from_env(base_url=settings.llm_base_url, model=settings.model)
    except InvalidInput as error:
        yield Finding(verdict="warn", topic="model", text=str(error))
        return
    async with client:
        key = f"a key of {client.key_length} characters" if client.key_length else "no key"
        yield Finding(verdict="ok", topic="model", text=f"{client.model} at {_shown(client.address)}, {key}")
        if not offline:
            yield await _ping(client)


async def _ping(client: OpenAI) -> Finding:
    from agentloop.llm.base import Message, ModelRequest

    request = ModelRequest(messages=[Message("user", "ping")], max_tokens=1)
    try:
        async with asyncio.timeout(_PING_S):
            await client.complete(request)
    except TimeoutError:
        return Finding(verdict="FAIL", topic="model", text=f"no answer within {_PING_S:g} s")
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="model", text=str(error))
    return Finding(verdict="ok", topic="model", text="it answers")


def _files() -> Finding:
    folder = data_directory()
    if _writable(folder):
        return Finding(verdict="ok", topic="files", text=str(folder))
    return Finding(verdict="FAIL", topic="files", text=f"{folder} cannot be written to")


async def _artifacts(folder: Path) -> Finding:
    from agentloop.artifacts.folder import FolderArtifacts

    try:
        await FolderArtifacts(folder).check()
    except InvalidInput as error:
        return Finding(verdict="FAIL", topic="artifacts", text=str(error))
    return Finding(verdict="ok", topic="artifacts", text=str(folder))


def _unknown_packs(settings: Settings, workspace: Path) -> Finding | None:
    from agentloop.cli.adding import check_names

    try:
        check_names(settings, skills_of=workspace)
    except InvalidInput as error:
        return Finding(verdict="FAIL", topic="packs", text=str(error))
    return None


async def _sessions(settings: Settings) -> Finding:
    if settings.ephemeral:
        return Finding(verdict="ok", topic="sessions", text="none is kept")
    file = database_path(flag=settings.db)
    if not await asyncio.to_thread(file.exists):
        verdict: Literal["ok", "FAIL"] = "ok" if _writable(file.parent) else "FAIL"
        made = "made with the first session" if verdict == "ok" else "cannot be made: its folder cannot be written to"
        return Finding(verdict=verdict, topic="sessions", text=f"{file}, {made}")
    from agentloop.stores import SQLiteStore

    try:
        async with SQLiteStore(file) as store:
            count = len(await store.list_sessions())
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="sessions", text=str(error))
    return Finding(verdict="ok", topic="sessions", text=f"{file}, {count} kept")


_APPROVE = MappingProxyType(
    {
        None: "questions are asked at a terminal and denied elsewhere",
        "prompt": "questions are asked at the terminal",
        "deny": "questions are denied",
        "auto": "questions are approved without anybody looking",
    }
)


def _permissions(settings: Settings) -> Finding:
    verdict: Literal["ok", "warn"] = "warn" if settings.approve == "auto" else "ok"
    return Finding(verdict=verdict, topic="permissions", text=_APPROVE[settings.approve])


def _settings(settings: Settings) -> Iterator[Finding]:
    """A line for each setting that was chosen, one for the rest, and what the workspace may not choose."""
    for name, origin in settings.origins.items():
        yield Finding(verdict="ok", topic="settings", text=f"{name} = {_shown(settings.value(name))}, from {origin}")
    rest = {name: _shown(settings.value(name)) for name in Settings.names() if name not in settings.origins}
    told = ", ".join(f"{name} {shown}" for name, shown in rest.items() if shown not in ("-", "no"))
    yield Finding(verdict="ok", topic="settings", text=f"defaults: {told}; nothing else is chosen")
    for ignored in settings.ignored:
        text = f"{ignored.file}: {ignored.key} is ignored: {ignored.why}"
        yield Finding(verdict="warn", topic="settings", text=text)
    for unknown in settings.unknown:
        yield Finding(verdict="warn", topic="settings", text=unknown)


def _shown(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, Prices):
        return f"{value.prompt:g},{value.completion:g}"
    # An address may carry a name and a password, or a token.
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return _USER_OR_QUERY.sub("…", text) if "://" in text else text


def _writable(folder: Path) -> bool:
    """Whether the folder could be made and written to; nothing is made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed as a distribution)"
