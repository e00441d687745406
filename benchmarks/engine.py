"""What the engine itself costs: a turn with a scripted model and the SQLite store, in a new session and a long one.

The yardstick is the same script in the same sandbox without the engine; a turn in a session of 10,000 steps must cost
what it does in one of 100, where the window of replayed history is full already.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agentloop import Loop, RunLimits, RunRequest, Scripted
from agentloop.records import Session, Step, StepType
from agentloop.sandbox import open_sandbox
from agentloop.stores import SQLiteStore

TURNS = 60
STEPS = 10_000
SCRIPT = "function run(args) { return { n: (args.n || 0) + %d } }"


def replies() -> list[str]:
    scripts = [f"```js\n{SCRIPT % n}\n```" for n in range(1, TURNS + 1)]
    return [*scripts, "```js\nanswer('done')\n```"]


async def bare() -> float:
    """Milliseconds of a script without the engine, the model's thinking time given to the sandbox likewise."""
    times = []
    async with open_sandbox() as sandbox:
        for n in range(1, TURNS + 1):
            began = time.perf_counter()
            await sandbox.run(SCRIPT % n, '{"n": 1}')
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


async def turn(store: SQLiteStore, session: str) -> float:
    """Milliseconds of a turn."""
    loop = Loop(llm=Scripted(replies()), store=store, limits=RunLimits(iterations=TURNS + 5))
    times = []
    async with await loop.open(RunRequest("count", session=session)) as handle:
        await handle.turn()
        for _ in range(TURNS - 1):
            began = time.perf_counter()
            await handle.turn()
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


async def fill(store: SQLiteStore, session: str, steps: int) -> None:
    await store.create_session(Session(session_id=session))
    for n in range(steps // 4):
        told: tuple[tuple[StepType, str], ...] = (
            ("user", f"ask {n}"),
            ("execute_js", SCRIPT % n),
            ("execute_js_result", "x" * 200),
            ("response", "ok"),
        )
        for kind, content in told:
            await store.append_step(Step(session_id=session, run_id=f"r{n}", type=kind, content=content))


async def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with SQLiteStore(Path(folder) / "bench.db") as store:
            alone = await bare()
            new = await turn(store, "new")
            await fill(store, "short", 100)
            short = await turn(store, "short")
            await fill(store, "long", STEPS)
            long = await turn(store, "long")
    overhead = new - alone
    print(f"a script without the engine   {alone:6.2f} ms")
    print(f"a turn, new session           {new:6.2f} ms   engine {overhead:.2f} ms   (to reach: 5 ms)")
    print(f"a turn after 100 steps        {short:6.2f} ms")
    print(f"a turn after {STEPS:,} steps     {long:6.2f} ms   {long / short:.2f} x that after 100   (to reach: 1.2)")
    return 0 if long <= 3 * 1.2 * short and overhead <= 3 * 5 else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
