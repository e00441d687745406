"""Who owns a run: what its lease says, and what that lets a store write."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from agentloop.clock import utc_now, utc_text
from agentloop.errors import RunOwned, StaleEpoch
from agentloop.records import RunRecord

__all__ = ["HEARTBEAT_TIMEOUT_S", "Lease", "beating", "claimed", "created", "owner_gone", "refuse_owned", "saved"]

HEARTBEAT_TIMEOUT_S = 20.0
"""Silence after which an owner that cannot be looked up here counts as gone."""

_DEAD_STATES = "ZX"


@dataclass(frozen=True, kw_only=True)
class Lease:
    """One process of one boot of one host. `started` tells it from a later process with the same pid.

    `boot` names the boot and, on Linux, the pid namespace: two containers of one host name and one
    kernel must not look each other's pids up. It is empty where there is no `/proc`.
    """

    host: str
    boot: str
    pid: int
    started: str

    @classmethod
    def of_this_process(cls) -> Self:
        """The lease that this process holds."""
        pid = os.getpid()
        status = _status(pid)
        return cls(host=socket.gethostname(), boot=_boot(), pid=pid, started=status[1] if status else "")

    @classmethod
    def from_text(cls, owner: str) -> Self | None:
        """The inverse of `to_text`; None for an owner that is no lease."""
        try:
            data = json.loads(owner)
            lease = cls(
                host=str(data["host"]), boot=str(data["boot"]), pid=int(data["pid"]), started=str(data["started"])
            )
        except (ValueError, KeyError, TypeError):
            return None
        return lease if 0 < lease.pid < 2**31 else None

    def to_text(self) -> str:
        """JSON text, the same for the same lease: what `RunRecord.owner` holds."""
        return json.dumps(asdict(self), sort_keys=True)

    def gone(self, *, heartbeat_at: str = "", now: float | None = None) -> bool:
        """True when the process is no more.

        On this host and boot that is looked up at once; elsewhere, and where it cannot be told,
        the heartbeat (UTC text) decides.
        """
        alive = self._alive() if (self.host, self.boot) == (socket.gethostname(), _boot()) else None
        return _seconds_since(heartbeat_at, now) > HEARTBEAT_TIMEOUT_S if alive is None else not alive

    def _alive(self) -> bool | None:
        if sys.platform == "win32":  # os.kill would end the process there
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it is there, of another user
        status = _status(self.pid)
        if status is None:
            return None
        state, started = status
        return state not in _DEAD_STATES and started == self.started


def owner_gone(run: RunRecord, now: float | None = None) -> bool:
    """True when nobody works on `run`: it has no owner, or its owner is gone at `now` (Unix seconds)."""
    if not run.owner:
        return True
    lease = Lease.from_text(run.owner)
    if lease is None:
        return _seconds_since(run.heartbeat_at, now) > HEARTBEAT_TIMEOUT_S
    return lease.gone(heartbeat_at=run.heartbeat_at, now=now)


def created(run: RunRecord) -> RunRecord:
    """A new run, stamped where it has no times of its own; an owner's first heartbeat is its creation."""
    now = utc_now()
    beat = run.heartbeat_at or (now if run.owner else "")
    return replace(run, heartbeat_at=beat, created_at=run.created_at or now, updated_at=run.updated_at or now)


def claimed(run: RunRecord, owner: str, *, now: float | None = None) -> RunRecord:
    """`run` in the hands of `owner`, one epoch on. Raises `RunOwned` while another owner lives."""
    if run.owner != owner and not owner_gone(run, now):
        raise RunOwned(
            f"Run {run.run_id!r} is being worked on by {_named(run.owner)}, last heard of at {run.heartbeat_at}."
            " Wait until that ends, or end it."
        )
    moment = utc_now() if now is None else utc_text(now)
    return replace(run, owner=owner, epoch=run.epoch + 1, heartbeat_at=moment, updated_at=moment)


def saved(known: RunRecord, run: RunRecord) -> RunRecord:
    """What replaces `known`: all of `run` but what names it and its owner. Raises `StaleEpoch`."""
    _refuse_stale(known, run.epoch)
    return replace(
        run,
        session_id=known.session_id,
        message=known.message,
        url=known.url,
        setup=known.setup,
        owner=known.owner,
        heartbeat_at=max(run.heartbeat_at, known.heartbeat_at),
        created_at=known.created_at,
        updated_at=utc_now(),
    )


def beating(known: RunRecord, epoch: int) -> RunRecord:
    """`known` with a heartbeat of now. Raises `StaleEpoch`."""
    _refuse_stale(known, epoch)
    return replace(known, heartbeat_at=utc_now())


def refuse_owned(runs: Iterable[RunRecord]) -> None:
    """Raises `RunOwned` when a living owner works on one of these runs of a session that is to go."""
    for run in runs:
        if not run.status.terminal and not owner_gone(run):
            raise RunOwned(
                f"Session {run.session_id!r} has a run in progress, worked on by {_named(run.owner)}: wait for its end,"
                f" or end it there{_how(run.owner)}, then delete the session."
            )


def _refuse_stale(known: RunRecord, epoch: int) -> None:
    if epoch != known.epoch:
        raise StaleEpoch(f"Run {known.run_id!r} is at epoch {known.epoch} now, not at {epoch}.")


def _named(owner: str) -> str:
    lease = Lease.from_text(owner)
    return f"process {lease.pid} on {lease.host}" if lease else repr(owner)


def _how(owner: str) -> str:
    lease = Lease.from_text(owner)
    return f" (kill -INT {lease.pid})" if lease else ""


def _seconds_since(text: str, now: float | None = None) -> float:
    """Seconds from a UTC text to `now`; infinite for what is no time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("inf")
    return (time.time() if now is None else now) - moment.timestamp()


def _boot() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _status(pid: int) -> tuple[str, str] | None:
    """State letter and start time (clock ticks since boot); None where it cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name in parentheses may hold anything
    return fields[0], fields[19]
