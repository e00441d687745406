from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentloop.clock import utc_text
from agentloop.records import RunRecord
from agentloop.stores.lease import HEARTBEAT_TIMEOUT_S, Lease, owner_gone

NOW = 1_800_000_000.0
FRESH = utc_text(NOW - HEARTBEAT_TIMEOUT_S)
OLD = utc_text(NOW - HEARTBEAT_TIMEOUT_S - 1)

SAY_LEASE = """
import sys
from agentloop.stores.lease import Lease
sys.stdout.write(Lease.of_this_process().to_text() + "\\n")
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", SAY_LEASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def lease_of(process: subprocess.Popen[str]) -> Lease:
    assert process.stdout is not None
    lease = Lease.from_text(process.stdout.readline())
    assert lease is not None and lease.pid == process.pid
    return lease


def test_a_lease_is_text_and_back() -> None:
    lease = Lease.of_this_process()
    assert Lease.from_text(lease.to_text()) == lease
    assert lease.to_text() == Lease.of_this_process().to_text()


@pytest.mark.parametrize("owner", ["", "host:1", "5", "[]", "{}", '{"host":"h","boot":"b","pid":0,"started":""}'])
def test_what_is_no_lease_is_none(owner: str) -> None:
    assert Lease.from_text(owner) is None


def test_the_process_itself_lives_however_old_its_heartbeat() -> None:
    assert not Lease.of_this_process().gone(heartbeat_at=OLD, now=NOW)


def test_a_killed_process_is_gone_at_once_even_before_it_is_reaped(child: subprocess.Popen[str]) -> None:
    lease = lease_of(child)
    assert not lease.gone()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert lease.gone(heartbeat_at=utc_text(time.time()))
    child.wait()
    assert lease.gone(heartbeat_at=utc_text(time.time()))


def test_a_later_process_with_the_same_pid_is_another() -> None:
    assert replace(Lease.of_this_process(), started="1").gone(heartbeat_at=FRESH, now=NOW)


@pytest.mark.parametrize("elsewhere", [{"host": "other"}, {"boot": "other"}, {"boot": ""}])
def test_elsewhere_the_heartbeat_decides(elsewhere: dict[str, str]) -> None:
    lease = replace(Lease.of_this_process(), **elsewhere)  # type: ignore[arg-type]
    assert not lease.gone(heartbeat_at=FRESH, now=NOW)
    assert lease.gone(heartbeat_at=OLD, now=NOW)
    assert lease.gone(heartbeat_at="", now=NOW)


@pytest.mark.parametrize(
    ("owner", "heartbeat_at", "gone"), [("", FRESH, True), ("me", FRESH, False), ("me", OLD, True), ("me", "", True)]
)
def test_an_owner_that_is_no_lease_is_judged_by_its_heartbeat(owner: str, heartbeat_at: str, gone: bool) -> None:
    run = RunRecord(run_id="r", session_id="s", owner=owner, heartbeat_at=heartbeat_at)
    assert owner_gone(run, NOW) is gone
