"""A suite against a scripted model: in real browsers on the fixture shop, and without one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentloop import Scripted
from agentloop.errors import InvalidInput
from agentloop.eval import Case, MemoryEvalStore, Suite, read_suite
from agentloop.evaluating import EvaluateOptions, evaluate
from agentloop.guard.redact import Redactor
from agentloop.llm.base import LLM
from agentloop.records import Status
from agentloop.testing.site import Site, serve_site

SUITE = """
name: Shop
defaults:
  url: /shop/
  limits: {iterations: 8}
cases:
  - name: buys
    task: Buy two lamps
    expect: ["url~=/shop/order", "answer~=Order", "text=Ann Lee"]
    rubric:
      - Names the order
      - {criterion: Names the total, min: 9}
  - name: gives-up
    task: Find a unicorn
    expect: ["title~=shop", "text=Unicorn"]
"""


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


async def test_a_suite_in_the_shop(site: Site, repository: Path) -> None:
    bought = [json.loads(line) for line in (repository / "fixtures/replies/shop.jsonl").read_text().splitlines()]
    replies = {"buys": bought, "gives-up": ["```javascript\nanswer('none there')\n```"]}
    judge = Scripted(["Score: 9\nRationale: it does", "Score: 10\nRationale: exactly"])

    def llm(case: Case) -> LLM:
        return Scripted(replies[case.name])

    store = MemoryEvalStore()
    suite = read_suite(SUITE, base_url=site.url)
    run = await evaluate(suite, llm=llm, judge_llm=judge, options=EvaluateOptions(jobs=2), store=store)
    buys, gives_up = run.results
    assert (buys.passed, buys.error, buys.score) == (True, "", 9.5)
    assert [check["passed"] for check in buys.checks] == [True] * 3
    assert (gives_up.passed, gives_up.error, gives_up.status) == (False, "", Status.CHECK_FAILED)
    assert [check["passed"] for check in gives_up.checks] == [True, False]
    assert await store.get(run.id) == run
    read = judge.requests[0].messages[1].text
    assert "Names the order" in read and "Place order" in read and buys.answer in read


async def test_without_a_browser_each_case_has_a_session_of_its_own() -> None:
    remembers = "```javascript\nfunction run(args) { const n = (args.n || 0) + 1; answer(`n is ${n}`); }\n```"
    cases = tuple(Case(name=name, task="count", expect=("answer=n is 1",)) for name in "abc")
    run = await evaluate(Suite(name="s", cases=cases), llm=Scripted([remembers] * 3))
    assert [done.passed for done in run.results] == [True] * 3
    assert len({done.run_id for done in run.results}) == 3


async def test_secrets_stay_out_of_results_and_of_the_judges_prompt() -> None:
    secret = "tr0ub4dor"
    judge = Scripted(["Score: 8\nRationale: fine"])
    suite = Suite(name="s", cases=(Case(name="a", task="tell", judged=True),))
    llm = Scripted([f"```javascript\nfunction run() {{ log('{secret}'); answer('{secret}'); }}\n```"])
    options = EvaluateOptions(redactor=Redactor.from_secrets({"key": secret}))
    run = await evaluate(suite, llm=llm, judge_llm=judge, options=options)
    assert run.results[0].answer == "[redacted:secret.key]" and run.passed == 1
    assert secret not in repr(run) and secret not in repr(judge.requests)


async def test_a_model_that_fails_is_an_error_of_its_case() -> None:
    cases = (Case(name="a", task="x"), Case(name="b", task="x"))
    run = await evaluate(Suite(name="s", cases=cases), llm=Scripted(["```javascript\nanswer(1)\n```"]))
    used_up = "the model failed: the scripted replies are used up: the script has 1 reply, and call 2 wants another"
    assert [(done.passed, done.error) for done in run.results] == [(True, ""), (False, used_up)]


async def test_a_pack_that_is_not_there_is_told_before_anything_runs() -> None:
    llm = Scripted([])
    with pytest.raises(InvalidInput, match="nosuch"):
        await evaluate(Suite(name="s", cases=(Case(name="a", task="x", packs=("nosuch",)),)), llm=llm)
    assert llm.requests == []
