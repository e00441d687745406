from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agentloop.cli.main import main
from agentloop.guard.grants import Grant
from agentloop.records import Session, Status, Step
from agentloop.stores.sqlite import SQLiteStore

Replies = Callable[..., str]
Call = Callable[..., tuple[int, str, str]]

ADD = "```js\nfunction run() { log('adding\x1b[2J'); return { sum: 5 } }\n```"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's sessions are; its folder is not there yet."""
    file = tmp_path / "data" / "sessions.db"
    monkeypatch.setenv("AGENTLOOP_DB", str(file))
    return file


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line in this process: exit code, standard output and error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def listed(call: Call) -> list[Any]:
    return [json.loads(line) for line in call("sessions", "ls", "--json")[1].splitlines()]


# Sessions that last


def test_a_run_is_kept_where_only_its_user_can_read(database: Path, call: Call, replies: Replies) -> None:
    assert call("run", "add", "--llm", replies(ADD, "DONE\nfive"))[:2] == (0, "five\n")
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700
    assert len(listed(call)) == 1


def test_a_named_session_goes_on_with_its_data(database: Path, call: Call, replies: Replies) -> None:
    call("run", "add", "--session", "review", "--llm", replies(ADD, "DONE\nfive"))
    tell = replies("```js\nfunction run(args) { answer(`it was ${args.sum}`) }\n```")
    assert call("run", "tell", "--session", "review", "--llm", tell)[1] == "it was 5\n"
    assert call("run", "tell", "--session", "review", "--fresh", "--llm", tell)[1] == "it was undefined\n"
    assert call("run", "tell", "--session", "other", "--llm", tell)[1] == "it was undefined\n"
    assert {entry["id"]: entry["runs"] for entry in listed(call)} == {"other": 1, "review": 3}


def test_continue_takes_the_session_used_last(database: Path, call: Call, replies: Replies) -> None:
    for name in ("first", "second", "first"):
        call("run", "x", "--session", name, "--llm", replies("DONE\nyes"))
    code, out, _ = call("run", "y", "--continue", "--json", "--llm", replies("DONE\nyes"))
    assert (code, json.loads(out.splitlines()[-1])["session_id"]) == (0, "first")


def test_there_must_be_something_to_continue(database: Path, call: Call, replies: Replies) -> None:
    code, out, err = call("run", "y", "--continue", "--llm", replies("DONE\nyes"))
    assert (code, out) == (3, "") and "nothing to continue" in err


def test_an_ephemeral_run_leaves_nothing(database: Path, call: Call, replies: Replies) -> None:
    code, out, _ = call("run", "y", "--ephemeral", "--session", "s", "--json", "--llm", replies("DONE\nyes"))
    assert (code, json.loads(out.splitlines()[-1])["session_id"]) == (0, "s")
    assert not database.parent.exists()


