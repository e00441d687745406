from __future__ import annotations

from typing import Any

import click
import pytest

from agentloop.cli.options import TaskOptions, duration

GIVEN: dict[str, Any] = {
    "llm": None,
    "llm_base_url": None,
    "model": None,
    "packs": (),
    "max_steps": None,
    "timeout": None,
    "json": False,
    "json_stream": False,
    "quiet": False,
    "ephemeral": False,
}


def read(*task: str, **given: Any) -> TaskOptions:
    return TaskOptions.read(task, {**GIVEN, **given})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("1h", 3600), ("500ms", 0.5), (" 2 M ", 120)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "5 minutes", "nan", "inf", "1e3", "0s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no length of time"):
        duration(text)


def test_words_are_joined_and_limits_read() -> None:
    options = read("buy", "two lamps ", max_steps=3, timeout=1.5)
    assert options.message == "buy two lamps"
    assert (options.limits.iterations, options.limits.wall_s) == (3, 1.5)
    assert (read("x").limits.iterations, read("x").limits.wall_s) == (20, 300)


def test_pack_names_come_by_commas_and_once_each() -> None:
    assert read("x", packs=("fetch, ai", "", "ai,exec,")).packs == ("fetch", "ai", "exec")


@pytest.mark.parametrize(
    ("given", "words"),
    [({"json_stream": True}, "needs --json"), ({"llm": "scripted:x", "llm_base_url": "http://x"}, "two models")],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        read("x", **given)
