"""A store of your own: steps as lines of JSON, one file a session, joined with SQLite for all the rest."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from agentloop import Loop, RunRequest, Scripted
from agentloop.clock import utc_now
from agentloop.events import RunEvent
from agentloop.records import Step, Usage
from agentloop.stores import JoinedStore, SQLiteStore


class JsonLines:
    """Implements `StepStore`, and what deleting a session needs, for one process at a time.

    No method awaits, so each is whole or not at all when its caller is cancelled. Events and epochs
    are the other parts' business: a `JoinedStore` hands no events over and checks epochs itself.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def append_step(self, step: Step, *, events: Sequence[RunEvent] = (), epoch: int | None = None) -> Step:
        index = len(self._read(step.session_id))
        line = json.dumps(asdict(replace(step, index=index, created_at=step.created_at or utc_now())))
        with self._file(step.session_id).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return _step(line)

    async def last_steps(self, session_id: str, n: int) -> tuple[Step, ...]:
        return self._read(session_id)[-n if n > 0 else 0 :]

    async def last_summaries(self, session_id: str, n: int) -> tuple[Step, ...]:
        return tuple(step for step in self._read(session_id) if step.type == "summary")[-n if n > 0 else 0 :]

    async def delete_session(self, session_id: str) -> None:
        self._file(session_id).unlink(missing_ok=True)

    def _read(self, session_id: str) -> tuple[Step, ...]:
        file = self._file(session_id)
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return tuple(_step(line) for line in lines)

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{session_id.encode().hex()}.jsonl"  # an id may hold a slash


def _step(line: str) -> Step:
    data = json.loads(line)
    return Step(**data | {"tokens": Usage(**data["tokens"])})


async def main(folder: Path) -> None:
    steps = JsonLines(folder)
    store = JoinedStore(steps=steps, rest=SQLiteStore(folder / "rest.db"))
    model = Scripted(["```javascript\nfunction run() { answer(String(6 * 7)); }\n```"])
    async with Loop(llm=model, store=store) as loop:
        result = await loop.run(RunRequest("What is six times seven?"))
    kept = [step.type for step in await steps.last_steps(result.session_id, 0)]
    print(f"{result.status}: {result.final_text}, kept as {', '.join(kept)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
