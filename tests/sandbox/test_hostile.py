"""Every hostile script ends as it should, and the sandbox goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentloop.sandbox import Limits, open_sandbox
from agentloop.sandbox.host import ProcessSandbox
from benchmarks.hostile import ARGS, CASES, ENGINE, Case, matches, pack, shown


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[ProcessSandbox]:
    async with open_sandbox(packs=[pack()], limits=Limits(calls=1000), engine=ENGINE) as sandbox:
        yield sandbox


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_hostile_script(shared: ProcessSandbox, case: Case) -> None:
    outcome = await shared.run(case.script, ARGS, wall_s=case.wall_s)

    expected = case.expected + (case.legacy if ENGINE == "legacy" else ())
    assert any(matches(outcome, one) for one in expected), shown(outcome)
    assert case.warns in "\n".join(outcome.warnings)
    assert case.logs is None or outcome.logs == case.logs
    after = await shared.run(
        "function run(a) { return [h(a.n), ({}).polluted === undefined, typeof [].map] }", '{"n": 1}'
    )
    assert after.value_json == '[1,true,"function"]'
