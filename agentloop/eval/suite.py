"""Suites as YAML files: one format for checks alone and for the judge.

name: Shop
base_url: https://shop.example      # what a url that begins with / belongs to
judge: {model: big-model}           # optional: which model judges
defaults:                           # what each case has unless it says otherwise
  limits: {iterations: 12, wall: 2m, cost: 0.05}
cases:
  - name: cheapest-socks
    task: Which socks are cheapest?
    url: /
    allow: ["https://*.shop.example"]
    expect: ["answer~=Wool socks", "url~=/socks"]
    rubric:                         # the judge scores each from 0 to 10
      - Names one pair of socks
      - {criterion: States the price, min: 9}
    judge: on                       # without it: on for a rubric, or when there is nothing to expect
    packs: []                       # what else scripts may call, where there is no url
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urljoin

from agentloop.errors import AgentLoopError, InvalidInput
from agentloop.eval.base import MIN_SCORE, Case, Criterion, Suite
from agentloop.eval.yaml_file import Entry, read_yaml
from agentloop.guard.network.pattern import Pattern, for_browser
from agentloop.guard.network.url import parse_url
from agentloop.records import Prices, RunLimits
from agentloop.report.checks import Check

__all__ = ["load_suite", "read_suite"]

T = TypeVar("T")

_FILE_BYTES = 1 << 20
_SETTINGS = ("url", "allow", "expect", "rubric", "judge", "limits", "packs")
_WALL = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_COUNTS = ("iterations", "prompt_tokens", "completion_tokens", "carry_bytes", "primitive_calls")


def load_suite(path: str | os.PathLike[str], *, base_url: str | None = None) -> Suite:
    """The suite in a YAML file. `base_url` replaces the file's own.

    Raises `InvalidInput` with file, line and what to write instead.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(_FILE_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the suite {file} cannot be read: {error}") from error
    if len(data) > _FILE_BYTES:
        raise InvalidInput(f"the suite {file} is larger than {_FILE_BYTES} bytes: split it")
    return read_suite(text, source=str(file), base_url=base_url)


def read_suite(text: str, *, source: str = "suite", base_url: str | None = None) -> Suite:
    """The suite in YAML text; `source` names it in errors. Raises `InvalidInput`."""
    top = read_yaml(text, source=source)
    given = top.mapping("name", "base_url", "judge", "defaults", "cases", required=("name", "cases"))
    base = base_url or (given["base_url"].text() if "base_url" in given else None)
    defaults = given["defaults"].mapping(*_SETTINGS) if "defaults" in given else {}
    cases = [_case(entry, defaults, base) for entry in given["cases"].items()]
    if not cases:
        raise given["cases"].wrong("a suite needs at least one case")
    _check_names(given["cases"].items(), cases)
    judge = given["judge"].mapping("model") if "judge" in given else {}
    model = judge["model"].text() if "model" in judge else ""
    return Suite(name=given["name"].text(), cases=tuple(cases), judge_model=model)


def _check_names(entries: Sequence[Entry], cases: Sequence[Case]) -> None:
    seen = set[str]()
    for entry, case in zip(entries, cases, strict=True):
        if case.name in seen:
            raise entry.wrong(f"there are two cases called {case.name!r}: give each a name of its own")
        seen.add(case.name)


def _case(entry: Entry, defaults: dict[str, Entry], base: str | None) -> Case:
    own = entry.mapping("name", "task", *_SETTINGS, required=("name", "task"))
    given = defaults | own
    expect = tuple(_expected(each) for each in _items(given, "expect"))
    rubric = tuple(_criterion(each) for each in _items(given, "rubric"))
    url = _url(given["url"], base) if "url" in given else None
    if url is None and any(Check.parse(check).needs_page for check in expect):
        raise given["expect"].wrong("without a url there is no page: only answer= and answer~= can be checked")
    if url is not None and _items(given, "packs"):
        raise given["packs"].wrong("a case with a url is done in a browser alone: leave packs or the url out")
    return Case(
        name=own["name"].text(),
        task=own["task"].text(),
        url=url,
        allow=tuple(_pattern(each) for each in _items(given, "allow")) or None,
        expect=expect,
        rubric=rubric,
        judged=given["judge"].flag() if "judge" in given else bool(rubric) or not expect,
        limits=_limits(given["limits"]) if "limits" in given else RunLimits(),
        packs=tuple(each.text() for each in _items(given, "packs")),
    )


def _items(given: dict[str, Entry], name: str) -> list[Entry]:
    return given[name].items() if name in given else []


def _expected(entry: Entry) -> str:
    return _accepted(entry, Check.parse, entry.text()).text


def _pattern(entry: Entry) -> str:
    return str(_accepted(entry, lambda text: for_browser(Pattern.parse(text)), entry.text()))


def _url(entry: Entry, base: str | None) -> str:
    text = entry.text()
    if text.startswith("/") and base is None:
        raise entry.wrong(f"{text!r} has no origin: give the suite a base_url, or the command --base-url")
    url = urljoin(base or "", text)
    _accepted(entry, parse_url, url)
    return url


def _accepted(entry: Entry, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except AgentLoopError as error:
        raise entry.wrong(str(error)) from error


def _criterion(entry: Entry) -> Criterion:
    if entry.is_scalar:
        return Criterion(entry.text())
    given = entry.mapping("criterion", "min", required=("criterion",))
    least = given["min"].whole(0, 10) if "min" in given else MIN_SCORE
    return Criterion(given["criterion"].text(), least)


def _limits(entry: Entry) -> RunLimits:
    given = entry.mapping(*_COUNTS, "wall", "cost", "prices")
    counts = {name: given[name].whole(1) for name in _COUNTS if name in given}
    amounts = {"cost": given["cost"].number()} if "cost" in given else {}
    wall = {"wall_s": _seconds(given["wall"])} if "wall" in given else {}
    prices = {"prices": _prices(given["prices"])} if "prices" in given else {}
    return RunLimits(**counts, **amounts, **wall, **prices)  # type: ignore[arg-type]


def _prices(entry: Entry) -> Prices:
    given = entry.mapping("prompt", "completion", required=("prompt", "completion"))
    return Prices(prompt=given["prompt"].number(), completion=given["completion"].number())


def _seconds(entry: Entry) -> float:
    match = _WALL.fullmatch(entry.text())
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise entry.wrong(f"{entry.text()!r} is no length of time: give seconds, or a number with ms, s, m or h")
    return seconds
