"""What the library logs in the course of a run has no secret of it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from agentloop.guard.logs import logger, redacting
from agentloop.guard.redact import Redactor

VALUE = "correct-horse-7"


def test_lines_and_traces_lose_it(caplog: pytest.LogCaptureFixture) -> None:
    log = logger("agentloop.test")
    assert logger("agentloop.test") is log and len(log.filters) == 1
    with redacting(Redactor([(VALUE, "[x]")])):
        log.warning("it failed: %s %r", VALUE, [VALUE])
        try:
            raise ValueError(f"bad {VALUE}")
        except ValueError:
            log.exception("with %s", VALUE)
    assert VALUE not in caplog.text
    assert "it failed: [x] ['[x]']" in caplog.text and "ValueError: bad [x]" in caplog.text
    log.warning("outside of a run %s", VALUE)
    assert VALUE in caplog.text


async def test_each_run_has_its_own(caplog: pytest.LogCaptureFixture) -> None:
    log = logger("agentloop.test")

    async def run(mine: str, other: str) -> None:
        with redacting(Redactor([(mine, "[mine]")])):
            await asyncio.sleep(0)
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.to_thread(log.warning, "%s %s", mine, other))

    async with asyncio.TaskGroup() as group:
        group.create_task(run("first-secret", "plain"))
        group.create_task(run("second-secret", "plain"))
    assert "secret" not in caplog.text.replace("[mine]", "")
    assert [record.getMessage() for record in caplog.records] == ["[mine] plain"] * 2
    assert logging.getLogger("agentloop.test").filters
