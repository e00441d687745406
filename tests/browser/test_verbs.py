"""What each verb tells a policy: never what is typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agentloop.browser import browser_capability
from agentloop.capabilities import BuildContext
from agentloop.drivers import PlaywrightDriver
from agentloop.guard.grants import Grant
from agentloop.guard.policy import Decision, ToolCall, URLAllowlistPolicy
from agentloop.packs.base import Pack
from agentloop.records import Json
from agentloop.sandbox import open_sandbox
from tests.browser.page_server import PageServer

PAGE = """<!doctype html><title>T</title><label>Name <input></label><button>Go</button>
<select aria-label=Size><option>S<option>L</select><label><input type=checkbox>Yes</label>"""

TABLE: list[tuple[str, dict[str, Json]]] = [
    ("browser.click(2)", {"action": "click", "id": 2}),
    ("browser.click('Go', 2)", {"action": "click", "id": 2, "name": "Go"}),
    ("browser.click('button')", {"action": "click", "selector": "button"}),
    ("browser.click({x: 1, y: 2})", {"action": "click", "x": 1, "y": 2}),
    ("browser.clickMark(2)", {"action": "clickMark", "id": 2}),
    ("browser.doubleClick(2)", {"action": "doubleClick", "id": 2}),
    ("browser.rightClick(2)", {"action": "rightClick", "id": 2}),
    ("browser.hover(2)", {"action": "hover", "id": 2}),
    ("browser.type('Name', 1, 's3cret')", {"action": "type", "id": 1, "name": "Name"}),
    ("browser.typeMark(1, 's3cret')", {"action": "typeMark", "id": 1}),
    ("browser.select('Size', 3, 'L')", {"action": "select", "id": 3, "name": "Size"}),
    ("browser.check(4)", {"action": "check", "id": 4}),
    ("browser.press('Tab')", {"action": "press"}),
    ("browser.press('Tab', 1)", {"action": "press", "id": 1}),
    ("browser.scroll(100)", {"action": "scroll", "dx": 0, "dy": 100}),
    ("browser.text('body')", {"action": "text", "selector": "body"}),
    ("browser.value(1)", {"action": "value", "id": 1}),
    ("browser.eval('1 + 1')", {"action": "eval", "expression": "1 + 1"}),
    ("browser.waitVisible('body')", {"action": "waitVisible", "selector": "body"}),
    ("browser.waitReady('body')", {"action": "waitReady", "selector": "body"}),
    ("browser.mark()", {"action": "mark"}),
    ("browser.unmark()", {"action": "unmark"}),
    ("browser.look()", {"action": "look"}),
    ("browser.url()", {"action": "url"}),
    ("browser.sleep(1)", {}),
    ("browser.goto('/there')", {"action": "goto", "url": "ORIGIN/there"}),
]


@dataclass
class Recording:
    """Allows everything and keeps every call."""

    calls: list[ToolCall] = field(default_factory=list)

    async def check(self, call: ToolCall) -> Decision:
        self.calls.append(call)
        return Decision(allowed=True)


@asynccontextmanager
async def pack_of(driver: PlaywrightDriver, context: BuildContext) -> AsyncIterator[Pack]:
    [pack] = await browser_capability(driver).build(context)
    try:
        yield pack
    finally:
        assert pack.aclose is not None
        await pack.aclose()


async def test_a_policy_is_told(driver: PlaywrightDriver, pages: PageServer) -> None:
    policy, origin = Recording(), pages.address("")
    context = BuildContext(start_url=pages.put(PAGE), policy=policy)
    async with pack_of(driver, context) as pack, open_sandbox(packs=[pack]) as sandbox:
        calls = "\n".join(f"try {{ {call} }} catch {{}}" for call, _ in TABLE)
        outcome = await sandbox.run(f"function run() {{ browser.mark();\n{calls} }}")
        assert outcome.error is None
    told = [dict(call.args) for call in policy.calls[1:]]
    assert told == [
        {name: value.replace("ORIGIN", origin) if isinstance(value, str) else value for name, value in args.items()}
        for _, args in TABLE
        if args
    ]
    assert {call.tool for call in policy.calls} == {"browser"}
    assert "s3cret" not in str(policy.calls)


async def test_a_goto_that_the_policy_declines_is_asked_about_by_its_place(
    driver: PlaywrightDriver, pages: PageServer
) -> None:
    pages.put("<p>in</p>", "/docs/in")
    asked: list[tuple[str, Grant, Grant, dict[str, Any]]] = []

    async def ask(message: str, *, kind: str, grant: Grant, need: Grant, **scopes: Any) -> bool:
        asked.append((message, grant, need, scopes))
        return False

    context = BuildContext(
        start_url=pages.put(PAGE), policy=URLAllowlistPolicy(["https://only.test"]), ask=ask, session_id="s"
    )
    async with pack_of(driver, context) as pack, open_sandbox(packs=[pack]) as sandbox:
        outcome = await sandbox.run("function run() { browser.goto('/docs/in') }")
    assert outcome.error is not None and outcome.error.name == "PolicyDenied"
    [(message, grant, need, scopes)] = asked
    place = pages.address("").removeprefix("http://")
    assert message.startswith(f"Allow the browser to open http://{place}? Now: ")
    assert (grant.subject, need.subject) == (f"goto {place}", f"goto {place}/docs/in")
    assert [each.subject for each in scopes["other"].values()] == [f"goto {place}/docs/"]
