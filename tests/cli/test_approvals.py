from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agentloop.capabilities import BuildContext, Capability
from agentloop.cli.approvals import Approvals
from agentloop.cli.options import ApproveMode
from agentloop.errors import InvalidInput, NobodyThere
from agentloop.guard.grants import ONCE, Grant, Question, QuestionKind
from agentloop.llm.scripted import Scripted
from agentloop.loop import Loop
from agentloop.packs.base import Pack, Primitive
from agentloop.records import Json, RunRequest
from agentloop.stores.sqlite import SQLiteStore


class Typed:
    """Implements `Lines` with what somebody types."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)
        self.discarded = 0

    async def next(self) -> str | None:
        await asyncio.sleep(0)
        return self.left.pop(0) if self.left else None

    def discard(self) -> None:
        self.discarded += 1


class Terminal:
    """Approvals with what was typed, and everything that was written."""

    def __init__(self, mode: ApproveMode, *typed: str) -> None:
        self.lines = Typed(*typed)
        self.written = ""
        self.held = 0
        self.approvals = Approvals(mode, lines=self.lines, write=self._write, hold=self._hold)

    def _write(self, text: str) -> None:
        assert self.held, "the progress line would run over the question"
        self.written += text

    @contextmanager
    def _hold(self) -> Iterator[None]:
        self.held += 1
        yield
        self.held -= 1


def question(
    message: str = "Allow the agent to access a.example?",
    *,
    session: str = "s",
    kind: QuestionKind = "confirm",
    options: tuple[str, ...] = (),
    subject: str = "a.example",
) -> Question:
    grant = Grant(kind="host", subject=subject) if kind == "confirm" else None
    return Question(id="q", session_id=session, run_id="r", kind=kind, message=message, options=options, grant=grant)


@pytest.mark.parametrize(("mode", "answer"), [("auto", ONCE), ("deny", False)])
async def test_auto_and_deny_answer_without_a_word(mode: ApproveMode, answer: bool | str) -> None:
    terminal = Terminal(mode)
    assert await terminal.approvals(question()) == answer
    assert (terminal.written, terminal.lines.discarded) == ("", 0)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", True),
        ("Y", True),
        (" yes ", True),
        ("YES", True),
        ("", False),
        ("n", False),
        ("yep", False),
        ("да", False),
    ],
)
async def test_only_a_clear_yes_approves(typed: str, answer: bool) -> None:
    terminal = Terminal("prompt", typed)
    assert await terminal.approvals(question()) is answer
    assert terminal.written == "\nAllow the agent to access a.example? [y/N] "
    assert terminal.lines.discarded == 1


@pytest.mark.parametrize(
    ("typed", "answer"), [("a", "always under src/"), (" ALWAYS ", "always under src/"), ("y", True), ("", False)]
)
async def test_a_wider_yes_is_offered_where_there_is_one(typed: str, answer: bool | str) -> None:
    terminal = Terminal("prompt", typed)
    asked = replace(question("May it?"), options=("always under src/",))
    assert await terminal.approvals(asked) == answer
    assert terminal.written == "\nMay it?\n  a: always under src/\n[y/a/N] "


async def test_always_is_no_yes_where_it_was_not_offered() -> None:
    assert await Terminal("prompt", "a").approvals(question()) is False


async def test_what_auto_allows_is_asked_about_later(tmp_path: Path) -> None:
    database = tmp_path / "s.db"
    assert await ask_in(database, "s", Terminal("auto"), times=2) == "true,true"
    later = Terminal("prompt", "n")
    assert await ask_in(database, "s", later) == "false"
    assert later.written.count("[y/N]") == 1


async def test_the_end_of_input_is_no_refusal() -> None:
    terminal = Terminal("prompt")
    with pytest.raises(NobodyThere, match="standard input has ended"):
        await terminal.approvals(question())
    terminal.lines.left.append("y")
    assert await terminal.approvals(question()) is True


async def test_a_refusal_holds_for_this_process_in_its_session_only() -> None:
    terminal = Terminal("prompt", "n", "y", "y")
    assert await terminal.approvals(question()) is False
    assert await terminal.approvals(question("asked in other words")) is False
    assert terminal.written.count("[y/N]") == 1
    assert await terminal.approvals(question(session="another")) is True
    assert await terminal.approvals(question(subject="b.example")) is True


async def test_a_question_cannot_move_the_cursor_or_turn_the_text_around() -> None:
    terminal = Terminal("prompt", "n")
    await terminal.approvals(question("Allow \x1b[2K\rfoo\u202e txt.exe\n[y/N] y?"))
    assert terminal.written == "\nAllow \\x1b[2K\\x0dfoo\\u202e txt.exe\\x0a[y/N] y? [y/N] "


async def test_questions_wait_for_each_other() -> None:
    terminal = Terminal("prompt", "y", "n")
    async with asyncio.TaskGroup() as group:
        first = group.create_task(terminal.approvals(question(subject="a")))
        second = group.create_task(terminal.approvals(question(subject="b")))
    assert (first.result(), second.result()) == (True, False)


@pytest.mark.parametrize(("typed", "chosen"), [("", "left"), ("1", "left"), (" 2 ", "right\x1b")])
async def test_a_choice_is_a_number(typed: str, chosen: str) -> None:
    terminal = Terminal("prompt", typed)
    assert await terminal.approvals(question("Which?", kind="choice", options=("left", "right\x1b"))) == chosen
    assert terminal.written == "\nWhich?\n  1. left\n  2. right\\x1b\n[1] "


@pytest.mark.parametrize("typed", ["0", "3", "-1", "left", "²"])
async def test_a_number_beyond_the_list_is_an_error(typed: str) -> None:
    terminal = Terminal("prompt", typed)
    with pytest.raises(InvalidInput, match="none of the 2 options"):
        await terminal.approvals(question("Which?", kind="choice", options=("left", "right")))


async def test_a_text_is_the_line() -> None:
    assert await Terminal("prompt", " as it is ").approvals(question("Name?", kind="text")) == " as it is "


@pytest.mark.parametrize("mode", ["auto", "deny"])
@pytest.mark.parametrize("kind", ["choice", "text"])
async def test_words_need_a_person(mode: ApproveMode, kind: QuestionKind) -> None:
    with pytest.raises(NobodyThere, match=f"--approve {mode}"):
        await Terminal(mode).approvals(question(kind=kind, options=("a",)))


# With a run and a database


def asking() -> Capability:
    """A pack whose one function needs leave."""

    async def build(context: BuildContext) -> list[Pack]:
        async def enter(host: str) -> Json:
            assert context.ask is not None
            return await context.ask(f"Allow the agent to access {host}?", grant=Grant(kind="host", subject=host))

        return [Pack(name="door", description="doors", primitives={"enter": Primitive(enter)})]

    return Capability(name="door", description="doors", build=build)


async def ask_in(database: Path, session: str, terminal: Terminal, *, times: int = 1) -> str:
    """One run of a process of its own, as far as the store is concerned; its answer."""
    script = f"const got = []; for (let i = 0; i < {times}; i++) got.push(enter('a.example')); answer(got.join())"
    reply = f"```js\nfunction run() {{ {script} }}\n```"
    async with Loop(
        llm=Scripted([reply]), store=SQLiteStore(database), capabilities=[asking()], on_ask=terminal.approvals
    ) as loop:
        return (await loop.run(RunRequest("go in", session=session))).final_text


async def test_an_approval_lasts_in_its_session_until_it_is_revoked(tmp_path: Path) -> None:
    database = tmp_path / "s.db"
    terminal = Terminal("prompt", "y")
    assert await ask_in(database, "first", terminal, times=3) == "true,true,true"
    assert terminal.written.count("[y/N]") == 1
    later = Terminal("prompt")
    assert await ask_in(database, "first", later) == "true"
    assert later.written == ""
    other = Terminal("prompt", "n")
    assert await ask_in(database, "second", other) == "false"
    async with SQLiteStore(database) as store:
        assert await store.revoke_grants("first") == 1
    again = Terminal("prompt", "n")
    assert await ask_in(database, "first", again) == "false"
    assert again.written.count("[y/N]") == 1


async def test_a_refusal_lasts_across_runs_of_a_process_and_is_not_kept(tmp_path: Path) -> None:
    database = tmp_path / "s.db"
    terminal = Terminal("prompt", "n")
    assert await ask_in(database, "s", terminal, times=2) == "false,false"
    assert await ask_in(database, "s", terminal) == "false"
    assert terminal.written.count("[y/N]") == 1
    later = Terminal("prompt", "y")
    assert await ask_in(database, "s", later) == "true"
