"""A run that signs in to the shop and then waits to be killed: `browser_program.py DATABASE SHOP begin|resume`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractAsyncContextManager

from agentloop import Loop, LoopSettings, RunEvent, RunRequest, Scripted
from agentloop.browser import Driver, browser_capability
from agentloop.capabilities import BuildContext
from agentloop.context.prompt import Prompt
from agentloop.drivers import BrowserHost
from agentloop.llm.base import ModelRequest
from agentloop.stores import SQLiteStore

SESSION = "shopper"
SIGN_IN = """```javascript
function run(args) {
  type("User name", 6, "demo");
  type("Password", 7, "demo");
  click("Sign in to your account", 8);
  return { asked: true };
}
```"""
WAIT = "```javascript\nsleep(25000)\n```"
LOOK = '```javascript\nanswer(browser.url() + " " + (browser.look().includes("Sign out") ? "in" : "out"))\n```'


def reply(request: ModelRequest) -> str:
    """Signs in, waits; after an interruption it tells where it is."""
    told = "\n".join(message.text for message in request.messages[3:])
    if "interrupted" in told:
        return LOOK
    return WAIT if "asked" in told else SIGN_IN


async def main(database: str, shop: str, how: str) -> None:
    async with BrowserHost.launch(headless=True) as host:

        def driver(context: BuildContext) -> AbstractAsyncContextManager[Driver]:
            return host.driver(allow=[], start_url=shop, storage_state=context.state)

        loop = Loop(
            llm=Scripted([reply] * 9),
            store=SQLiteStore(database),
            capabilities=[browser_capability(driver, globals=True)],
            settings=LoopSettings(prompt=Prompt.named("browse")),
        )
        request = RunRequest("Sign in", session=SESSION, url=f"{shop}login") if how == "begin" else SESSION

        def told(event: RunEvent) -> None:
            if event.type in ("execute_js", "error"):
                sys.stdout.write(f"{event.type} {event.content!r}\n")
                sys.stdout.flush()

        async with loop, await loop.open(request, on_event=told) as handle:
            result = await handle.run()
            sys.stdout.write(f"end {result.status} {result.final_text}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
