"""One call: a task in, a real browser driven, an answer out.

python examples/hello.py                                 # the fixture shop and a scripted model
OPENAI_API_KEY=… python examples/hello.py                # the fixture shop and a real model
OPENAI_API_KEY=… python examples/hello.py TASK URL       # your own
"""

from __future__ import annotations

import asyncio
import os
import sys

from agentloop import RunEvent, RunResult, Scripted, browse
from agentloop.testing.site import serve_site

TASK = "How much is the cheapest lamp in the shop?"

REPLIES = [
    """```javascript
function run(args) {
  type("Search products", 4, "lamp");
  click("Search", 5);
}
```""",
    """```javascript
function run(args) {
  select("Sort by", 7, "Price: low to high");
}
```""",
    """```javascript
function run(args) {
  answer(`The cheapest lamp is ${browser.text(".card a")}: ${browser.text(".card .price")}.`);
}
```""",
]


def show(event: RunEvent) -> None:
    """Called for each thing that happens; acts are what the page saw."""
    if event.type == "act":
        print("  ", event.content, file=sys.stderr)


async def hello(task: str, url: str) -> RunResult:
    has_model = {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & os.environ.keys()
    return await browse(task, url=url, llm=None if has_model else Scripted(REPLIES), on_event=show)


async def main() -> None:
    if len(sys.argv) == 3:
        result = await hello(sys.argv[1], sys.argv[2])
    else:
        async with serve_site() as site:
            result = await hello(TASK, f"{site.url}/shop/")
    print(f"{result.status}: {result.final_text} ({result.tokens.prompt} prompt tokens)")


if __name__ == "__main__":
    asyncio.run(main())
