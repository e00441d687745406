"""The engine in a program of yours: one run that knows what the project says of itself, and keeps nothing.

python examples/embed.py "How do we release?"                       # a scripted model, which looks the skills up
OPENAI_API_KEY=… python examples/embed.py "How do we release?"      # a real one

Run it in a folder with an AGENTS.md, and skills in .agentloop/skills/NAME/SKILL.md.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AbstractAsyncContextManager, nullcontext

from agentloop import Loop, MemoryStore, OpenAI, RunEvent, RunLimits, RunRequest, Scripted, default_capabilities
from agentloop.project import project_capabilities

REPLIES = [
    """```javascript
function run(args) {
  const skills = skillList().filter((one) => one.type === "prompt" && one.name !== "project_instructions");
  return { told: skills.map(({ name }) => ({ name, text: skillGet(name) })) };
}
```""",
    """```javascript
function run({ told }) {
  answer(told.map(({ name, text }) => `${name}: ${text}`).join("\\n") || "This project has no skills.");
}
```""",
]


def model() -> AbstractAsyncContextManager[OpenAI | Scripted]:
    has_model = {"OPENAI_API_KEY", "OPENAI_BASE_URL"} & os.environ.keys()
    return OpenAI.from_env() if has_model else nullcontext(Scripted(REPLIES))


def show(event: RunEvent) -> None:
    """Called for each thing that happens; a skill that cannot be used is a warning."""
    if event.type in ("warning", "error"):
        print(f"{event.type}: {event.content}", file=sys.stderr)


async def main(message: str) -> None:
    capabilities = [*default_capabilities(), *project_capabilities(".")]
    async with (
        model() as llm,
        Loop(llm=llm, store=MemoryStore(), capabilities=capabilities, limits=RunLimits(iterations=10)) as loop,
    ):
        result = await loop.run(RunRequest(message), on_event=show)
    print(f"{result.status}: {result.final_text}")


asyncio.run(main(" ".join(sys.argv[1:]) or "How are things done here?"))
