"""A pack of your own: coroutines that scripts can call, and the declaration that tells the model how."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentloop import BuildContext, Capability, Loop, MemoryStore, Pack, Primitive, RunRequest, Scripted

STOCK = {"socks": 12, "hats": 0}

DECLARATIONS = """
/** How many of a thing are in the warehouse. Throws for what it never held. */
declare function stock(name: string): number;
"""


async def stock(name: str) -> int:
    if name not in STOCK:
        raise LookupError(f"the warehouse holds {', '.join(STOCK)}, not {name}")  # a catchable JS Error
    return STOCK[name]


PACK = Pack(name="warehouse", description="Stock.", declarations=DECLARATIONS, primitives={"stock": Primitive(stock)})


async def build(context: BuildContext) -> Sequence[Pack]:
    return [PACK]  # a pack with something of its own to open builds it here, for each run


# A real run takes OpenAI.from_env() here; the script is what a model would write.
MODEL = Scripted(
    [
        """```javascript
function run(args) {
  const counts = {};
  for (const name of ["socks", "hats", "boats"]) {
    try { counts[name] = stock(name); } catch (error) { log(error.message); }
  }
  return counts;
}
```""",
        """```javascript
function run(counts) {
  answer(Object.entries(counts).map(([name, n]) => `${n} ${name}`).join(", "));
}
```""",
    ]
)


async def main() -> None:
    warehouse = Capability(name="warehouse", description="What is in stock.", build=build)
    async with Loop(llm=MODEL, store=MemoryStore(), capabilities=[warehouse]) as loop:
        result = await loop.run(RunRequest("What do we have?"))
    print(f"{result.status}: {result.final_text}")


asyncio.run(main())