def test_the_database_of_the_flag_wins(database: Path, call: Call, replies: Replies, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    call("run", "y", "--db", str(other), "--llm", replies("DONE\nyes"))
    assert other.exists() and not database.exists()
    assert call("sessions", "--db", str(other), "--json")[1].count("\n") == 1


def test_a_database_that_cannot_be_used_is_set_up_wrong(database: Path, call: Call, replies: Replies) -> None:
    database.parent.mkdir()
    database.write_text("no database, but a text that is long enough to be looked at as one", encoding="utf-8")
    for words in (["run", "y", "--llm", replies("DONE\nyes")], ["sessions"], ["sessions", "show", "x"]):
        code, _, err = call(*words)
        assert code == 3 and str(database) in err


def test_what_never_ran_is_not_kept(
    database: Path, call: Call, replies: Replies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTLOOP_CHROMIUM", str(tmp_path / "none"))
    assert call("browse", "y", "--session", "s", "--llm", replies("DONE\nyes"))[0] == 3
    assert listed(call) == []


def test_a_session_keeps_model_and_persona(database: Path, call: Call, replies: Replies, tmp_path: Path) -> None:
    persona = tmp_path / "persona.md"
    persona.write_text("You are a pirate.\n", encoding="utf-8")
    with_persona = ["--persona", str(persona), "--model", "tiny"]
    words = ["--session", "s", "--json", "--llm", replies("DONE\nyes")]
    assert "a pirate" in json.loads(call("run", "x", *with_persona, *words)[1].splitlines()[-1])["system_prompt"]
    assert "a pirate" in json.loads(call("run", "x", *words)[1].splitlines()[-1])["system_prompt"]
    assert listed(call)[0]["model"] == "tiny"
    persona.write_text("You are a poet.\n", encoding="utf-8")
    code, _, err = call("run", "x", "--persona", str(persona), *words)
    assert code == 3 and "keeps the persona it began with" in err
    code, _, err = call("run", "x", "--persona", str(tmp_path / "none.md"), "--llm", replies("DONE\nyes"))
    assert code == 3 and "none.md cannot be read" in err


# ls


def test_without_a_database_there_are_no_sessions_and_none_is_made(database: Path, call: Call) -> None:
    for words in (["sessions"], ["sessions", "ls"]):
        assert call(*words) == (0, "", f"no sessions in {database}\n")
    assert call("sessions", "grants") == (0, "", f"no approvals in {database}\n")
    for words in (["sessions", "list", "--json"], ["sessions", "grants", "--json"]):
        assert call(*words) == (0, "", "")
    assert not database.parent.exists()


def seed(database: Path, work: Callable[[SQLiteStore], Coroutine[Any, Any, None]]) -> None:
    """Writes into the database what no run needs to make."""

    async def main() -> None:
        async with SQLiteStore(database) as store:
            await work(store)

    asyncio.run(main())


def keep(database: Path, *ids: str) -> None:
    """Sessions, the last one used last."""

    async def work(store: SQLiteStore) -> None:
        for n, id in enumerate(ids, 1):
            at = f"2026-01-{n:02}T12:00:00.000000Z"
            await store.create_session(Session(session_id=id, created_at=at, updated_at=at))

    seed(database, work)


async def one_of_everything(store: SQLiteStore) -> None:
    await store.create_session(Session(session_id="review"))
    await store.append_step(Step(session_id="review", run_id="r", type="user", content=OPENING))
    args = {"reason": "\x1b[2J", "n": 1}
    await store.append_step(Step(session_id="review", run_id="r", type="error", content="a\nb\x07", tool_args=args))
    await store.set_session_status("review", Status.MAX_ITERATIONS)
    await store.add_grant("review", Grant(kind="host\u202e", subject="a.example"))
    await store.create_session(Session(session_id="empty"))


OPENING = "Find\n the   cheapest \x1b[31msocks\u202e and tell me what they cost in every shop"


def test_a_line_tells_who_how_and_when(database: Path, call: Call) -> None:
    seed(database, one_of_everything)
    code, out, _ = call("sessions")
    assert code == 0
    lines = sorted(out.splitlines())
    assert re.fullmatch(r"empty +- +0 steps  \d{4}-\d\d-\d\d \d\d:\d\d  ", lines[0])
    assert re.match(r"review +max_iterations +2 steps  \d{4}-\d\d-\d\d \d\d:\d\d  Find the cheapest ", lines[1])
    assert lines[1].endswith("\\x1b[31msocks\\u202e and tell me what t…")


def test_the_newest_come_first_and_no_more_than_asked_for(database: Path, call: Call) -> None:
    keep(database, *(f"s{n:02}" for n in range(1, 23)))
    assert [line.split()[0] for line in call("sessions")[1].splitlines()] == [f"s{n:02}" for n in range(22, 2, -1)]
    assert call("sessions", "list", "--limit", "2")[1].count("\n") == 2
    assert call("sessions", "--limit", "0")[1].count("\n") == 22


def test_a_session_as_json(database: Path, call: Call, replies: Replies) -> None:
    call("run", "add two", "--session", "s", "--model", "tiny", "--price", "1,1", "--llm", replies(ADD, "DONE\nfive"))
    (entry,) = listed(call)
    assert {"type", "id", "status", "model", "opening", "steps", "runs", "tokens", "cost"} < entry.keys()
    assert (entry["id"], entry["status"], entry["model"], entry["opening"]) == ("s", "completed", "tiny", "add two")
    assert entry["steps"] == 4 and entry["tokens"]["prompt"] > 0 and entry["cost"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", entry["created_at"])


# show


def test_show_has_every_step_and_what_was_approved(database: Path, call: Call) -> None:
    seed(database, one_of_everything)
    code, out, _ = call("sessions", "show", "rev")
    assert code == 0
    blocks = re.split(r"^--- ", out, flags=re.MULTILINE)[1:]
    assert [block.split("\n")[0].split()[:2] for block in blocks] == [["0", "user"], ["1", "error"], ["approved"]]
    assert blocks[0].split("\n", 1)[1] == visible_opening() + "\n"
    assert blocks[1].split("\n", 1)[1] == 'a\nb\\x07\n{"reason": "\\u001b[2J", "n": 1}\n'
    assert "host\\u202e a.example" in blocks[2] and "agentloop sessions revoke review" in blocks[2]


def visible_opening() -> str:
    return OPENING.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")


def test_show_as_json_has_arguments_and_grants(database: Path, call: Call) -> None:
    seed(database, one_of_everything)
    user, error, grant = map(json.loads, call("sessions", "show", "review", "--json")[1].splitlines())
    assert (user["type"], user["step_index"], user["content"]) == ("user", 0, OPENING)
    assert "tool_args" not in user and user["created_at"]
    assert error["tool_args"] == {"reason": "\x1b[2J", "n": 1}
    assert (grant["type"], grant["kind"], grant["subject"]) == ("grant", "host\u202e", "a.example")


def test_grants_are_listed_across_sessions(database: Path, call: Call) -> None:
    seed(database, one_of_everything)
    assert re.fullmatch(r"review  host\\u202e a\.example  \(\d{4}-.*\)\n", call("sessions", "grants")[1])
    (grant,) = map(json.loads, call("sessions", "grants", "--json")[1].splitlines())
    assert (grant["session_id"], grant["kind"]) == ("review", "host\u202e")


def test_an_unknown_id_is_told(database: Path, call: Call) -> None:
    for words in (["show", "x"], ["rm", "x"], ["revoke", "x"]):
        code, out, err = call("sessions", *words)
        assert (code, out) == (1, "") and "No session" in err
    keep(database, "aa1", "aa2")
    code, out, err = call("sessions", "show", "aa", "--json")
    assert code == 1 and "give more of it" in err and json.loads(out)["type"] == "fatal"
    assert call("sessions", "show", "aa1")[0] == 0


# rm and revoke


def test_what_is_deleted_is_gone_and_the_rest_is_done_all_the_same(database: Path, call: Call) -> None:
    keep(database, "one", "two", "three")
    code, out, err = call("sessions", "rm", "on", "none", "three")
    assert (code, out) == (1, "deleted one\ndeleted three\n") and "'none'" in err
    assert call("sessions", "delete", "two") == (0, "deleted two\n", "")
    assert call("sessions") == (0, "", f"no sessions in {database}\n")


def test_approvals_can_be_forgotten(database: Path, call: Call) -> None:
    seed(database, one_of_everything)
    assert call("sessions", "revoke", "rev", "empty")[:2] == (
        0,
        "review: 1 approval forgotten\nempty: 0 approvals forgotten\n",
    )
    assert "approved" not in call("sessions", "show", "review")[1]


@pytest.mark.parametrize(
    "words",
    [["x"], ["ls", "extra"], ["--ephemeral"], ["ls", "--limit", "-1"], ["show"], ["rm"], ["revoke"], ["resume"]],
)
def test_usage(database: Path, call: Call, words: list[str]) -> None:
    code, out, err = call("sessions", *words)
    assert (code, out) == (3, "") and "agentloop: " in err


# resume


def test_a_finished_run_is_told_again_with_its_code_and_no_model(database: Path, call: Call, replies: Replies) -> None:
    call("run", "add", "--session", "good", "--llm", replies(ADD, "DONE\nfive\nor six"))
    call("run", "add", "--session", "bad", "--max-steps", "1", "--llm", replies(ADD))
    code, out, err = call("sessions", "resume", "goo")
    assert (code, out) == (0, "five\nor six\n") and err.startswith("completed · 2 turns · ")
    code, out, err = call("sessions", "resume", "bad", "--json")
    assert (code, err) == (2, "")
    result = json.loads(out)
    assert (result["type"], result["status"], result["session_id"]) == ("result", "max_iterations", "bad")


def test_there_must_be_a_run_to_resume(database: Path, call: Call) -> None:
    code, out, err = call("sessions", "resume", "none")
    assert (code, out) == (3, "") and "No session" in err
    keep(database, "empty")
    code, out, err = call("sessions", "resume", "empty", "--json")
    assert code == 3 and "no run" in err and json.loads(out)["type"] == "fatal"


def test_a_database_without_sessions_or_approvals_is_named(database: Path, call: Call, tmp_path: Path) -> None:
    other = tmp_path / "none.db"
    assert call("sessions", "--db", str(other)) == (0, "", f"no sessions in {other}\n")
    assert not other.exists()

    async def one(store: SQLiteStore) -> None:
        await store.create_session(Session(session_id="s"))

    seed(database, one)
    assert call("sessions", "grants") == (0, "", f"no approvals in {database}\n")


def test_an_unknown_command_is_answered_with_those_there_are(call: Call) -> None:
    code, _, err = call("sessions", "frob")
    assert code == 3 and "no command is called 'frob'; there are: grants, ls, resume, revoke, rm, show" in err
