from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median

import click
import pytest

from agentloop.cli.main import COMMANDS, main, route
from agentloop.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAVY = ("playwright", "PIL", "aiohttp", "httpx", "rich", "sqlite_utils", "opentelemetry", "agentloop.loop")


@pytest.mark.parametrize(
    ("words", "routed"),
    [
        ([], ("run", [])),
        (["hello"], ("run", ["hello"])),
        (["--json", "hello"], ("run", ["--json", "hello"])),
        (["find", "browse"], ("run", ["find", "browse"])),
        (["chat", "about", "go"], ("chat", ["about", "go"])),
        (["sessions"], ("sessions", [])),
        (["browse", "x"], ("browse", ["x"])),
        (["help"], ("help", [])),
        (["help", "browse"], ("browse", ["--help"])),
        (["help", "me"], ("run", ["help", "me"])),
        (["-h"], ("help", [])),
        (["--version"], ("version", [])),
    ],
)
def test_what_names_no_command_is_a_task_for_run(words: list[str], routed: tuple[str, list[str]]) -> None:
    assert route(words) == routed


@pytest.mark.parametrize(("word", "meant"), [("brows", "browse"), ("session", "sessions"), ("docter", "doctor")])
def test_a_mistyped_command_is_asked_back(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "the", "shop"]) == 3
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["help"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", out, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(name: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, flag]) == 0
    assert COMMANDS[name].split(".")[0].split(";")[0].split()[0] in capsys.readouterr().out


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with the words that call it."""
    for name in COMMANDS:
        command: click.Command = import_module(f"agentloop.cli.{name.replace('-', '_')}").command
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", each) for below, each in command.commands.items())


EVERY = dict(commands())


@pytest.mark.parametrize("name", EVERY)
def test_every_command_and_option_is_explained(name: str, repository: Path) -> None:
    command = EVERY[name]
    assert command.help
    guide = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.search(rf"`agentloop {name}[ `]", guide) or isinstance(command, click.Group)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert any(re.search(rf"{option}[ `]", guide) for option in parameter.opts), parameter.opts


def test_every_setting_is_an_option() -> None:
    options = {option for command in EVERY.values() for each in command.params for option in each.opts}
    assert {f"--{name}" for name in Settings.names()} <= options


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == main(["version"]) == 0
    assert re.fullmatch(r"(agentloop \d+\.\d+\.\d+\S*\n){2}", capsys.readouterr().out)


@pytest.mark.parametrize(
    "words",
    [
        ["browse", "--nonsense", "x"],
        ["browse", "x", "--max-steps", "0"],
        ["browse", "x", "--timeout", "soon"],
        ["browse", "x", "--json-stream"],
        ["browse", "x", "--browser-sandbox", "maybe"],
        ["browse", "x", "--ephemeral", "--artifacts", "pictures", "--llm", "scripted:x"],
        ["x", "--llm", "gpt"],
        ["x", "--llm", "scripted:missing.jsonl"],
        ["x", "--llm-base-url", "nowhere"],
        ["browse", "x", "--with", "telepathy"],
        ["version", "now"],
        ["chat", "about", "go"],
        ["run", "x", "--session", "a", "--continue"],
        ["run", "x", "--continue", "--ephemeral"],
        ["run", "x", "--db", "x.db", "--ephemeral"],
        ["run", "x", "--max-steps", "-1"],
        ["run", "x", "--timeout", "-1"],
        ["run", "x", "--history-window", "-1"],
        ["run", "x", "--context-window", "-1"],
        ["run", "x", "--max-prompt-tokens", "0"],
        ["run", "x", "--max-cost", "1"],
        ["run", "x", "--price", "1"],
        ["run", "x", "--approve", "maybe"],
        ["run", "x", "--approve", "prompt"],
        ["run", "x", "--cwd", "/nowhere/at/all"],
        ["run", "x", "--enable", ""],
        ["run", "x", "--enable", "nope"],
        ["run", "x", "--with", "nope"],
        ["browse", "x", "--enable", "fetch,nope"],
        ["chat", "--enable", "nope"],
        ["run", "x", "--persona", "/nowhere/at/all", "--ephemeral", "--llm", "scripted:/dev/null"],
    ],
)
def test_usage_errors_end_with_3_and_say_why_on_standard_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(r"^agentloop: \S", printed.err, re.MULTILINE)
    assert "Traceback" not in printed.err


def test_a_usage_error_is_also_a_line_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x", "--json", "--max-steps", "none"]) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["type"] == "fatal"
    assert "--max-steps" in json.loads(printed.out)["error"] and "--max-steps" in printed.err


def test_without_a_model_one_line_names_three_ways_on(agentloop: Run) -> None:
    done = agentloop("browse", "find socks")
    assert done.returncode == 3
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert all(way in done.stderr for way in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "make demo"))


def test_without_words_and_input_there_is_nothing_to_do(agentloop: Run) -> None:
    done = agentloop(stdin=" \n")
    assert done.returncode == 3
    assert 'no task: give one in words, such as agentloop run "' in done.stderr
    assert 'such as agentloop browse "' in agentloop("browse", stdin="").stderr


def test_help_loads_nothing_heavy_and_costs_little(repository: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agentloop", "--help"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "agentloop.cli.main" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY or name in HEAVY]


def test_help_costs_at_most_eight_empty_pythons(repository: Path) -> None:
    def seconds(*words: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *words], cwd=repository, capture_output=True, timeout=30, check=True)
        return time.perf_counter() - begin

    pairs = [(seconds("-m", "agentloop", "--help"), seconds("-c", "pass")) for _ in range(5)]
    assert median(ours / empty for ours, empty in pairs) <= 8


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without room here")
@pytest.mark.parametrize("words", [["--help"], ["version"], ["run", "--help"], ["run", "x"], ["run", "x", "--json"]])
def test_output_that_cannot_be_written_is_one_line(
    words: list[str], repository: Path, replies: Callable[..., str], tmp_path: Path
) -> None:
    options = ["--llm", replies("hello"), "--db", str(tmp_path / "s.db")] if "x" in words else []
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "agentloop", *words, *options],
            cwd=repository,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=50,
            check=False,
        )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert words == ["--help"] or "No space left" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("closed", "out"),
    [(">&-", ""), ("2>&-", "hello\n"), ("<&-", "hello\n"), ("<&- >&- 2>&-", ""), ("2>/dev/full", "hello\n")],
)
def test_closed_streams_are_no_trouble(
    closed: str, out: str, repository: Path, replies: Callable[..., str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "agentloop", "run", "x", "--llm", replies("hello"), "--db", str(tmp_path / "s.db")]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, out), done.stderr
    assert "Traceback" not in done.stderr


INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "agentloop.cli.calling":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from agentloop.cli.main import main
main(["version"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_an_interrupt_while_modules_are_loaded_ends_without_a_word(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=repository, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
