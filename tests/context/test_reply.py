from __future__ import annotations

from typing import Any

import pytest

from agentloop.context.reply import Answer, Empty, Reply, Script, StreamFilter, Truncated, parse_reply
from agentloop.llm.base import FinishReason

RUN = "function run(args) {\n  return { n: 1 };\n}"


def fenced(code: str = RUN, info: str = "javascript") -> str:
    return f"```{info}\n{code}\n```"


def script(content: str, finish_reason: FinishReason = "stop") -> Script:
    reply = parse_reply(content, finish_reason)
    assert isinstance(reply, Script), reply
    return reply


@pytest.mark.parametrize(
    "info", ["javascript", "js", "JavaScript", "JS", "js title=step.js", "js  ", 'javascript {"a":1}']
)
def test_a_script_block_in_any_spelling_is_a_script(info: str) -> None:
    assert script(fenced(info=info)) == Script(code=RUN)


@pytest.mark.parametrize(
    "content",
    [
        f"I will look first.\n\n{fenced()}\nThen I go on.",
        f"Here: {fenced()}",
        f"1. {fenced()}",
        f"  {fenced()}  ",
        f"````js\n{RUN}\n````",
        f"```js\n{RUN}```",
        f"```js\n{RUN}``` \nthat is all",
        f"```js {RUN}\n```",
        f'```json\n{{"a": 1}}\n```\n{fenced()}',
        f"Text in ```ticks``` first.\n{fenced()}",
        f"{fenced(code='')}\n{fenced()}",
    ],
)
def test_what_stands_around_a_script_does_not_matter(content: str) -> None:
    assert script(content) == Script(code=RUN)


def test_crlf_and_export_are_left_to_the_engine() -> None:
    code = "export function run(args) {\r\n  return 1;\r\n}"
    assert script(f"```js\r\n{code}\r\n```\r\n") == Script(code=code)


def test_the_first_of_two_scripts_wins_and_a_note_says_so() -> None:
    found = script(f"{fenced()}\n{fenced('function run() { return 2 }')}")
    assert found.code == RUN
    assert len(found.notes) == 1 and "only the first" in found.notes[0]


@pytest.mark.parametrize(
    "code", ["click('Buy', 3)", "const running = 1;\nlog(running)", "run == 1", "function runs() {}"]
)
def test_statements_without_run_are_bare(code: str) -> None:
    assert script(fenced(code)) == Script(code=code, bare=True)


@pytest.mark.parametrize(
    "code", ["const run = (args) => 1", "run = async () => 2", "async function run() {}", "function* run() {}"]
)
def test_every_way_to_define_run_counts(code: str) -> None:
    assert not script(fenced(code)).bare


@pytest.mark.parametrize("head", ["", "async ", "export ", "export default async "])
def test_code_without_a_fence_is_run_with_a_note(head: str) -> None:
    found = script(f"\n{head}{RUN}\n")
    assert found.code == head + RUN
    assert len(found.notes) == 1 and "without a fence" in found.notes[0]


def test_code_that_only_closes_a_fence_is_run_without_it() -> None:
    assert script(f"{RUN}\n```").code == RUN


@pytest.mark.parametrize("content", ["", "  \n\t", "```js\n```", "\n```javascript\n\n```\n"])
def test_nothing_is_empty(content: str) -> None:
    assert parse_reply(content) == Empty()


@pytest.mark.parametrize(
    "content",
    [
        "It costs 12 euros.",
        '  {"price": 12}\n',
        '```json\n{"price": 12}\n```',
        "Run this:\n```python\nprint(1)\n```\nand that.",
        "DONE: nothing",
        "I am DONE",
        "done\nx",
        "```json\n{}\n```\nDONE\nlate",
        "Wrap it in ``` fences, please.",
        "A stray fence\n```",
    ],
)
def test_a_reply_without_script_is_the_answer_as_it_stands(content: str) -> None:
    assert parse_reply(content) == Answer(text=content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("DONE", ""),
        ("  DONE \n", ""),
        ("DONE\n 12 euros \n", "12 euros"),
        ("Thinking.\nDONE  \r\n12 euros", "12 euros"),
        ("All bought.\nDONE", ""),
        ("DONE\none\nDONE\ntwo", "one\nDONE\ntwo"),
        (f"DONE\nUse this:\n{fenced()}", f"Use this:\n{fenced()}"),
    ],
)
def test_what_follows_a_done_line_is_the_answer(content: str, text: str) -> None:
    assert parse_reply(content) == Answer(text=text)


