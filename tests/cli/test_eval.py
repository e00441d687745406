from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentloop.eval import SQLiteEvalStore
from agentloop.testing.llm_server import llm_server
from agentloop.testing.site import Site, serve_site
from tests.cli.conftest import finished

Run = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """
name: Sums
cases:
  - name: sum
    task: Add 2 and 3
    expect: answer=5
  - name: story
    task: Tell a story
    rubric: It is short
"""
SUM = "```javascript\nanswer(2 + 3)\n```"
STORY = "```javascript\nanswer('Once upon a time.')\n```"


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes suite and replies; gives the words of the command."""

    def write(*, suite: str = SUITE, judge: Any = "Score: 8\nRationale: short", **replies: str) -> list[str]:
        (tmp_path / "suite.yaml").write_text(suite, encoding="utf-8")
        folder = tmp_path / "replies"
        folder.mkdir(exist_ok=True)
        for name, reply in ({"sum": SUM, "story": STORY} | replies).items():
            (folder / f"{name}.jsonl").write_text(json.dumps(reply), encoding="utf-8")
        (tmp_path / "judge.jsonl").write_text(json.dumps(judge), encoding="utf-8")
        models = [f"--llm=scripted:{folder}", f"--judge-llm=scripted:{tmp_path / 'judge.jsonl'}"]
        return ["eval", str(tmp_path / "suite.yaml"), *models]

    return write


def test_a_table(agentloop: Run, files: Callable[..., list[str]]) -> None:
    done = agentloop(*files(), "-j", "2", "--ephemeral")
    assert done.returncode == 0, done.stderr
    head, first, second, last = done.stdout.splitlines()
    assert head.split() == ["case", "verdict", "score", "checks", "status", "steps", "tokens", "cost", "seconds"]
    assert first.split()[:4] == ["sum", "passed", "1/1", "completed"]
    assert second.split()[:4] == ["story", "passed", "8", "completed"]
    assert last == "2 of 2 passed, 0 failed, 0 errors"
    assert sorted(done.stderr.splitlines()) == ["passed  story", "passed  sum"]


def test_json_and_what_is_kept(agentloop: Run, files: Callable[..., list[str]], tmp_path: Path) -> None:
    done = agentloop(
        *files(sum="```javascript\nanswer(6)\n```"), "--json", "--quiet", "--results", str(tmp_path / "e.db")
    )
    assert (done.returncode, done.stderr) == (4, "")
    told = json.loads(done.stdout)
    assert told["summary"] == {"total": 2, "passed": 1, "failed": 1, "errors": 0}
    assert [each["score"] for each in told["results"]] == [None, 8.0]
    assert told["results"][0]["checks"] == [{"check": "answer=5", "passed": False, "seen": "6"}]


async def test_what_is_kept(agentloop: Run, files: Callable[..., list[str]], tmp_path: Path, repository: Path) -> None:
    code, _, _ = await finished(repository, *files(), "--results", str(tmp_path / "e.db"))
    [kept] = await SQLiteEvalStore(tmp_path / "e.db").runs("Sums")
    assert (code, kept.state, kept.passed) == (0, "completed", 2)


def test_why_a_case_failed(agentloop: Run, files: Callable[..., list[str]]) -> None:
    words = files(sum="```javascript\nanswer(6)\n```", judge="Score: 3\nRationale: \x1b[2Jdull")
    done = agentloop(*words, "--ephemeral")
    assert done.returncode == 4
    assert "sum: check failed: answer=5: 6" in done.stdout
    assert "story: 3 of 10, 7 wanted for 'It is short': \\x1b[2Jdull" in done.stdout


def test_a_judge_without_a_score_is_an_error(agentloop: Run, files: Callable[..., list[str]]) -> None:
    done = agentloop(*files(judge="Score: 7.5"), "--ephemeral")
    assert done.returncode == 1
    assert "story: the judge gave no score: '7.5' is no whole number from 0 to 10" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 of 2 passed, 0 failed, 1 errors"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["eval", "nosuch.yaml"], "nosuch.yaml"),
        (["eval"], "Missing argument"),
        (["eval", "SUITE", "--llm", "other:x"], "give scripted:PATH"),
        (["eval", "SUITE", "--llm", "scripted:x", "--llm-base-url", "http://x"], "two models"),
        (["eval", "SUITE", "--llm", "scripted:x", "--ephemeral", "--results", "x"], "--ephemeral keeps no results"),
    ],
)
def test_what_stands_in_the_way(
    agentloop: Run, files: Callable[..., list[str]], words: list[str], why: str, tmp_path: Path
) -> None:
    files()
    done = agentloop(*(str(tmp_path / "suite.yaml") if word == "SUITE" else word for word in words))
    assert done.returncode == 3
    assert why in done.stderr


def test_a_suite_that_is_wrong_names_its_line(agentloop: Run, files: Callable[..., list[str]]) -> None:
    done = agentloop(*files(suite="name: s\ncases:\n  - name: a\n    taks: b"), "--json")
    assert done.returncode == 3
    assert "suite.yaml, line 4: 'taks' is not known here" in json.loads(done.stdout)["error"]


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


async def test_the_shop_with_a_model_over_the_wire(repository: Path, site: Site, tmp_path: Path) -> None:
    suite = tmp_path / "shop.yaml"
    suite.write_text("name: s\ncases: [{name: a, task: title, url: /shop/, expect: 'answer~=shop', judge: on}]")
    replies = ["```javascript\nfunction run() { answer(browser.title()); }\n```", "Score: 9\nRationale: it is"]
    async with llm_server(replies) as server:
        words = ["eval", str(suite), "--base-url", site.url, "--llm-base-url", server.base_url, "--ephemeral", "--json"]
        code, out, err = await finished(repository, *words)
    [result] = json.loads(out)["results"]
    assert (code, result["passed"], result["score"]) == (0, True, 9.0), err
