"""A process that appends to a database with others, for the tests of many processes at once."""

from __future__ import annotations

import asyncio
import sys

from agentloop.records import RunRecord, Session
from agentloop.stores import SQLiteStore
from agentloop.testing.stores.rows import new_event, new_id, new_step

SHARED = "00000000-0000-4000-8000-000000000000"


async def append(path: str, count: int, *, forever: bool) -> None:
    """Appends `count` steps, each with two events, to the shared session and to one of its own."""
    async with SQLiteStore(path) as store:
        runs = []
        for session_id in (SHARED, new_id()):
            await store.create_session(Session(session_id=session_id))
            runs.append(await store.create_run(RunRecord(run_id=new_id(), session_id=session_id, epoch=1)))
        number = 0
        while forever or number < count:
            for run in runs:
                events = [new_event(run, 2 * number + 1), new_event(run, 2 * number + 2)]
                await store.append_step(new_step(run, f"{run.run_id} {number}"), events=events, epoch=1)
            number += 1
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(append(sys.argv[1], int(sys.argv[2]), forever=sys.argv[2] == "0"))
