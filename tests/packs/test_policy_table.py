"""What each primitive tells a policy: one table, real scripts, a policy that allows everything and remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentloop.capabilities import BuildContext
from agentloop.guard.policy import Decision, ToolCall
from agentloop.llm import Scripted
from agentloop.packs.ai import ai_pack
from agentloop.packs.base import Pack
from agentloop.packs.documents import documents_pack
from agentloop.packs.email import Email, email_pack
from agentloop.packs.exec import exec_capability
from agentloop.packs.fetch import fetch_pack
from agentloop.packs.http import http_pack
from agentloop.packs.markdown import markdown_pack
from agentloop.packs.permission import Permission
from agentloop.packs.search import search_pack
from agentloop.packs.workspace import workspace_capability
from tests.packs.web import Site, guarded, outcome, served

SITE = "http://SITE/page"

TABLE: Mapping[str, list[tuple[str, dict[str, Any]]]] = {
    f"fetch('{SITE}?q=1')": [("fetch", {"url": f"{SITE}?q=1"})],
    f"_http('{SITE}', {{method: 'POST'}})": [("fetch", {"url": SITE})],
    f"require('http').get('{SITE}')": [("fetch", {"url": SITE})],
    f"allowUrls('{SITE}')": [("fetch", {"url": SITE})],
    "fetchWhitelist()": [("fetch", {"url": ""})],
    "ai('What?')": [("ai", {"prompt": "What?"})],
    "aiJSON('Which?', {type: 'object'})": [("ai", {"prompt": "Which?"})],
    "sendEmail({to: 'a@b.test', subject: 'Hi', body: 'text'})": [("sendEmail", {"to": "a@b.test", "subject": "Hi"})],
    "writeFile('./new/a.txt', 'x')": [("writeFile", {"path": "new/a.txt"})],
    "editFile('old.txt', 'a', 'b')": [("editFile", {"path": "old.txt"})],
    "exec(['echo', 'a b', 'c'])": [("exec", {"command": "echo", "argv": "echo 'a b' c"})],
    "readFile('old.txt')": [],
    "listDir('.')": [],
    "glob('*')": [],
    "grep('a')": [],
    "htmlToMarkdown('<p>x')": [],
    "require('markdown').plain('# x')": [],
}


class Mail:
    """Sends nothing."""

    async def send(self, message: Email) -> None:
        pass


@dataclass
class Recording:
    """Allows everything and keeps every call."""

    calls: list[ToolCall] = field(default_factory=list)

    async def check(self, call: ToolCall) -> Decision:
        self.calls.append(call)
        return Decision(allowed=True)


@asynccontextmanager
async def packs(policy: Recording, site: Site, folder: Path) -> AsyncIterator[list[Pack]]:
    context = BuildContext(policy=policy, session_id="s", run_id="r")
    permission = Permission(context)
    (folder / "old.txt").write_text("a")
    async with guarded(site) as client:
        found = [
            fetch_pack(client, permission),
            await http_pack(client, permission),
            await markdown_pack(permission),
            await ai_pack(Scripted(["{}"]), permission),
            email_pack(Mail(), permission),
            search_pack(None, permission),
            documents_pack(None, permission),
            *await workspace_capability(folder).build(context),
            *await exec_capability(folder).build(context),
        ]
        policy.calls.clear()
        try:
            yield found
        finally:
            for pack in found:
                if pack.aclose is not None:
                    await pack.aclose()


@pytest.mark.parametrize("script", TABLE)
async def test_a_policy_is_told(script: str, tmp_path: Path) -> None:
    policy = Recording()
    async with served() as site, packs(policy, site, tmp_path) as found:
        done = await outcome(f"function run() {{ {script.replace('SITE', site.place)} }}", *found)
        told = [(call.tool, dict(call.args)) for call in policy.calls]
        wanted = [
            (tool, {name: value.replace("SITE", site.place) for name, value in args.items()})
            for tool, args in TABLE[script]
        ]
    assert done.error is None, done.error
    assert told == wanted
    assert all((call.session_id, call.run_id) == ("s", "r") for call in policy.calls)


async def test_modules_are_asked_about_by_their_names(tmp_path: Path) -> None:
    policy = Recording()
    context = BuildContext(policy=policy)
    async with served() as site, guarded(site) as client:
        await http_pack(client, Permission(context))
        await markdown_pack(Permission(context))
        await ai_pack(Scripted([]), Permission(context))
    assert {(call.tool, len(call.args)) for call in policy.calls} == {("http", 0), ("markdown", 0), ("ai", 0)}
