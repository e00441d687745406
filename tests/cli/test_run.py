from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentloop.testing.llm_server import llm_server
from tests.cli.conftest import finished

Run = Callable[..., subprocess.CompletedProcess[str]]
Replies = Callable[..., str]


def js(body: str) -> str:
    return f"```javascript\nfunction run(args) {{ {body} }}\n```"


YES = "DONE\nyes"
ADD = [js("log('adding'); return { sum: 2 + 3 };"), js("answer(`It is ${args.sum}`);")]


def events(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_answer_is_alone_on_standard_output(agentloop: Run, replies: Replies) -> None:
    done = agentloop("run", "add 2 and 3", "--llm", replies(*ADD))
    assert (done.returncode, done.stdout) == (0, "It is 5\n")
    lines = done.stderr.splitlines()
    assert [line[:3].strip() for line in lines[:2]] == ["1", "2"]
    assert all(re.search(r"\(\d[\d,]*\+\d+ tokens\)$", line) for line in lines[:2])
    assert re.fullmatch(r"completed · 2 turns · [\d,]+\+\d+ tokens · \d+\.\d s", lines[2])


@pytest.mark.parametrize("words", [("{llm}", "--quiet", "add", "2"), ("add", "--quiet", "2", "{llm}")])
def test_options_stand_before_and_after_the_words(agentloop: Run, replies: Replies, words: tuple[str, ...]) -> None:
    llm = f"--llm={replies(YES)}"
    done = agentloop(*(word.format(llm=llm) for word in words), "--json")
    assert done.stderr == ""
    assert next(event["content"] for event in events(done.stdout) if event["type"] == "user") == "add 2"


def test_the_task_may_come_on_standard_input(agentloop: Run, replies: Replies) -> None:
    done = agentloop("--json", "--llm", replies("DONE\nyes"), stdin="  äpfel zählen \n")
    assert next(event["content"] for event in events(done.stdout) if event["type"] == "user") == "äpfel zählen"


def test_json_is_one_event_a_line_ending_in_the_result(agentloop: Run, replies: Replies) -> None:
    done = agentloop("run", "add", "--json", "--llm", replies(*ADD))
    assert (done.returncode, done.stderr) == (0, "")
    told = events(done.stdout)
    kinds = [event["type"] for event in told]
    assert kinds[0] == "run_started" and kinds[-2:] == ["done", "result"]
    assert kinds.count("done") == kinds.count("result") == 1
    assert "response_chunk" not in kinds
    assert told[-1]["status"] == "completed" and told[-1]["final_text"] == "It is 5"
    assert [event["seq"] for event in told if "seq" in event] == list(
        range(1, len([e for e in told if "seq" in e]) + 1)
    )


def test_json_stream_adds_the_answer_as_it_arrives(agentloop: Run, replies: Replies) -> None:
    answer = "A long answer, in many words. " * 5
    done = agentloop("run", "tell", "--json", "--json-stream", "--llm", replies(f"DONE\n{answer}"))
    chunks = [event["content"] for event in events(done.stdout) if event["type"] == "response_chunk"]
    assert len(chunks) > 1 and "".join(chunks) == answer.strip()


def test_quiet_leaves_the_answer(agentloop: Run, replies: Replies) -> None:
    done = agentloop("run", "add", "--quiet", "--llm", replies(*ADD))
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 5\n", "")


@pytest.mark.parametrize(
    ("lines", "words", "code", "status"),
    [
        (
            [js("return { n: 1 }"), js("return { n: 2 }"), js("return { n: 3 }")],
            ["--max-steps", "2"],
            2,
            "max_iterations",
        ),
        ([js("return 1")], [], 8, "model_error"),
        ([js("fail('no such thing')")], [], 1, "error"),
        ([js("return 1")] * 4, [], 1, "error"),
    ],
)
def test_the_exit_code_follows_the_status(
    agentloop: Run, replies: Replies, lines: list[str], words: list[str], code: int, status: str
) -> None:
    done = agentloop("run", "try", "--json", "--llm", replies(*lines), *words)
    assert done.returncode == code, done.stderr
    assert events(done.stdout)[-1]["status"] == status
    assert events(done.stdout)[-1]["type"] == "result"


def test_replies_that_are_used_up_are_called_so_and_a_file_without_any_is_no_run(
    agentloop: Run, replies: Replies
) -> None:
    done = agentloop("run", "try", "--llm", replies(js("return 1")))
    summary = done.stderr.splitlines()[-1]
    assert summary.startswith("the model failed: the scripted replies are used up · 1 turn · ")
    assert "the script has 1 reply, and call 2 wants another" in done.stderr
    empty = agentloop("run", "try", "--llm", replies())
    assert (empty.returncode, "holds no replies: each line is a JSON string" in empty.stderr) == (3, True)


def test_a_script_that_threw_says_why(agentloop: Run, replies: Replies) -> None:
    done = agentloop("run", "try", "--llm", replies(js("throw new RangeError('too\\nfar')"), js("answer('so')")))
    assert "  1  script of 1 line ! RangeError: too  (" in done.stderr


def test_what_a_workspace_may_not_choose_is_told(agentloop: Run, replies: Replies, tmp_path: Path) -> None:
    (tmp_path / "agentloop.toml").write_text('approve = "auto"\nmax-steps = 1\n', encoding="utf-8")
    done = agentloop("run", "add", "--cwd", str(tmp_path), "--llm", replies(*ADD))
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert first == f"[warning] {tmp_path / 'agentloop.toml'}: approve is ignored: a workspace may not choose this"
    quiet = agentloop("run", "add", "--quiet", "--cwd", str(tmp_path), "--llm", replies(*ADD))
    assert quiet.stderr == ""


def test_cost_is_counted_and_limited(agentloop: Run, replies: Replies) -> None:
    words = ["run", "add", "--price", "1000,1000", "--llm"]
    done = agentloop(*words, replies(*ADD))
    assert re.search(r" · cost \d+\.\d{4}$", done.stderr.splitlines()[-1])
    spent = agentloop(*words, replies(*ADD), "--max-cost", "0.001", "--json")
    result = events(spent.stdout)[-1]
    assert (spent.returncode, result["status"], result["reason"]) == (5, "budget", "cost")


@pytest.mark.parametrize(
    ("flag", "reason"), [("--max-prompt-tokens", "prompt_tokens"), ("--max-completion-tokens", "completion_tokens")]
)
def test_tokens_are_limited(agentloop: Run, replies: Replies, flag: str, reason: str) -> None:
    done = agentloop("run", "add", flag, "1", "--json", "--llm", replies(*ADD))
    result = events(done.stdout)[-1]
    assert (done.returncode, result["reason"], result["turns"]) == (5, reason, 1)


async def test_a_window_bounds_every_call_and_sums_up_what_is_long(repository: Path, tmp_path: Path) -> None:
    env = {"AGENTLOOP_DB": str(tmp_path / "s.db")}
    long = "word " * 3000
    async with llm_server([f"DONE\n{long}"] * 12) as server:
        words = ["--session", "s", "--llm-base-url", server.base_url, "--context-window", "8192"]
        told = ""
        for n in range(5):
            code, _, err = await finished(repository, "run", f"number {n}", *words, env=env)
            assert code == 0, err
            told += err
        sizes = [len(json.dumps(request.body["messages"])) for request in server.requests]
    assert "· " in told and ("budget trimmed" in told or "summed up" in told)
    assert max(sizes) < 8192 * 4


async def test_out_of_time_is_5(repository: Path) -> None:
    async with llm_server(["x" * 60], faults={0: {"fault": "slow", "delay_s": 60}}) as server:
        code, out, _ = await finished(repository, "ask", "--json", "--timeout", "1", "--llm-base-url", server.base_url)
    assert (code, events(out)[-1]["status"]) == (5, "timeout")


async def test_a_model_over_the_wire(repository: Path) -> None:
    async with llm_server(["DONE\nfrom afar"]) as server:
        words = ["ask", "--llm-base-url", server.base_url, "--model", "tiny"]
        assert (await finished(repository, *words))[:2] == (0, "from afar\n")
        assert server.requests[0].body["model"] == "tiny"


# Signals, closed pipes, terminals


def started(repository: Path, *words: str, **streams: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agentloop", *words]
    return subprocess.Popen(command, cwd=repository, stdin=subprocess.DEVNULL, text=True, **streams)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_in_order(repository: Path, replies: Replies, number: signal.Signals) -> None:
    llm = replies(js("sleep(30000)"))
    with started(repository, "wait", "--json", "--llm", llm, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or '"execute_js"' not in lines[-1]:
            lines.append(process.stdout.readline())
        process.send_signal(number)
        told = events(process.stdout.read())
    assert process.returncode == 130
    assert told[-1]["type"] == "result"
    assert (told[-1]["status"], told[-1]["reason"]) == ("cancelled", "signal")


def test_when_nobody_reads_on_the_run_ends_without_a_trace(repository: Path, replies: Replies) -> None:
    llm = replies(js("sleep(200)"), js("sleep(30000)"))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(repository, "wait", "--json", "--llm", llm, **streams) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == ""


def test_a_terminal_gets_colours_and_a_harmless_answer(repository: Path, replies: Replies) -> None:
    llm = replies("DONE\nred \x1b[31m and \u202e back\nsecond line")
    mine, theirs = pty.openpty()
    with started(repository, "tell", "--llm", llm, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(mine, 4096):
                seen += data
        except OSError:
            pass  # how Linux says that the other end is closed
    os.close(mine)
    text = seen.decode()
    assert process.returncode == 0
    assert "red \\x1b[31m and \\u202e back\r\nsecond line\r\n" in text
    assert "completed" in text and "\x1b[31m" not in text


def test_into_a_pipe_the_answer_goes_as_it_is(agentloop: Run, replies: Replies) -> None:
    assert agentloop("tell", "--llm", replies("DONE\na\x1b[31mb")).stdout == "a\x1b[31mb\n"


def test_a_mistyped_variable_is_told(agentloop: Run, replies: Replies) -> None:
    done = agentloop("tell", "--llm", replies("hello"), env={"AGENTLOOP_MAX_STEP": "3"})
    told = "[warning] AGENTLOOP_MAX_STEP is no setting and is ignored; did you mean AGENTLOOP_MAX_STEPS?\n"
    assert (done.returncode, done.stdout) == (0, "hello\n") and done.stderr.startswith(told)
