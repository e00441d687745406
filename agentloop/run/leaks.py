"""Looks, at the end of a run with secrets, whether one got into anything that the run wrote."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agentloop.artifacts.scan import Leak, Scanner, ScanReport
from agentloop.run.context import RunContext

__all__ = ["SCAN_S", "tell_leaks"]

SCAN_S = 6.0
"""Seconds that looking may take; a run's end has a deadline of its own above that."""

_BESIDE = ("-wal", "-journal")
"""What SQLite keeps beside its file: what was written last, and what was there before."""

_SHOWN = 20


async def tell_leaks(context: RunContext) -> None:
    """Adds an `error` event for each place that holds a secret, and a warning for what could not be looked through.

    Looked through are the folder of its artifacts, its rows in the store, and the logs that a database keeps.
    """
    secrets = tuple(context.build.secrets)
    if not secrets:
        return
    emit = context.journal.emit
    try:
        async with asyncio.timeout(SCAN_S + 1):
            rows = await _rows(context)
            scanner = Scanner(secrets, seconds=SCAN_S)
            report = await asyncio.to_thread(_looked, scanner, rows, _places(context))
    except Exception as error:  # the border: store and files are foreign, and a run must get its end all the same
        why = str(error) or type(error).__name__
        await emit("warning", content=f"it could not be looked whether a secret was written anywhere: {why}")
        return
    for leak in report.leaks[:_SHOWN]:
        await emit("error", content=str(leak), args={"secret": leak.secret, "place": leak.place, "form": leak.form})
    if report.unread:
        await emit("warning", content=f"not looked through for secrets: {'; '.join(report.unread[:_SHOWN])}")


def _looked(scanner: Scanner, rows: Sequence[tuple[str, str]], places: Sequence[Path]) -> ScanReport:
    found: dict[Leak, None] = {}
    for name, text in rows:
        found |= dict.fromkeys(scanner.text(text, name))
    report = scanner.paths(places)
    return ScanReport(leaks=(*found, *report.leaks), files=report.files, unread=report.unread)


async def _rows(context: RunContext) -> list[tuple[str, str]]:
    """What the store keeps of the run, by what it is called there."""
    store, run = context.store, context.run
    steps = [step for step in await store.last_steps(run.session_id, 0) if step.run_id == run.run_id]
    session, state = await store.get_session(run.session_id), await store.load_state(run.session_id)
    kept = {
        "the run's events": [event.to_dict() for event in await store.events(run.run_id)],
        "the run's steps": [asdict(step) for step in steps],
        "the run's row": asdict(run),
        "the session's row": None if session is None else asdict(session),
        "the browser's state": None if state is None else state.decode("latin-1"),
        "the session's grants": [asdict(grant) for grant in await store.grants(run.session_id)],
    }
    return [(name, json.dumps(value, default=str, ensure_ascii=False)) for name, value in kept.items()]


def _places(context: RunContext) -> list[Path]:
    artifacts = context.build.artifacts
    places = [] if artifacts is None else [Path(artifacts.location)]
    file = getattr(context.store, "path", None)
    return places + [Path(f"{file}{end}") for end in _BESIDE if isinstance(file, str)]
