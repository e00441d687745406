"""`agentloop doctor`: what works here and what does not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from agentloop.cli.render import visible
from agentloop.errors import AgentLoopError, InvalidInput

if TYPE_CHECKING:
    from agentloop.llm.openai import OpenAI

__all__ = ["Finding", "command", "examine"]

_PING_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the report."""

    verdict: Literal["ok", "warn", "FAIL"]
    topic: str
    text: str


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Do not call the model.")
@click.option("--llm-base-url", metavar="URL", help="Where the model is served.  [OPENAI_BASE_URL]")
@click.option("--model", metavar="NAME", help="The model to ask.  [OPENAI_CHAT_MODEL]")
def command(offline: bool, llm_base_url: str | None, model: str | None) -> int:
    """Tell what works here and what does not: script engine, browser, model, files."""
    return asyncio.run(_report(offline=offline, base_url=llm_base_url, model=model))


async def examine(*, offline: bool, base_url: str | None = None, model: str | None = None) -> AsyncIterator[Finding]:
    """The findings, one after the other as they are made."""
    yield _package()
    yield await _engine()
    yield await _browser()
    async for finding in _model(offline=offline, base_url=base_url, model=model):
        yield finding
    yield _files()


async def _report(*, offline: bool, base_url: str | None, model: str | None) -> int:
    failed = False
    async for finding in examine(offline=offline, base_url=base_url, model=model):
        print(f"{finding.verdict:<4}  {finding.topic}: {visible(finding.text)}", flush=True)
        failed = failed or finding.verdict == "FAIL"
    return 1 if failed else 0


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
            isolation = sandbox.isolation
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="scripts", text=str(error))
    if outcome.value_json != "42":
        return Finding(verdict="FAIL", topic="scripts", text=f"a trial script did not give 42: {outcome.error}")
    text = f"quickjs-ng {_version('quickjs-ng')} in a process of its own, isolation: {isolation}"
    return Finding(verdict="ok" if isolation == "seccomp" else "warn", topic="scripts", text=text)


async def _browser() -> Finding:
    from agentloop.drivers.host import BrowserHost

    try:
        async with BrowserHost.launch() as host:
            sandboxed = "its sandbox on" if host.sandboxed else "its sandbox off (root)"
            text = f"{host.binary.path}, version {host.version}, {sandboxed}"
            return Finding(verdict="ok" if host.sandboxed else "warn", topic="browser", text=text)
    except AgentLoopError as error:
        return Finding(verdict="FAIL", topic="browser", text=str(error))


async def _model(*, offline: bool, base_url: str | None, model: str | None) -> AsyncIterator[Finding]:
    from agentloop.llm.openai import OpenAI

    try:
        client = OpenAI.from_env(base_url=base_url, model=model)
    except InvalidInput as error:
        yield Finding(verdict="warn", topic="model", text=str(error))
        return
    async with client:
        key = f"a key of {client.key_length} characters" if client.key_length else "no key"
        yield Finding(verdict="ok", topic="model", text=f"{client.model} at {client.address}, {key}")
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
    from agentloop.settings import data_directory

    folder = data_directory()
    if _writable(folder):
        return Finding(verdict="ok", topic="files", text=str(folder))
    return Finding(verdict="FAIL", topic="files", text=f"{folder} cannot be written to")


def _writable(folder: Path) -> bool:
    """Whether the folder could be made and written to; nothing is made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed as a distribution)"
