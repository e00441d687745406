"""A run of twenty turns with side effects, begun or taken up again: `program.py DATABASE EFFECTS begin|resume`.

Each turn's script does its effect by its number; after an interruption it looks first whether that was done.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from agentloop import BuildContext, Capability, Loop, Pack, Primitive, RunLimits, RunRequest, Scripted
from agentloop.llm.base import ModelRequest
from agentloop.records import RunResult
from agentloop.stores import SQLiteStore

TURNS = 20
SESSION = "durable"
SCRIPT = """```javascript
function run(args) {
  const n = (args.n || 0) + 1;
  if (n > %d) answer(`did ${n - 1}`);
  %s
  return { n };
}
```"""


def reply(request: ModelRequest) -> str:
    """What a careful model does: after an interruption it looks before it acts."""
    last = request.messages[-1].text
    act = "if (!done(n)) effect(n);" if "interrupted" in last.rpartition("Result of your script")[2] else "effect(n);"
    return SCRIPT % (TURNS, act)


def effects(path: Path) -> Capability:
    async def effect(n: int) -> None:
        with path.open("a") as file:
            file.write(f"{n}\n")
        await asyncio.sleep(0.005)  # time to be killed in, after the effect and before its result

    async def done(n: int) -> bool:
        return str(n) in path.read_text().split() if path.exists() else False

    async def build(context: BuildContext) -> Sequence[Pack]:
        return [Pack(name="effects", description="", primitives={"effect": Primitive(effect), "done": Primitive(done)})]

    return Capability(name="effects", description="", build=build)


async def main(database: str, path: str, how: str) -> RunResult:
    loop = Loop(
        llm=Scripted([reply] * (TURNS + 5)),
        store=SQLiteStore(database),
        capabilities=[effects(Path(path))],
        limits=RunLimits(iterations=TURNS * 3),
    )
    request = RunRequest("Do all twenty", session=SESSION) if how == "begin" else SESSION
    async with loop, await loop.open(request) as handle:
        sys.stdout.write("open\n")
        sys.stdout.flush()
        result = await handle.run()
        sys.stdout.write(f"{result.status} {result.final_text}\n")
        return result


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
