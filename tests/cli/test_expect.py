"""`browse --expect`: a run that answered is judged while its page is still there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentloop.testing.site import Site, serve_site
from tests.cli.conftest import finished

Run = Callable[..., subprocess.CompletedProcess[str]]
Replies = Callable[..., str]

ANSWER = "```javascript\nfunction run(args) { answer(browser.title()); }\n```"


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


async def test_checks_that_are_met(repository: Path, site: Site, replies: Replies) -> None:
    checks = ["--expect", "url=/shop/", "--expect", "answer~=shop", "--expect", "count:h1=1"]
    words = ["browse", "title?", "--url", f"{site.url}/shop/", "--llm", replies(ANSWER), "--json", "--ephemeral"]
    code, out, _ = await finished(repository, *words, *checks)
    result = json.loads(out.splitlines()[-1])
    assert (code, result["status"]) == (0, "completed")
    assert [(check["check"], check["passed"]) for check in result["checks"]] == [
        ("url=/shop/", True),
        ("answer~=shop", True),
        ("count:h1=1", True),
    ]


async def test_a_check_that_is_not_met(repository: Path, site: Site, replies: Replies) -> None:
    """The answer is there all the same; exit 4 and the reason say which check it was."""
    words = ["browse", "title?", "--url", f"{site.url}/shop/", "--llm", replies(ANSWER), "--ephemeral"]
    code, out, err = await finished(repository, *words, "--expect", "title~=shop", "--expect", "text=Sold out for ever")
    assert code == 4 and out.strip()
    assert "a check failed: text=Sold out for ever" in err.splitlines()[-1]
    assert "title~=shop" not in err.splitlines()[-1]


def test_what_is_no_check_is_refused_before_anything_is_opened(agentloop: Run, replies: Replies) -> None:
    done = agentloop("browse", "x", "--expect", "titel=x", "--llm", replies(ANSWER))
    assert done.returncode == 3
    assert "'titel=x' is no check; the forms are: url=" in done.stderr