def test_done_inside_or_behind_a_script_does_not_count() -> None:
    code = "function run() {\n  const text = `\nDONE\n`;\n  return text;\n}"
    assert script(fenced(code)).code == code
    assert script(f"{fenced()}\nDONE\nfinished").code == RUN
    assert script(code).code == code


@pytest.mark.parametrize(
    "content",
    ["```js\nfunction run(args) {", "Text\n```javascript", '```json\n{"a": 1', "DONE\nlike this:\n```python\nprint("],
)
def test_a_fence_that_never_closes_is_a_cut_reply(content: str) -> None:
    assert parse_reply(content) == Truncated(reason="its code fence was never closed")


@pytest.mark.parametrize("content", ["", "It costs", "DONE\nIt costs", "```js\nfunction run(", RUN, "```js\n```"])
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_cut_by_the_server_is_never_an_answer(content: str, reason: FinishReason) -> None:
    assert isinstance(parse_reply(content, reason), Truncated)


def test_a_whole_script_counts_although_the_prose_behind_it_was_cut() -> None:
    found = script(f"{fenced()}\nNow I wi", "length")
    assert found.code == RUN
    assert len(found.notes) == 1 and "cut after" in found.notes[0]


# The live filter

STREAMED: list[Any] = [
    "It costs 12 euros.",
    "Short",
    "DONE\n12 euros\n\nand 3 cents \n",
    "DONE  \n12",
    "  DONE",
    "Thinking.\nDONE\n12",
    "DONE\nUse:\n```js\nlog(1)\n```\nso",
    fenced(),
    f"A long explanation of what I am about to do now, over more than one line.\n\n{fenced()}",
    f"Prose. {fenced()}",
    RUN,
    f"{RUN}\nDONE\nx",
    '```json\n{"a": 1}\n```',
    "```js\nfunction run(",
    "",
]


@pytest.mark.parametrize("content", STREAMED)
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_the_stream_gives_exactly_the_answer(content: str, size: int) -> None:
    stream = StreamFilter()
    pieces = [piece for start in range(0, len(content), size) for piece in stream.feed(content[start : start + size])]
    pieces += stream.finish()
    reply: Reply = parse_reply(content)
    assert "".join(pieces) == (reply.text if isinstance(reply, Answer) else "")
    assert all(pieces)


@pytest.mark.parametrize(
    "content",
    [
        "`" * 1_000_000 + "a`",
        "```" + " " * 1_000_000 + "`",
        "``` a`" * 300_000,
        "function" + " " * 1_000_000 + "walk",
        "```js\nfunction" + " " * 1_000_000 + "walk\n```",
        "x" * 3_000_000,
        "DONE\nx" + " " * 3_000_000 + "y",
        "x\n" * 200_000,
    ],
)
def test_a_huge_reply_is_read_in_a_moment_whatever_is_in_it(content: str) -> None:
    """Where the work grew with the square of the length, this test would not come to an end."""
    reply = parse_reply(content)
    for size in (24, len(content)):
        stream = StreamFilter()
        pieces = [each for at in range(0, len(content), size) for each in stream.feed(content[at : at + size])]
        assert "".join([*pieces, *stream.finish()]) == (reply.text if isinstance(reply, Answer) else "")


def test_after_done_text_flows_at_once() -> None:
    stream = StreamFilter()
    assert stream.feed("DONE \nIt ") == ["It"]
    assert stream.feed("costs") == [" costs"]
    assert stream.finish() == []


def test_a_cut_answer_is_not_given_out_at_the_end() -> None:
    stream = StreamFilter()
    stream.feed("It costs")
    assert stream.finish("length") == []
