from __future__ import annotations

from pathlib import Path

import pytest

from agentloop.errors import InvalidInput
from agentloop.eval import Case, Criterion, load_suite, read_suite
from agentloop.records import Prices, RunLimits

WHOLE = """
name: Shop
base_url: https://shop.example
judge: {model: big}
defaults:
  allow: "*.shop.example"
  limits: {iterations: 12, wall: 2m, cost: 0.05, prices: {prompt: 1.5, completion: 6}}
cases:
  - name: socks
    task: Which socks
      are cheapest?
    url: /socks?x=1
    expect: ["answer~=Wool", 'count:[a="b"]=3']
    rubric:
      - Names one pair
      - {criterion: States the price, min: 9}
  - name: 7
    task: Add 2 and 3
    allow: []
    limits:
    judge: off
    packs: [workspace]
"""


def test_a_whole_suite() -> None:
    suite = read_suite(WHOLE)
    assert (suite.name, suite.judge_model) == ("Shop", "big")
    limits = RunLimits(iterations=12, wall_s=120.0, cost=0.05, prices=Prices(prompt=1.5, completion=6))
    assert suite.cases == (
        Case(
            name="socks",
            task="Which socks are cheapest?",
            url="https://shop.example/socks?x=1",
            allow=("*.shop.example",),
            expect=("answer~=Wool", 'count:[a="b"]=3'),
            rubric=(Criterion("Names one pair", 7), Criterion("States the price", 9)),
            judged=True,
            limits=limits,
        ),
        Case(name="7", task="Add 2 and 3", judged=False, limits=limits, packs=("workspace",)),
    )


@pytest.mark.parametrize(
    ("case", "judged"),
    [("", True), ("expect: answer~=3", False), ("expect: answer=3, judge: on", True), ("rubric: Good", True)],
)
def test_when_a_judge_is_asked(case: str, judged: bool) -> None:
    text = f"{{name: s, cases: [{{name: a, task: b{', ' if case else ''}{case}}}]}}"
    assert read_suite(text).cases[0].judged is judged


def test_the_base_url_of_the_command_wins() -> None:
    assert read_suite(WHOLE, base_url="http://127.0.0.1:8000").cases[0].url == "http://127.0.0.1:8000/socks?x=1"


CASE = "name: s\ncases:\n  - name: a\n    task: b\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 0, "is empty"),
        ("name: s\n  cases: [", 2, "no YAML"),
        ("name: s\n---\nname: t", 2, "no YAML"),
        ("- a", 1, "must have names and values"),
        ("name: s", 1, "'cases' is missing"),
        ("name: s\ncases: []", 2, "at least one case"),
        ("name: s\ncases: {a: b}", 2, "must be a list"),
        ("name: s\ncases:\n  - task: b", 3, "'name' is missing"),
        ("name: s\ncases:\n  - name: a\n    task:", 3, "'task' is missing"),
        ("name: s\ncases:\n  - name: a\n    task: '  '", 4, "must be text, not blank"),
        ("name: s\ncases:\n  - name: [a]\n    task: b", 3, "must be text, not a list"),
        (f"{CASE}    taks: c", 5, "'taks' is not known here; there are: name, task, url"),
        (f"{CASE}    task: c", 5, "'task' is there twice"),
        (f"{CASE}  - name: a\n    task: c", 5, "two cases called 'a'"),
        (f"{CASE}    expect:\n      - answer=1\n      - titel=x", 7, "'titel=x' is no check; the forms are"),
        (f"{CASE}    expect: url=/x", 5, "without a url there is no page"),
        (f"{CASE}    url: /x", 5, "'/x' has no origin: give the suite a base_url"),
        (f"{CASE}    url: 'ftp://x'", 5, "ftp"),
        (f"{CASE}    url: https://x.example\n    packs: [browser]", 6, "leave packs or the url out"),
        (f"{CASE}    allow: ['http://a b']", 5, ""),
        (f"{CASE}    allow: ['x.example/path']", 5, "write x.example"),
        (f"{CASE}    judge: maybe", 5, "must be on or off, not text"),
        (f"{CASE}    rubric:\n      - {{criterion: c, min: 7.5}}", 6, "a whole number from 0 to 10, not 7.5"),
        (f"{CASE}    rubric:\n      - {{criterion: c, min: 11}}", 6, "a whole number from 0 to 10, not 11"),
        (f"{CASE}    rubric:\n      - {{min: 3}}", 6, "'criterion' is missing"),
        (f"{CASE}    limits: {{iterations: 0}}", 5, "a whole number, 1 or more, not 0"),
        (f"{CASE}    limits: {{cost: -1}}", 5, "a number, 0 or more, not -1"),
        (f"{CASE}    limits: {{cost: .nan}}", 5, "a number, 0 or more, not .nan"),
        (f"{CASE}    limits: {{wall: soon}}", 5, "'soon' is no length of time"),
        (f"{CASE}    limits: {{time: 5}}", 5, "'time' is not known here"),
        (f"{CASE}    task: !!python/object:os.system x", 5, ""),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_suite(text, source="s.yaml")
    assert str(refused.value).startswith(f"s.yaml, line {line}: " if line else "s.yaml ")
    assert why in str(refused.value)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(CASE, encoding="utf-8")
    assert load_suite(path).name == "s"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_suite(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_suite(tmp_path / "none.yaml")
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(InvalidInput, match="split it"):
        load_suite(path)


def test_yaml_makes_no_objects() -> None:
    with pytest.raises(InvalidInput, match="must be text, not something else"):
        read_suite("name: !!python/object/apply:os.getcwd []\ncases: [{name: a, task: b}]".replace(" []", " x"))
